"""Attributes that are assigned from each other are each followed once."""

from __future__ import annotations

import ast

import pytest

from mpslint.semantics.context import Context
from mpslint.semantics.guards.conditions import Conditions
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

_LINES = [f"a.x = a.x and a.y or f({n})\na.y = a.y and a.x or f({n})\n" for n in range(9)]


def test_the_work_does_not_multiply_with_the_assignments(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[ast.expr] = []
    implied = Conditions._implied

    def counted(self: Conditions, test: ast.expr, outcome: bool) -> frozenset[str]:
        asked.append(test)
        return implied(self, test, outcome)

    monkeypatch.setattr(Conditions, "_implied", counted)
    source = SourceFile.from_text("".join(_LINES) + "if a.x:\n    pass\n")
    context = Context(source, source.parse(), Settings())
    test = next(context.index.of(ast.If)).test
    assert context.guards.implied(test, True) == frozenset()
    assert len(asked) < 2000
