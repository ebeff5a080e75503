"""Programs that make float64 the default dtype: MPS has none, and what they make would raise there.

The CPU is then right on a Mac. What sets it under a condition, or takes it back, says nothing.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_NARROW = frozenset({"float32", "float16", "bfloat16"})
_SPELLINGS = (
    *("float32", "float", "float16", "half", "bfloat16"),
    *("FloatTensor", "HalfTensor", "BFloat16Tensor"),
)
_CASTS = ("float", "half", "bfloat16")


def computes_in_float64(context: Context, node: ast.AST) -> bool:
    """Whether all tensors that are made where `node` runs are float64 by default."""
    around = (None, context.index.function(node))
    return any(context.index.function(call) in around for call in _defaults(context))


def has_float64_rows(context: Context, row: int) -> bool:
    """Whether all tensors that are made in a line, in what runs with the file, are float64 by
    default: the CPU computes them on a Mac. A file that names a dtype which MPS has, or casts to
    one, may compute with what it makes so."""
    return any(
        (function := context.index.function(call)) is None
        or function.lineno <= row <= (function.end_lineno or 0)
        for call in _defaults(context)
    ) and not _names_narrow(context)


def _names_narrow(context: Context) -> bool:
    """Whether a file names float32 or a smaller dtype (`torch.float32`), or casts to one without
    a name: `x.half()`. The `.float()` of an answer (`(x == y).float()`) only counts."""
    index = context.index
    named = [
        item
        for name in _SPELLINGS
        for item in (*index.attributes.get(name, ()), *index.names.get(name, ()))
    ]
    if any(context.dtypes.torch_dtype(item) in _NARROW for item in named):
        return True
    return any(
        isinstance(call.func, ast.Attribute)
        and not call.args
        and not isinstance(call.func.value, ast.Compare)
        for name in _CASTS
        for call in index.calls.get(name, ())
    )


def _defaults(context: Context) -> list[ast.Call]:
    """The calls that make float64 the default; none where another, or a condition, may undo it."""
    calls = list(context.calls_of("torch.set_default_dtype", "torch.set_default_tensor_type"))
    always = all(_is_always_there(context, call) and _is_wide(context, call) for call in calls)
    return calls if always else []


def _is_wide(context: Context, call: ast.Call) -> bool:
    given = call.args[0] if call.args else None
    if isinstance(given, ast.Constant) and isinstance(given.value, str):
        return given.value.endswith("DoubleTensor")
    return context.dtypes.torch_dtype(given) == "float64"


def _is_always_there(context: Context, call: ast.Call) -> bool:
    """Whether a call is a statement of its function, or of the module, itself."""
    statement = context.index.parents[call]
    around = context.index.parents.get(statement)
    return isinstance(statement, ast.Expr) and isinstance(around, (ast.Module, *FUNCTIONS))


def goes_beside_float64(context: Context, chosen: ast.AST) -> bool:
    """Whether a device that is chosen for a name of the module is given to something that is told
    to compute in float64: `Calculator(device=device, default_dtype="float64")`."""
    statement = context.index.statement(chosen)
    if context.index.function(statement) is not None:
        return False
    wide = _beside_float64(context)
    return bool(wide) and any(
        isinstance(target, ast.Name) and target.id in wide
        for item in ast.walk(statement)
        if isinstance(item, ast.Assign)
        for target in item.targets
    )


def _beside_float64(context: Context) -> set[str]:
    """The names that are given by keyword in calls which name float64 as well."""
    known = context.memo.get("beside float64")
    if known is None:
        known = context.memo["beside float64"] = {
            item.value.id
            for text in context.index.strings
            if text.value == "float64"
            and isinstance(keyword := context.index.parents[text], ast.keyword)
            and isinstance(call := context.index.parents[keyword], ast.Call)
            for item in call.keywords
            if isinstance(item.value, ast.Name)
        }
    assert isinstance(known, set)
    return known
