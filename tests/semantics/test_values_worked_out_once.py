"""A value of which nothing tells is worked out once, however many are made of it."""

from __future__ import annotations

import ast

import pytest

from mpslint.semantics.context import Context
from mpslint.semantics.terms.value import Kind, Value
from mpslint.semantics.values.values import MAX_DEPTH, Values
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile


def context_of(text: str) -> Context:
    source = SourceFile.from_text(text)
    return Context(source, source.parse(), Settings())


def last_value(context: Context) -> ast.expr:
    last = context.tree.body[-1]
    assert isinstance(last, ast.Expr)
    return last.value


def test_a_chain_of_calls_costs_no_more_with_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[ast.AST] = []
    evaluate = Values._evaluate

    def counted(self: Values, node: ast.expr) -> Value:
        asked.append(node)
        return evaluate(self, node)

    monkeypatch.setattr(Values, "_evaluate", counted)
    context = context_of("given()" + "".join(f".with_{at}(1)" for at in range(9)) + "\n")
    assert context.values.of(last_value(context)).kind is Kind.UNKNOWN
    assert len(asked) == len(set(asked))


def test_what_was_too_deep_for_one_question_is_known_to_the_next() -> None:
    lines = ["import torch", "a0 = torch.zeros(1)"]
    lines += [f"a{at} = a{at - 1}" for at in range(1, MAX_DEPTH + 9)]
    context = context_of("\n".join([*lines, f"a{MAX_DEPTH + 8}", ""]))
    assert context.values.of(last_value(context)).kind is Kind.UNKNOWN
    nearer = context.tree.body[9]
    assert isinstance(nearer, ast.Assign)
    assert context.values.of(nearer.value).kind is Kind.TENSOR


def test_a_value_that_comes_by_some_dozens_of_names_is_known() -> None:
    lines = ["import torch", "a0 = torch.zeros(1)"]
    lines += [f"a{at} = a{at - 1}.clone()" for at in range(1, 18)]
    context = context_of("\n".join([*lines, "a17", ""]))
    assert context.values.of(last_value(context)).on_cpu
