"""`verify` from end to end, with the real harness, on small scripts."""

from __future__ import annotations

import os
import re
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import pytest

from mpslint.verify import Report, Request, accelerators, interpreter, pace, verify

from .conftest import FIXTURES

Script = Callable[[str, str], str]
TRAINING = """\
import torch

torch.manual_seed(0)
model = torch.nn.Linear(3, 1){move}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    loss = model(torch.randn(4, 3){move}).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
"""
ON_CUDA = TRAINING.format(move=".cuda()")
SELECTION = """\
if torch.backends.mps.is_available():
    device = torch.device("mps")
else:
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
"""
PORTABLE = TRAINING.format(move=".to(device)").replace("model =", SELECTION + "model =", 1)


def program(name: str) -> tuple[str, dict[str, bytes]]:
    folder = FIXTURES / "programs" / name
    script = str(folder / "original.py")
    return script, {script: (folder / "patched.py").read_bytes()}


def alone(script: str, *devices: str, **more: object) -> Report:
    """The script by itself; without the control, which has tests of its own."""
    settings = {"devices": devices or ("cpu",), "negative_control": False, "timeout": 600.0, **more}
    return verify(Request(script, **settings))  # type: ignore[arg-type]


def test_a_rewritten_cuda_script_passes_everywhere_and_its_broken_copy_does_not(
    script: Script,
) -> None:
    path = script("train.py", ON_CUDA)
    told: list[str] = []
    request = Request(path, patched={path: PORTABLE.encode()}, real=False)
    report = verify(request, told.append)
    assert report.verdict == "pass", report.to_text()
    assert [(run.device, run.kind) for run in report.runs] == [
        ("cuda", "simulated"), ("cpu", "real"), ("mps", "simulated"),
    ]  # fmt: skip
    assert all("5 optimizer steps, to its end, same numbers" in run.reason for run in report.runs)
    assert report.control.startswith('a copy that misspells "mps" was rejected')
    assert told[0] == "original on simulated cuda"
    assert Path(path).read_text() == ON_CUDA
    assert os.listdir(os.path.dirname(path)) == ["train.py"]


def test_a_cuda_script_by_itself_fails_on_mps(script: Script) -> None:
    report = alone(script("train.py", ON_CUDA), "mps")
    assert report.verdict == "fail"
    assert "not compiled with CUDA" in report.reason
    assert report.runs[0].error is not None
    assert report.runs[0].error["line"] == 4


def test_a_second_mps_device_does_not_pass(script: Script) -> None:
    report = alone(script("train.py", PORTABLE.replace('"mps"', '"mps:1"')), "mps")
    assert report.verdict == "inconclusive"
    assert "names mps:1" in report.reason


def test_the_original_may_be_a_file_of_its_own(script: Script) -> None:
    path, original = script("train.py", PORTABLE), script("before/train.py", ON_CUDA)
    report = alone(path, "mps", original=original)
    assert report.verdict == "pass", report.to_text()


def test_a_script_that_reads_stdin_is_inconclusive(script: Script) -> None:
    report = alone(script("ask.py", "import torch\nname = input('name? ')\n"))
    assert report.verdict == "inconclusive"
    assert "reads from stdin" in report.reason


def test_a_script_that_exits_1_by_itself_is_inconclusive(script: Script) -> None:
    report = alone(script("quit.py", "import sys, torch\nsys.exit(1)\n"))
    assert report.verdict == "inconclusive"
    assert "exits 1 by itself" in report.reason


def test_a_script_that_never_ends_is_inconclusive(script: Script) -> None:
    report = alone(script("loop.py", "import torch\nwhile True:\n    pass\n"), timeout=8.0)
    assert report.verdict == "inconclusive"


def test_a_script_that_kills_itself_is_inconclusive(script: Script) -> None:
    text = "import os, signal, torch\nos.kill(os.getpid(), signal.SIGKILL)\n"
    report = alone(script("die.py", text))
    assert report.verdict == "inconclusive"
    assert "SIGKILL" in report.reason


def test_missing_data_is_named(script: Script) -> None:
    path = script("train.py", "import torch\nopen('corpus.bin')\n" + ON_CUDA)
    patched = Path(path).read_text().replace(ON_CUDA, PORTABLE)
    report = alone(path, "mps", patched={path: patched.encode()})
    assert report.verdict == "inconclusive"
    assert "corpus.bin" in report.reason


