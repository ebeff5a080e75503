"""Kernels whose results are as large as the data says: who calls one waits for that number."""

from __future__ import annotations

import ast

from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.expressions import keyword, last_name
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.values.values import Values

ALWAYS = ("nonzero", "argwhere", "masked_select", "unique", "unique_consecutive", "combinations")
SOMETIMES = ("where", "repeat_interleave", "one_hot")


def operand(names: Names, call: ast.Call) -> ast.expr | None:
    """The tensor a function or method works on."""
    if (names.resolve(call.func) or "").startswith("torch."):
        return call.args[0] if call.args else None
    return call.func.value if isinstance(call.func, ast.Attribute) else None


def is_sized_by_data(names: Names, values: Values, call: ast.Call) -> bool:
    """Whether a call by one of these names is one whose result is as large as the data says."""
    name = last_name(call.func)
    if name == "where":
        library = names.resolve(call.func) == "torch.where"
        return library and len(call.args) + len(call.keywords) == 1
    if name == "one_hot":
        return len(call.args) < 2 and keyword(call, "num_classes") is None
    if name == "repeat_interleave":
        given = [*call.args, *(k.value for k in call.keywords if k.arg == "repeats")]
        tensor = any(values.of(item).kind is Kind.TENSOR for item in given[-1:])
        return tensor and keyword(call, "output_size") is None
    return name in ALWAYS
