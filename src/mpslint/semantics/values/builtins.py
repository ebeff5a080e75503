"""What calls of Python's builtins return."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.terms.value import FLAG, NUMBER, STRING, UNKNOWN, Kind, Value
from mpslint.semantics.values.sequences import mapped

if TYPE_CHECKING:
    from mpslint.semantics.values.values import Values


def builtin_call(values: Values, node: ast.Call) -> Value:
    """What a call of a Python builtin returns; UNKNOWN for anything else."""
    if not isinstance(node.func, ast.Name):
        return UNKNOWN
    name = node.func.id
    if name in ("float", "int", "len", "round", "sum", "abs", "min", "max", "id", "hash"):
        if name in ("sum", "abs", "min", "max") and node.args:
            given = node.args[0]
            if name == "sum" and isinstance(given, ast.GeneratorExp | ast.ListComp):
                given = given.elt  # What adds tensors up is one.
            inner = values.of(given)
            if inner.kind is Kind.TENSOR:
                return inner
            if name == "sum" and given is not node.args[0] and inner.kind is Kind.NUMBER:
                return NUMBER  # `sum(len(x) for x in batch)`
            return UNKNOWN
        return NUMBER
    if name in ("str", "repr", "format"):
        return STRING
    if name == "next" and node.args:
        if isinstance(node.args[0], ast.GeneratorExp):
            return values.of(node.args[0].elt)
        inner = values.of(node.args[0])
        if inner.kind is Kind.SEQUENCE:
            return Value(Kind.TENSOR, inner.devices)
        if isinstance(node.args[0], ast.Call):
            return values.drawn(node.args[0], None, False)
    if name in ("bool", "isinstance", "hasattr", "callable"):
        return FLAG
    if name in ("iter", "reversed") and node.args:
        return values.of(node.args[0])
    if name in ("tuple", "list") and len(node.args) == 1:
        inner = values.of(node.args[0])
        return inner if inner.kind is Kind.SEQUENCE else UNKNOWN
    if name == "map" and (each := mapped(node)) is not None:
        # The parameter of the `lambda` is nobody's yet: what is known is what is done with it.
        if values.of(each).devices is not None:
            return Value(Kind.SEQUENCE)
    return UNKNOWN
