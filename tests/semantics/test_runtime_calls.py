"""Code that is written for CUDA alone, though no test of CUDA stands around it."""

from __future__ import annotations

import pytest

from mpslint.semantics.context import Context
from mpslint.semantics.packages.runtime_calls import unsettled
from mpslint.semantics.terms.facts_known import CUDA_SETTLED
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

NAME = "torch.cuda.current_device"


def found(text: str, path: str = "train.py") -> int:
    body = text.replace("{call}", f"{NAME}()").replace("{count}", "torch.cuda.device_count()")
    source = SourceFile.from_text(f"import torch\n{body}", path)
    context = Context(source, source.parse(), Settings())
    return sum(1 for _ in unsettled(context, [NAME], CUDA_SETTLED))


def test_a_bare_call_is_unsettled() -> None:
    assert found("{call}\n") == 1


@pytest.mark.parametrize(
    "text",
    [
        "x = [{call} for i in range({count})]\n",
        "for i in range({count}):\n    {call}\n",
        "if kind == Kind.CUDA:\n    {call}\n",
        "if kind == Kind.CUDA or kind == Kind.GPU:\n    {call}\n",
        "@withCUDA\ndef test():\n    {call}\n",
        "def f():\n    if not (torch.cuda.is_available() or xpu()):\n        return\n    {call}\n",
        "import triton\n{call}\n",
        "if device.type != 'cpu':\n    {call}\n",
    ],
)
def test_code_that_says_it_is_for_cuda_is_left_alone(text: str) -> None:
    assert found(text) == 0


@pytest.mark.parametrize(
    "text",
    [
        "if args.gpu is None:\n    {call}\n",
        "if args.gpu is not None:\n    pass\nelse:\n    {call}\n",
        "for i in range(3):\n    {call}\n",
        "if kind == Kind.CUDA or verbose:\n    {call}\n",
        "def f():\n    if not (ready() or xpu()):\n        return\n    {call}\n",
        "try:\n    import triton\nexcept ImportError:\n    pass\n{call}\n",
        "if device.type != 'cpu':\n    {call}\nMPS = 'mps'\n",
    ],
)
def test_a_test_of_something_else_settles_nothing(text: str) -> None:
    assert found(text) == 1


TRIED = "try:\n    {}\n    ready = True\nexcept ImportError:\n    ready = kernel = None\n"
KERNELS = TRIED.format("from triton import jit as kernel")
BUILT = "class Net:\n    def __init__(self):\n        {}\n    def run(self):\n        {{call}}\n"


@pytest.mark.parametrize(
    "text",
    [
        KERNELS + BUILT.format("if not ready:\n            raise ImportError"),
        KERNELS + BUILT.format("if kernel is None or not ok:\n            raise ImportError"),
        KERNELS + BUILT.format("assert ready and ok"),
        KERNELS + "def run():\n    assert kernel is not None\n    {call}\n",
        TRIED.format("from project.megatron.mpu import rows as kernel")
        + BUILT.format("if not ready:\n            raise ImportError"),
    ],
)
def test_what_raises_without_kernels_is_for_cuda(text: str) -> None:
    assert found(text) == 0


@pytest.mark.parametrize(
    "text",
    [
        KERNELS + BUILT.format("if not ready:\n            print()"),
        KERNELS + BUILT.format("if ready:\n            raise ImportError"),
        KERNELS + BUILT.format("if not ready and fused:\n            raise ImportError"),
        KERNELS + BUILT.format("if fused:\n            assert ready"),
        KERNELS + "def check():\n    assert ready\ndef run():\n    {call}\n",
        TRIED.format("from project.kernel import kernel") + BUILT.format("assert ready"),
    ],
)
def test_what_runs_without_kernels_too_is_not(text: str) -> None:
    assert found(text) == 1


@pytest.mark.parametrize("path", ["tools/cuda_graph.py", "cuda/graph.py", "triton/nccl.py"])
def test_what_a_file_is_called_settles_nothing(path: str) -> None:
    assert found("{call}\n", path) == 1
