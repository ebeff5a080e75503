"""What a function that returns an error, or nothing, has made sure of."""

from __future__ import annotations

import pytest
from probing import probe

CHECK = """
import torch

class Model:
    def check(self):
        if {refused}:
            return NotImplementedError("needs CUDA")
{end}

    def __init__(self):
        error = self.check()
        if {asked}:
            raise error
        probe(1)
"""


def facts(
    refused: str = "not torch.cuda.is_available() or self.small",
    end: str = "return None",
    asked: str = "error",
) -> frozenset[str]:
    program = CHECK.format(refused=refused, end=f"        {end}", asked=asked)
    context, node = probe(program)
    return context.guards.at(node)


def test_without_an_error_there_is_cuda() -> None:
    assert "cuda" in facts()


@pytest.mark.parametrize(
    ("refused", "end", "asked"),
    [
        ("self.small", "return None", "error"),
        ("not torch.cuda.is_available() and self.small", "return None", "error"),
        ("torch.cuda.is_available()", "return None", "error"),
        ("not torch.cuda.is_available()", "return None", "not error"),
        ("not torch.cuda.is_available()", "return None", "error and self.strict"),
        ("torch.cuda.is_available()", "print()", "error"),
        ("torch.cuda.is_available()", "return", "error"),
    ],
)
def test_other_ways_say_nothing_of_it(refused: str, end: str, asked: str) -> None:
    assert "cuda" not in facts(refused, end, asked)


def test_an_error_that_is_always_returned_leaves_no_other_way() -> None:
    context, node = probe("def f():\n    return ValueError()\nif not f():\n    probe(1)\n")
    assert "impossible" in context.guards.at(node)


def test_a_function_of_the_same_name_elsewhere_is_another() -> None:
    program = CHECK.format(
        refused="not torch.cuda.is_available()", end="        return None", asked="error"
    ).replace("self.check()", "other.check()")
    context, node = probe(program)
    assert "cuda" not in context.guards.at(node)