def test_a_module_of_the_projects_own_that_is_missing_is_named(script: Script) -> None:
    script("utils/nets.py", "")
    report = alone(script("train.py", "import torch\nfrom utils.blocks import Block\n"))
    assert report.verdict == "inconclusive"
    assert "there is utils, but no `utils.blocks`" in report.reason


def test_the_set_up_command_can_stand_in_for_data(script: Script) -> None:
    path = script("read.py", "import torch\nprint(open('corpus.bin').read())\n")
    report = alone(path, setup="echo 3 > corpus.bin")
    assert report.verdict == "ran", report.to_text()
    assert not (Path(path).parent / "corpus.bin").exists()


def test_a_rewrite_that_does_not_compile_fails_without_being_run(script: Script) -> None:
    path = script("train.py", ON_CUDA)
    report = alone(path, "mps", patched={path: b"import torch\nx = (\n"})
    assert report.verdict == "fail"
    assert "SyntaxError" in report.reason
    assert report.runs[0].seconds == 0.0


def test_a_python_without_torch_is_skipped(script: Script, tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=False)
    python = str(tmp_path / "bare" / "bin" / "python")
    report = alone(script("train.py", ON_CUDA), "cpu", "mps", python=python)
    assert report.verdict == "skipped"
    assert "there is no torch" in report.reason


def test_what_a_script_writes_stays_in_the_copy(script: Script) -> None:
    text = "import os, torch\nopen('made', 'w')\nopen(os.path.expanduser('~/mpslint-made'), 'w')\n"
    path = script("write.py", text)
    report = alone(path)
    assert report.verdict == "ran", report.to_text()
    assert os.listdir(os.path.dirname(path)) == ["write.py"]
    assert not os.path.exists(os.path.expanduser("~/mpslint-made"))
    assert report.isolation.in_force


def test_a_project_of_several_files_is_patched_as_a_whole(script: Script) -> None:
    where = script("where.py", 'import torch\n\nDEVICE = "cuda"\n')
    text = "from where import DEVICE\n" + TRAINING.format(move=".to(DEVICE)")
    path = script("train.py", text)
    better = b'import torch\n\nDEVICE = "mps" if torch.backends.mps.is_available() else "cuda"\n'
    report = alone(path, "mps", patched={where: better})
    assert report.verdict == "pass", report.to_text()


