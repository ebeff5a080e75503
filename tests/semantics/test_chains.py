"""Selections between CUDA and the CPU, and the tests that gate moves."""

from __future__ import annotations

import ast
import textwrap

import pytest
from probing import probe

from mpslint.semantics.context import Context
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile


def selections(program: str) -> int:
    source = SourceFile("program.py", ("import torch\n" + textwrap.dedent(program)).encode())
    return len(Context(source, source.parse(), Settings()).chains.without_mps)


@pytest.mark.parametrize(
    "program",
    [
        "d = 'cuda' if torch.cuda.is_available() else 'cpu'",
        "d = 'cpu' if not torch.cuda.is_available() else 'cuda:0'",
        "d = torch.device(f'cuda:{r}') if torch.cuda.is_available() else torch.device('cpu')",
        "if torch.cuda.is_available():\n    d = 'cuda'\nelse:\n    d = 'cpu'",
        "d = 'cpu'\nif torch.cuda.is_available():\n    d = 'cuda'",
        "def f():\n    if torch.cuda.is_available():\n        return 'cuda'\n    return 'cpu'",
        "if a:\n    d = 'cpu'\nelif torch.cuda.is_available():\n    d = 'cuda'\n"
        "else:\n    d = 'cpu'",
        "if torch.cuda.is_available():\n    if a:\n        d = f'cuda:{r}'\n    else:\n"
        "        d = 'cuda'\n"
        "elif torch.xpu.is_available():\n    d = 'xpu'\nelse:\n    d = 'cpu'",
        "d = 'cuda' if args.cuda else 'cpu'",
    ],
)
def test_a_choice_that_can_only_be_cuda_or_cpu_is_a_selection_without_mps(program: str) -> None:
    assert selections(program) == 1


@pytest.mark.parametrize(
    "program",
    [
        "d = 'cuda' if torch.cuda.is_available() else 'mps' if ok else 'cpu'",
        "if torch.cuda.is_available():\n    d = 'cuda'\nelif args.mps:\n    d = 'mps'\n"
        "else:\n    d = 'cpu'",
        "d = 'cuda' if torch.cuda.is_available() else 'cpu'\n"
        "if torch.backends.mps.is_available():\n    d = 'mps'",
        "d = 'cuda' if x.is_cuda else 'cpu'",
        "c = x.device.type == 'cuda'\nd = 'cuda' if c else 'cpu'",
        "d = 'cuda' if torch.distributed.get_backend() == 'nccl' else 'cpu'",
        "d = {gpu: 'cuda' if gpu else 'cpu' for gpu in (False, True)}",
        "d = torch.half if torch.cuda.is_available() else torch.float",
        "def get_cuda_or_cpu():\n    return 'cuda' if torch.cuda.is_available() else 'cpu'",
    ],
)
def test_a_choice_that_knows_mps_or_follows_another_device_is_none(program: str) -> None:
    assert selections(program) == 0


@pytest.mark.parametrize(
    ("program", "test"),
    [
        ("if use_cuda:\n    probe(1)", "use_cuda"),
        ("if torch.cuda.is_available():\n    if a:\n        probe(1)", "torch.cuda.is_available()"),
        (
            "if not torch.cuda.is_available():\n    print(1)\nelse:\n    probe(1)",
            "not torch.cuda.is_available()",
        ),
    ],
)
def test_the_gate_is_the_test_that_decides_alone(program: str, test: str) -> None:
    context, node = probe("import torch\n" + program)
    gate = context.chains.gate(node)
    assert gate is not None
    assert ast.unparse(gate.test) == test


@pytest.mark.parametrize(
    "program",
    [
        "probe(1)",
        "if a:\n    probe(1)",
        "if use_cuda:\n    probe(1)\nelse:\n    x = x.to(device)",
        "if use_cuda:\n    probe(1)\nelif torch.backends.mps.is_available():\n    pass",
        "assert torch.cuda.is_available()\nif use_cuda:\n    probe(1)",
        "def f():\n    if not torch.cuda.is_available():\n        return\n    probe(1)",
    ],
)
def test_there_is_no_gate_where_somebody_has_decided_otherwise(program: str) -> None:
    context, node = probe("import torch\n" + program)
    assert context.chains.gate(node) is None
