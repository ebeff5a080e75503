"""How a file is written: what fixes go by."""

from __future__ import annotations

import pytest

from mpslint.patterns.text import indent_unit
from mpslint.sources.source import SourceFile

DOCSTRING = '"""Usage:\n  python serve.py\n"""\n'


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("if a:\n  b()\n", "  "),
        ("if a:\n\tb()\n", "\t"),
        ("a()\n", "    "),
        (DOCSTRING + "def f():\n    g()\n\n\ndef h():\n    g()\n", "    "),
    ],
)
def test_the_indentation_is_what_most_blocks_have(text: str, unit: str) -> None:
    assert indent_unit(SourceFile.from_text(text)) == unit
