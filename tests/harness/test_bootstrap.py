"""The device is there right after the script's own import of torch, in every process."""

from __future__ import annotations

import pytest

from .conftest import Run

EIG = "torch.linalg.eig(torch.eye(2, device='mps'))\n"
VARIABLE = "import os\nos.environ['PYTORCH_ENABLE_MPS_FALLBACK'] = '1'\n"


def test_the_fallback_variable_works_when_set_before_the_import(harness: Run) -> None:
    run = harness(VARIABLE + "import torch\n" + EIG, "--device", "mps")
    assert run.report["outcome"] == "finished", run.err
    assert [row["op"] for row in run.report["fallbacks"]] == ["aten::linalg_eig"]


def test_the_fallback_variable_is_too_late_after_the_import(harness: Run) -> None:
    run = harness("import torch\n" + VARIABLE + EIG, "--device", "mps")
    assert run.code == 1
    assert run.report["error"]["type"] == "NotImplementedError"
    assert run.report["error"]["line"] == 4


def test_the_fallback_variable_of_the_environment_counts(harness: Run) -> None:
    run = harness(
        "import torch\n" + EIG, "--device", "mps", env={"PYTORCH_ENABLE_MPS_FALLBACK": "1"}
    )
    assert run.report["outcome"] == "finished", run.err


def test_torch_is_not_imported_before_the_script_does(harness: Run) -> None:
    script = "import sys\nassert 'torch' not in sys.modules\nimport torch\nprint(torch.ones(1, device='mps').device)\n"  # noqa: E501
    run = harness(script, "--device", "mps")
    assert run.out == "mps:0\n"


@pytest.mark.parametrize("device", ["mps", "cuda"])
def test_spawned_processes_have_the_device_and_are_counted(harness: Run, device: str) -> None:
    script = f"""
import torch
import torch.multiprocessing as mp

def work(rank):
    model = torch.nn.Linear(2, 2).to("{device}")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(100):
        model(torch.ones(1, 2, device="{device}")).sum().backward()
        optimizer.step()
    raise RuntimeError("the harness should have stopped this process")

if __name__ == "__main__":
    mp.spawn(work, nprocs=1)
    print("joined")
"""
    run = harness(script, "--device", device, "--steps", "3")
    assert run.report["outcome"] == "finished", run.err
    assert run.out == "joined\n"
    assert run.report["steps"] == 3
    assert run.report["device_ops"] > 10
    assert len(run.report["losses"]) == 3


def test_subprocesses_have_the_device(harness: Run) -> None:
    script = """
import subprocess, sys
code = "import torch; print(torch.ones(2, device='mps').sum())"
print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
import torch
"""  # noqa: E501
    run = harness(script, "--device", "mps")
    assert "tensor(2., device='mps:0')" in run.out
    assert run.report["device_ops"] > 0


def test_spawn_is_the_start_method_of_macos(harness: Run) -> None:
    script = """
import multiprocessing
import torch
def work(): pass
multiprocessing.Process(target=work).start()
"""
    run = harness(script, "--device", "mps", "--spawn")
    assert "An attempt has been made to start a new process before" in run.err


def test_cuda_in_a_forked_process_is_refused(harness: Run) -> None:
    script = """
import os, torch
torch.ones(1, device="cuda")
child = os.fork()
if child == 0:
    try:
        torch.ones(1, device="cuda")
    except RuntimeError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""
    run = harness(script, "--device", "cuda")
    assert "Cannot re-initialize CUDA in forked subprocess" in run.out
    assert run.report["outcome"] == "finished"


def test_a_sitecustomize_of_the_user_still_runs_in_children(harness: Run, tmp_path) -> None:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text("print('mine')\n")
    script = "import subprocess, sys\nimport torch\nsubprocess.run([sys.executable, '-c', 'pass'], check=True)\n"  # noqa: E501
    from .conftest import SOURCE

    run = harness(script, "--device", "mps", env={"PYTHONPATH": f"{SOURCE}:{folder}"})
    assert run.out.count("mine") == 2


def test_the_script_is_main_and_sees_its_own_arguments_and_folder(harness: Run, tmp_path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "helper.py").write_text("VALUE = 5\n")
    script = folder / "train.py"
    script.write_text(
        "import sys, torch, helper, pickle\n"
        "class Thing: pass\n"
        "pickle.loads(pickle.dumps(Thing()))\n"
        "print(__name__, sys.argv[1:], helper.VALUE, sys.modules['__main__'].Thing is Thing)\n"
    )
    run = harness(script, "--device", "mps", args=["--lr", "0.1"])
    assert run.out == "__main__ ['--lr', '0.1'] 5 True\n"


@pytest.mark.parametrize(
    ("device", "expected"), [("cpu", "False False"), ("mps", "False True"), ("cuda", "True False")]
)
def test_exactly_the_asked_for_device_is_there(harness: Run, device: str, expected: str) -> None:
    script = "import torch\nprint(torch.cuda.is_available(), torch.backends.mps.is_available())\n"
    run = harness(script, "--device", device)
    assert run.out.strip() == expected
    assert run.report["kind"] == ("cpu" if device == "cpu" else "simulated")


def test_a_script_can_hide_the_gpu_from_itself(harness: Run) -> None:
    script = "import os\nos.environ['CUDA_VISIBLE_DEVICES'] = ''\nimport torch\nprint(torch.cuda.is_available())\n"  # noqa: E501
    shown = {"CUDA_VISIBLE_DEVICES": "0"}
    assert harness(script, "--device", "cuda", env=shown).out == "False\n"


def test_a_real_device_that_is_not_there_is_unavailable(harness: Run) -> None:
    run = harness("import torch\nprint('ran')\n", "--device", "mps", "--real")
    assert (run.code, run.report["outcome"], run.report["kind"]) == (97, "unavailable", "real")
    assert run.out == ""
