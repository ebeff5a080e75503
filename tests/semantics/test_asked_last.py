"""What costs much to know is asked last, where a name or the text may settle it."""

from __future__ import annotations

import ast

import pytest

from mpslint.checking.linter import lint
from mpslint.project.runs.needed_functions import needs
from mpslint.rules import bool_tensor_in_loop
from mpslint.semantics.context import Context
from mpslint.semantics.reads import reading_callees
from mpslint.semantics.steps import generating
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

_STEP = """\
import torch
from helpers import log

for batch in loader:
    loss = model(batch.to("cuda"))
    loss.backward()
    optimizer.step()
    log(loss)
    if loss.sum() > best:
        best = loss.sum()
"""


def context_of(text: str) -> Context:
    source = SourceFile.from_text(text)
    return Context(source, source.parse(), Settings())


def test_where_an_argument_lies_is_not_asked_for_a_function_that_reads_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading_callees, "is_on_device", None)
    context = context_of(_STEP)
    assert not any(
        reading_callees.reads_what_it_is_given(context, call)
        for call in context.index.of(ast.Call)
        if isinstance(call, ast.Call)
    )


def test_what_hangs_on_a_test_is_not_asked_where_it_looks_for_no_odd_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(bool_tensor_in_loop, "decides_what_comes", None)
    found = lint(SourceFile.from_text(_STEP), Settings(select=("MPS306",)))
    assert [finding.row for finding in found] == [9]


def test_loops_and_imports_are_found_without_a_walk_of_the_standard_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    context = context_of(_STEP)
    loop = next(iter(context.index.of(ast.For)))
    _ = context.loops  # Made before `ast.walk` is taken away.
    with monkeypatch.context() as without:
        without.setattr(ast, "walk", None)
        works = context.loops.works(loop)
        generates = generating.generating(context, loop)
        needed = needs(context.tree, ["helpers.other"])
    assert (works, generates, needed) == (True, None, False)
