"""The tracing compiler is loaded when a script uses it, and is then the real one."""

from __future__ import annotations

import pytest

from .conftest import Run

LOADED = "'torch._dynamo.symbolic_convert' in sys.modules"
TRAINING = """
import sys
import torch
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.Adam(model.parameters())
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
optimizer.zero_grad()
"""


@pytest.mark.parametrize("device", ["cpu", "mps", "cuda"])
def test_training_does_not_load_the_compiler(harness: Run, device: str) -> None:
    run = harness(f"{TRAINING}print({LOADED})", "--device", device)
    assert run.out == "False\n", run.err


@pytest.mark.parametrize(
    "use",
    [
        "import torch._dynamo.config as c; found = c is torch._dynamo.config",
        "import torch._dynamo.utils; found = torch._dynamo.utils.counters is not None",
        "from torch._dynamo import config as c; found = c is sys.modules['torch._dynamo.config']",
        "found = torch._dynamo.config.suppress_errors is not None",
        "torch._dynamo.reset(); found = True",
        "import inspect; found = 'disable' in dir(torch._dynamo)",
        "found = torch.compile(model, backend='eager')(torch.ones(1, 2)).shape == (1, 2)",
        "torch._dynamo.spare = 1; found = sys.modules['torch._dynamo'].spare == 1",
        "found = torch.compiler.disable(lambda x: x + 1)(1) == 2",
    ],
)
def test_whoever_asks_for_the_compiler_gets_the_real_one(harness: Run, use: str) -> None:
    code = f"{TRAINING}{use}\nprint(found, {LOADED}, type(torch._dynamo).__name__)"
    run = harness(code, "--device", "mps")
    assert run.out == "True True module\n", run.err


def test_a_submodule_is_loaded_once_and_keeps_its_own_spec(harness: Run) -> None:
    code = """
import torch._dynamo.config, sys
module = sys.modules["torch._dynamo.config"]
print(module is torch._dynamo.utils.config, module.__spec__.name, module.__spec__.origin[-9:])
"""
    run = harness("import torch\n" + code, "--device", "cpu")
    assert run.out == "True torch._dynamo.config config.py\n", run.err


def test_an_optimizer_made_before_the_compiler_steps_after_it(harness: Run) -> None:
    code = f"""{TRAINING}
torch._dynamo.reset()
model(torch.ones(1, 2)).sum().backward()
optimizer.step()
optimizer.zero_grad()
traced = torch._dynamo.optimize("eager")(lambda x: torch.sin(x) + 1)
print(traced(torch.zeros(2)).tolist(), model.weight.grad)
"""
    run = harness(code, "--device", "cpu")
    assert run.out == "[1.0, 1.0] None\n", run.err


def test_a_search_for_the_module_does_not_load_it(harness: Run) -> None:
    code = """
import importlib.util, inspect, sys, torch
found = importlib.util.find_spec("torch._dynamo").origin.endswith("__init__.py")
inspect.getmodule(torch.nn.Linear)
[getattr(m, "__file__", None) for m in list(sys.modules.values())]
"""
    run = harness(f"{code}print(found, {LOADED})", "--device", "mps")
    assert run.out == "True False\n", run.err
