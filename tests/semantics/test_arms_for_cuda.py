"""Which arm of a test is for CUDA alone, by the text of the test."""

from __future__ import annotations

import ast

import pytest

from mpslint.semantics.syntax.cuda_arms import cuda_arms

FIRST, SECOND, NEITHER = (True, False), (False, True), (False, False)


@pytest.mark.parametrize(
    ("test", "arms"),
    [
        ("torch.cuda.is_available()", FIRST),
        ("not torch.cuda.is_available()", SECOND),
        ("device.type == 'cuda'", FIRST),
        ("device.type != 'cuda'", SECOND),
        ("device.type not in ('cuda',)", SECOND),
        ("device.type in ('cuda', 'mps')", NEITHER),
        ("torch.cuda.device_count() > 1", FIRST),
        ("torch.cuda.device_count() == 0", NEITHER),
        ("use_cuda and fast", FIRST),
        ("use_cuda or fast", NEITHER),
        ("not use_cuda or fast", SECOND),
        ("not (use_cuda and fast)", SECOND),
        ("x.is_cuda", FIRST),
        ("fast", NEITHER),
    ],
)
def test_an_arm_is_for_cuda_where_its_test_says_so(test: str, arms: tuple[bool, bool]) -> None:
    assert tuple(cuda_arms(ast.parse(test, mode="eval").body)) == arms


def test_a_name_asks_what_it_stands_for() -> None:
    given = {"fast": ast.parse("torch.cuda.is_available()", mode="eval").body}
    assert tuple(cuda_arms(ast.parse("not fast", mode="eval").body, given)) == SECOND
