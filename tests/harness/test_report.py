"""The report says how the run ended, where, and what it did on the device."""

from __future__ import annotations

import pytest

from .conftest import Run

KEYS = {
    "schema", "device", "kind", "torch", "python", "simulates", "outcome", "exit_code", "error",
    "seconds", "steps", "forwards", "device_ops", "parameters_on_device", "losses",
    "params_digest", "device_calls", "stdout_numbers", "syncs", "copies", "fallbacks", "switches",
    "memory", "limits", "notes", "self_test", "events",
}  # fmt: skip


def test_every_key_of_the_schema_is_there(quick: Run) -> None:
    report = quick("import torch\n", "--device", "mps").report
    assert set(report) >= KEYS
    assert (report["schema"], report["device"], report["outcome"]) == (1, "mps", "finished")
    assert report["self_test"]["passed"] >= 14
    assert report["self_test"]["failed"] == []
    assert report["device_ops"] == 0


@pytest.mark.parametrize(
    ("end", "code", "outcome", "reported"),
    [
        ("", 0, "finished", 0),
        ("raise ValueError('no')", 1, "error", 1),
        ("import sys; sys.exit(0)", 0, "exit", 0),
        ("import sys; sys.exit(5)", 5, "exit", 5),
        ("import sys; sys.exit('bad')", 1, "exit", 1),
        ("import os; os._exit(7)", 7, "exit", 7),
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", -15, "exit", 143),
        ("raise KeyboardInterrupt", 1, "error", 1),
    ],
)
def test_the_end_of_the_script_is_the_end_of_the_report(
    quick: Run, end: str, code: int, outcome: str, reported: int
) -> None:
    run = quick(f"import torch\nx = torch.ones(2, device='mps')\n{end}\n", "--device", "mps")
    assert run.code == code, run.err
    assert (run.report["outcome"], run.report["exit_code"]) == (outcome, reported)
    assert run.report["device_ops"] > 0


@pytest.mark.parametrize(
    ("end", "own"),
    [
        ("raise ValueError('no')", True),
        ("assert torch.cuda.is_available(), 'a GPU, please'", True),
        ("import warnings; assert not (\n    warnings\n)", True),
        ("torch.ones(2).cuda()", False),
        ("torch.ones(2, device='cuda')", False),
        ("torch.ones(2).view(3)", False),
        ("[][0]", False),
    ],
)
def test_it_tells_what_the_program_raised_itself(quick: Run, end: str, own: bool) -> None:
    error = quick(f"import torch\n{end}\n", "--device", "mps").report["error"]
    assert error["own"] is own


def test_a_killed_process_leaves_no_report(quick: Run) -> None:
    script = "import os, signal, torch\nos.kill(os.getpid(), signal.SIGKILL)\n"
    run = quick(script, "--device", "mps")
    assert (run.code, run.report) == (-9, None)


def test_a_script_without_torch_says_so(harness: Run) -> None:
    run = harness("print('hello')\n", "--device", "mps")
    assert (run.code, run.report["outcome"]) == (98, "no-torch")


def test_a_syntax_error_names_its_line(quick: Run) -> None:
    run = quick("import torch\nif True print(1)\n", "--device", "mps")
    assert (run.code, run.report["outcome"]) == (1, "error")
    assert (run.report["error"]["type"], run.report["error"]["line"]) == ("SyntaxError", 2)


def test_an_error_inside_torch_is_placed_in_the_users_code(quick: Run, tmp_path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "layers.py").write_text(
        "import torch\ndef build(x):\n    layer = torch.nn.Linear(2, 2)\n    return layer(x)\n"
    )
    script = folder / "train.py"
    script.write_text("import torch, layers\nlayers.build(torch.ones(1, 2, device='mps'))\n")
    error = quick(script, "--device", "mps").report["error"]
    assert (error["type"], error["line"]) == ("RuntimeError", 4)
    assert error["file"].endswith("layers.py")
    assert "Tensor for argument weight is on cpu" in error["message"]
    assert "mpslint" not in error["traceback"].splitlines()[1]


MEASURED = """
import torch
model = torch.nn.Linear(4, 2).to("mps")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(2):
    batch = torch.ones(8, 4).to("mps")
    loss = model(batch).sum()
    loss.backward()
    optimizer.step()
    print(loss.item())
    torch.mps.synchronize()
    total = float(loss)
    back = batch.cpu()
"""


