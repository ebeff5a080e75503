"""A program that calls an operator of its project which refuses tensors that are not on CUDA is
CUDA's own, also where a function of the file is given what calls the operator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_OPERATOR = """
import torch


def sparse(query, key, *, config):
    if query.ndim != 4:
        raise ValueError("four dimensions")
    {refusal}
    return query @ key
"""
_REFUSAL = """if query.device.type != "cuda":
        raise ValueError("sparse attention takes CUDA's tensors")"""
_DIRECT = """
import torch

from operators import sparse

query = torch.randn(2, 3, 4, 4, device="cuda")
torch.cuda.synchronize()
print(sparse(query, query, config=None))
"""
_BENCHMARK = """
import time

import torch

from operators import sparse


def benchmark(operation, tensors):
    torch.cuda.synchronize()
    start = time.perf_counter()
    {call}
    torch.cuda.synchronize()
    return time.perf_counter() - start, torch.cuda.max_memory_allocated()


def main(fractions, fast):
    if not torch.cuda.is_available():
        raise RuntimeError("CUDA is required")
    tensors = tuple(torch.randn(2, 3, 4, 4, device="cuda") for _ in range(2))

    def dense(query, key):
        return query @ key

    print(benchmark(dense, tensors))
    for fraction in fractions:

        def attention(query, key, config=fraction):
            return sparse(query, key, config=config)

        print(benchmark({given}, tensors))


main([0.5, 1.0], True)
"""


def _told(cli: Cli, project: Path, program: str, refusal: str = _REFUSAL) -> list[str]:
    (project / "README.md").write_text("Attention.\n")
    (project / "operators.py").write_text(_OPERATOR.format(refusal=refusal).lstrip("\n"))
    (project / "program.py").write_text(program.lstrip("\n"))
    found = json.loads(cli("check", "--output-format", "json", ".").out)
    return [item["code"] for item in found if Path(item["filename"]).name == "program.py"]


@pytest.mark.parametrize(
    "refusal",
    [
        _REFUSAL,
        _REFUSAL.replace('query.device.type != "cuda"', "not query.is_cuda"),
        'assert query.is_cuda, "a tensor of CUDA\'s"',
    ],
)
def test_who_calls_it_is_cudas(cli: Cli, project: Path, refusal: str) -> None:
    assert not _told(cli, project, _DIRECT, refusal)


@pytest.mark.parametrize(
    "refusal",
    [
        "pass",
        _REFUSAL.replace('!= "cuda"', 'not in ("cuda", "mps")'),
        _REFUSAL.replace('!= "cuda"', '== "cpu"'),
        _REFUSAL.replace('query.device.type != "cuda"', "not torch.cuda.is_available()"),
    ],
)
def test_who_calls_one_that_takes_others_is_told(cli: Cli, project: Path, refusal: str) -> None:
    assert _told(cli, project, _DIRECT, refusal)


@pytest.mark.parametrize(
    "given", ["attention", "torch.compile(attention, dynamic=False) if fast else attention"]
)
def test_a_function_that_calls_what_it_is_given_is_cudas(
    cli: Cli, project: Path, given: str
) -> None:
    program = _BENCHMARK.format(call="operation(*tensors)", given=given)
    assert not _told(cli, project, program)


@pytest.mark.parametrize(
    ("call", "given"), [("print(operation)", "attention"), ("operation(*tensors)", "dense")]
)
def test_one_that_calls_another_or_none_is_told(
    cli: Cli, project: Path, call: str, given: str
) -> None:
    assert _told(cli, project, _BENCHMARK.format(call=call, given=given))
