"""Backward passes run in threads of torch's own, which have no frame of the script's."""

from __future__ import annotations

import pytest

from .conftest import Run

THROUGH_THE_CPU = """
import torch
w = torch.ones(3, device=DEVICE, requires_grad=True)
loss = (w * 2).cpu().sigmoid().to(DEVICE).sum()
loss.backward()
print([round(value, 4) for value in w.grad.tolist()])
"""


@pytest.mark.parametrize("options", [(), ("--trace",)], ids=["plain", "traced"])
@pytest.mark.parametrize("device", ["mps", "cuda"])
def test_a_graph_may_go_through_the_cpu(quick: Run, device: str, options: tuple[str, ...]) -> None:
    run = quick(THROUGH_THE_CPU.replace("DEVICE", f"'{device}'"), "--device", device, *options)
    assert run.out == "[0.21, 0.21, 0.21]\n", run.err
    assert run.report["outcome"] == "finished"


def test_what_a_backward_pass_costs_stands_at_the_line_that_asked_for_it(quick: Run) -> None:
    run = quick(THROUGH_THE_CPU.replace("DEVICE", "'mps'"), "--device", "mps", "--trace")
    there_and_back = {(row["line"], row["direction"]): row["count"] for row in run.report["copies"]}
    assert there_and_back[5, "h2d"] == there_and_back[5, "d2h"] == 1
    assert {event["line"] for event in run.report["events"]} == {3, 4, 5, 6}


def test_what_autograd_grad_costs_stands_at_its_line(quick: Run) -> None:
    script = THROUGH_THE_CPU.replace("DEVICE", "'mps'").replace(
        "loss.backward()", "w.grad, = torch.autograd.grad(loss, w)"
    )
    report = quick(script, "--device", "mps").report
    assert (5, 1) in {(row["line"], row["count"]) for row in report["copies"]}


TRANSFORMER = """
import torch
layer = torch.nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True).to("mps")
optimizer = torch.optim.AdamW(layer.parameters())
for _ in range(2):
    optimizer.zero_grad()
    layer(torch.ones(2, 3, 8, device="mps")).square().mean().backward()
    optimizer.step()
"""


def test_the_layers_of_a_transformer_can_be_traced(quick: Run) -> None:
    run = quick(TRANSFORMER, "--device", "mps", "--steps", "0", "--trace")
    assert (run.report["outcome"], run.report["error"]) == ("finished", None), run.err
    assert "<unknown>" not in {event["file"] for event in run.report["events"]}


def test_a_device_function_may_be_called_by_python_itself(harness: Run) -> None:
    script = "import atexit, torch\natexit.register(torch.cuda.synchronize)\n"
    run = harness(script, "--device", "cuda")
    assert (run.code, run.err) == (0, "")


INTERRUPTED = """
import ctypes, random, threading, time, torch
class Enough(BaseException):
    pass
main = ctypes.c_ulong(threading.main_thread().ident)
def interrupt():
    time.sleep(0.002 + random.random() * 0.01)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(main, ctypes.py_object(Enough))
w = torch.ones(8, device="mps", requires_grad=True)
seen = 0
for _ in range(150):
    thread = threading.Thread(target=interrupt)
    try:
        thread.start()
        while True:
            x = w
            for _ in range(30):
                x = (x * w).sigmoid()
            x.sum().backward()
    except Enough:
        seen += 1
    thread.join()
print(seen)
"""


def test_an_exception_from_outside_does_not_abort_the_process(quick: Run) -> None:
    """libtorch asks for a tensor's device where no exception may pass."""
    run = quick(INTERRUPTED, "--device", "mps", "--steps", "0")
    assert (run.code, run.out) == (0, "150\n"), run.err
