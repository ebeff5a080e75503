"""A piece of code within a sentence is cut where a word of it ends."""

from __future__ import annotations

import pytest

from mpslint.basics.brief import brief


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("torch.ones(2)", "torch.ones(2)"),
        ("torch.ones(\n    2)", "torch.ones("),
        ("torch.ones(2, dtype=torch.double)", "torch.ones(2, dtype..."),
        ("a" * 30, "a" * 21 + "..."),
    ],
)
def test_a_piece_of_code_ends_with_a_word(code: str, said: str) -> None:
    assert brief(code, 24) == said