def test_a_script_that_no_broken_copy_can_fail_proves_nothing(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mpslint.verify import mutant

    same = mutant.Mutant("is the same", PORTABLE.encode())
    monkeypatch.setattr(mutant, "candidates", lambda _text: [same])
    report = alone(script("train.py", PORTABLE), "mps", negative_control=True)
    assert report.verdict == "inconclusive"
    assert "could not tell a broken script from a right one" in report.reason


@pytest.mark.skipif(sys.platform == "darwin", reason="there a real device may be present")
def test_without_a_real_device_level_4_says_so(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interpreter, "real_devices", lambda *_asked: [])
    report = alone(script("train.py", PORTABLE), "cpu", real=True)
    assert any("no real accelerator" in note for note in report.notes)


def test_a_script_that_sets_no_seed_is_compared_too(script: Script) -> None:
    path = script("train.py", ON_CUDA.replace("torch.manual_seed(0)\n", ""))
    patched = PORTABLE.replace("torch.manual_seed(0)\n", "")
    report = alone(path, "mps", patched={path: patched.encode()})
    assert report.verdict == "pass", report.to_text()
    assert all("same numbers" in run.reason for run in report.runs)


PROXIMAL = FIXTURES / "programs" / "proximal_policy"


def test_a_fault_after_the_first_roll_out_does_not_pass() -> None:
    original = str(PROXIMAL / "original.py")
    report = alone(str(PROXIMAL / "wrong.py"), "mps", original=original, root=str(PROXIMAL))
    assert report.verdict == "fail", report.to_text()
    by_device = {run.device: run.reason for run in report.runs}
    assert "float64" in by_device["mps"]


@pytest.mark.parametrize("steps", [0, 2])
def test_a_roll_out_and_its_update_pass_where_they_are_right(steps: int) -> None:
    original = str(PROXIMAL / "original.py")
    port = str(PROXIMAL / "patched.py")
    report = alone(port, "cpu", "mps", original=original, root=str(PROXIMAL), steps=steps)
    assert report.verdict == "pass", report.to_text()
    done = f"{steps} optimizer steps" if steps else "6 optimizer steps, to its end"
    assert all(run.reason.startswith(f"{done}, same numbers") for run in report.runs)


LATE = """\
if step == 99:
    value = torch.zeros(1, dtype=torch.float64, device=device)
"""


def test_changed_lines_that_did_not_run_are_named_and_the_others_are_told_apart(
    script: Script,
) -> None:
    original = script("before/train.py", ON_CUDA)
    path = script("train.py", PORTABLE + LATE)
    report = alone(path, "mps", original=original, real=False)
    assert report.verdict == "partial", report.to_text()
    assert report.headline.startswith("pass (6 of 7 changed lines ran; did not run: train.py:17)")
    states = {line.line: (line.state, line.devices) for line in report.lines}
    assert states[5] == ("ran and agreed", ("simulated mps",))
    assert states[7] == ("ran and agreed", ("simulated cuda",))
    assert states[17] == ("did not run", ())


def test_a_changed_module_is_asked_about_like_the_script(script: Script) -> None:
    where = script("where.py", 'import torch\n\nDEVICE = "cuda"\n')
    path = script("train.py", "from where import DEVICE\n" + TRAINING.format(move=".to(DEVICE)"))
    better = b"import torch\n\nDEVICE = 'mps' if torch.backends.mps.is_available() else 'cuda'\n"
    better += b"def unused():\n    return DEVICE\n"
    report = alone(path, "mps", patched={where: better})
    assert report.headline == "pass (2 of 3 changed lines ran; did not run: where.py:5)"


LONG = """\
import torch
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(403, 3))
loader = DataLoader(data, batch_size=10, shuffle=True)
model = torch.nn.Linear(3, 1){move}
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(10**6):
    for (x,) in loader:
        optimizer.zero_grad()
        model(x{move}).pow(2).mean().backward()
        optimizer.step()
    print(epoch, len(x), sum(model(x{move}).sum().item() for (x,) in loader))
torch.save(model.state_dict(), "model.pt")
print(model.weight{double}.sum().item())
"""
LONG_ON_CUDA = LONG.format(move=".cuda()", double="")


@pytest.mark.parametrize("double", ["", ".double()"])
def test_a_run_of_days_is_sampled_and_its_end_is_compared(
    script: Script, monkeypatch: pytest.MonkeyPatch, double: str
) -> None:
    monkeypatch.setattr(pace, "_SHARE", 0.002)
    path = script("train.py", LONG_ON_CUDA)
    ported = LONG.format(move=".to(device)", double=double)
    ported = ported.replace("model =", SELECTION + "model =", 1)
    told: list[str] = []
    report = verify(
        Request(path, devices=("mps",), patched={path: ported.encode()}, negative_control=False),
        told.append,
    )
    assert "it did not come to its end in time: once more, with long loops in part" in told
    if double:
        assert report.verdict == "fail", report.to_text()
        assert "float64" in report.reason
    else:
        sampled = re.fullmatch(r"pass \(sampled: \d+ of 41 batches an epoch, 2 of 1000000 epochs\)",
                               report.headline)  # fmt: skip
        assert sampled, report.to_text()


UNSEEDED = """\
import os
import torch

torch.manual_seed(int.from_bytes(os.urandom(2), "big"))
model = torch.nn.Linear(3, 1){move}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    loss = (model(torch.randn(64, 3){move}) - 2).pow(2).mean(){scaled}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.parametrize(("scaled", "expected"), [("", "ran"), (" * 1000", "inconclusive")])
def test_an_original_that_changes_each_time_is_held_against_three_runs(
    script: Script, scaled: str, expected: str
) -> None:
    path = script("train.py", UNSEEDED.format(move=".cuda()", scaled=""))
    ported = UNSEEDED.format(move=".to(device)", scaled=scaled)
    patched = {path: ported.replace("model =", SELECTION + "model =", 1).encode()}
    report = verify(Request(path, devices=("mps",), patched=patched, negative_control=False))
    assert report.verdict == expected, report.to_text()
    assert "3 runs of" in report.reason


def test_a_gpu_of_this_machine_runs_a_script_by_itself_where_cuda_is_asked_for(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(accelerators, "found", lambda *_asked: ["cuda"])
    path = script("train.py", PORTABLE)
    assert [run.name for run in alone(path, "cpu").runs] == ["cpu"]
    runs = alone(path, "cpu", "cuda").runs
    assert [run.name for run in runs] == ["cpu", "simulated cuda", "real cuda"]