def test_waits_and_copies_are_counted_by_line(quick: Run) -> None:
    report = quick(MEASURED, "--device", "mps", "--steps", "0").report
    waits = {row["line"]: row["count"] for row in report["syncs"]}
    assert waits == {10: 2, 11: 2, 12: 2, 13: 2}
    copies = {
        (row["line"], row["direction"]): (row["count"], row["bytes"]) for row in report["copies"]
    }
    assert copies == {(3, "h2d"): (2, 40), (6, "h2d"): (2, 256), (13, "d2h"): (2, 256)}
    assert report["switches"] == 6
    assert report["parameters_on_device"] == 2
    assert [call[0] for call in report["device_calls"] if call[0] != "move"] == [
        "torch.mps.synchronize"
    ] * 2


def test_costs_are_given_per_step(quick: Run) -> None:
    rows = quick(MEASURED, "--device", "mps", "--steps", "0").report["step_costs"]
    assert [row["step"] for row in rows] == [1, 2]
    assert (rows[1]["syncs"], rows[1]["h2d"], rows[1]["d2h"]) == (4, 1, 1)


def test_peak_memory_is_that_of_live_tensors(quick: Run) -> None:
    script = """
import torch
for _ in range(5):
    x = torch.zeros(1000, device="mps")
    del x
kept = torch.zeros(500, device="mps")
print(torch.mps.current_allocated_memory())
"""
    run = quick(script, "--device", "mps")
    assert run.out == "2000\n"
    assert run.report["memory"] == {"allocated": 2000, "peak": 4000}


def test_the_trace_holds_operations_waits_copies_and_steps(quick: Run) -> None:
    events = quick(MEASURED, "--device", "mps", "--steps", "0", "--trace").report["events"]
    assert {"op", "sync", "h2d", "d2h", "step"} <= {event["kind"] for event in events}
    linear = next(e for e in events if e["kind"] == "op" and e["name"] == "linear")
    assert (linear["line"], linear["step"]) == (7, 0)
    assert linear["dur"] > 0
    assert [event["t"] for event in events] == sorted(event["t"] for event in events)


def test_losses_and_parameters_are_those_of_the_cpu(quick: Run) -> None:
    script = """
import torch
device = "mps" if torch.backends.mps.is_available() else "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)
model = torch.nn.Linear(4, 2).to(device)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(torch.ones(8, 4).to(device)).square().mean().backward()
    optimizer.step()
"""  # noqa: E501
    reports = [quick(script, "--device", device).report for device in ("cpu", "mps", "cuda")]
    for report in reports[1:]:
        assert report["losses"] == pytest.approx(reports[0]["losses"], rel=1e-5)
        for row, expected in zip(report["params_digest"], reports[0]["params_digest"], strict=True):
            assert row == pytest.approx(expected, rel=1e-5)
    assert reports[0]["parameters_on_device"] == 2


def test_cuda_and_to_are_the_same_device_choice(quick: Run) -> None:
    old = "import torch\nx = torch.ones(2).cuda()\ntorch.cuda.synchronize()\n"
    new = "import torch\nd = torch.device('cuda')\nx = torch.ones(2).to(d)\ntorch.cuda.synchronize()\n"  # noqa: E501
    first, second = (quick(text, "--device", "cuda").report["device_calls"] for text in (old, new))
    assert first == second == [["move", "cuda:0"], ["torch.cuda.synchronize", ""]]


def test_compiled_models_run_eagerly_and_the_report_says_so(quick: Run) -> None:
    script = "import torch\nm = torch.compile(torch.nn.Linear(2, 2)).to('mps')\nm(torch.ones(1, 2, device='mps'))\n"  # noqa: E501
    report = quick(script, "--device", "mps").report
    assert report["outcome"] == "finished"
    assert report["notes"] == ["torch.compile ran eagerly"]


def test_sync_debug_mode_error_ends_the_script_at_the_wait(quick: Run) -> None:
    script = "import torch\ntorch.cuda.set_sync_debug_mode('error')\nx = torch.ones(2, device='cuda')\nx.sum().item()\n"  # noqa: E501
    error = quick(script, "--device", "cuda").report["error"]
    assert (error["type"], error["line"]) == ("RuntimeError", 4)
    assert error["message"] == "called a synchronizing CUDA operation"
