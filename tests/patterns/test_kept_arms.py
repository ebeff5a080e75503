"""Of a conditional one arm is kept, as a person would write it without the other."""

from __future__ import annotations

import ast

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

MOVED = "(c - 1) * torch.ones(2).cuda() if x.is_cuda else (c - 1) * torch.ones(2)"


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        (f"return {MOVED}", "return (c - 1) * torch.ones(2).to(x.device)"),
        (f"return 2 / ({MOVED})", "return 2 / ((c - 1) * torch.ones(2).to(x.device))"),
    ],
)
def test_brackets_stand_where_the_conditional_had_them(line: str, kept: str) -> None:
    text = f"import torch\n\n\ndef labels(x, c):\n    {line}\n"
    fixed = fix_source(SourceFile("labels.py", text.encode()), Settings()).text
    assert f"    {kept}\n" in fixed
    ast.parse(fixed)
