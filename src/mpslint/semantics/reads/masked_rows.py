"""Selections of rows of which, row by row, a loss is reckoned whose mean or sum is all that is
left.

`guess = guess[known]; label = label[known]`, a few lines of arithmetic, and `loss.mean()`: what the
mask leaves out could be reckoned as well, and be weighed with nothing in the end.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.packages.consumers import reads_of
from mpslint.semantics.syntax.expressions import argument, last_name

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_BY_ELEMENT = frozenset(
    {"abs", "neg", "exp", "log", "log1p", "sqrt", "pow", "square", "clamp", "sigmoid", "tanh"}
    | {"relu", "logsigmoid", "softplus", "float", "double", "half", "long", "int", "type_as"}
    | {"detach", "clone", "contiguous", "requires_grad_", "squeeze", "unsqueeze", "data", "mul"}
    | {"add", "sub", "div"}
)
"""Of each element, or of each row, by itself."""
_ALONG_ROWS = frozenset({"softmax", "log_softmax", "gather", "sum", "mean", "logsumexp"})
"""Along a dimension that is named, which is not that of the rows."""
_FLAT = frozenset({"view", "reshape", "flatten"})
_REDUCED = frozenset({"mean", "sum"})
_TOLD = frozenset({"dtype", "device", "type"})
"""What is asked of a tensor without a look at its numbers."""
_NAMES_FOLLOWED = 8


def ends_in_mean(context: Context, item: ast.expr) -> bool:
    """Whether all that becomes of `item`, a selection of rows, by several names, is reckoned row by
    row, and its mean or sum over everything is all that is asked of that."""
    parent = context.index.parents[item]
    if not isinstance(parent, ast.Assign) or parent.value is not item:
        return False  # In an expression it is written out what is reckoned.
    if not isinstance(item, ast.Subscript) or not _ends(context, item, _NAMES_FOLLOWED, set()):
        return False
    # What one of them leaves out has no counterpart in the others.
    return all(
        _ends(context, other, _NAMES_FOLLOWED, set()) for other in _selected_alike(context, item)
    )


def _selected_alike(context: Context, item: ast.Subscript) -> Iterator[ast.Subscript]:
    """What the same mask selects in the same function."""
    mask, function = ast.dump(item.slice), context.index.function(item)
    for other in context.index.of(ast.Subscript):
        if isinstance(other.ctx, ast.Load) and context.index.function(other) is function:
            if ast.dump(other.slice) == mask:
                yield other


def _ends(context: Context, node: ast.expr, names: int, seen: set[ast.AST]) -> bool:
    parent = context.index.parents[node]
    if isinstance(parent, ast.BinOp):
        return not isinstance(parent.op, ast.MatMult) and _ends(context, parent, names, seen)
    if isinstance(parent, ast.UnaryOp):
        return not isinstance(parent.op, ast.Not) and _ends(context, parent, names, seen)
    if isinstance(parent, ast.Assign) and parent.value is node:
        return _all_end(context, parent, names, seen)
    if isinstance(parent, ast.Attribute):
        if parent.attr in _TOLD:
            return True
        call = context.index.parents[parent]
        if not isinstance(call, ast.Call) or call.func is not parent:
            return parent.attr == "data" and _ends(context, parent, names, seen)
        if parent.attr in _REDUCED and not call.args and not call.keywords:
            return True
        return _goes_on(call, parent.attr, 0) and _ends(context, call, names, seen)
    if not isinstance(parent, ast.Call) or node not in parent.args:
        return False
    library = (context.resolve(parent.func) or "").startswith("torch.")
    name = last_name(parent.func) or ""
    if library and name in _REDUCED and len(parent.args) == 1 and not parent.keywords:
        return True
    if not library and name == "type_as":
        return True
    if not library and name == "gather":  # `weights.gather(0, label)`: one for each label
        return parent.args.index(node) == 1 and _ends(context, parent, names, seen)
    known = _goes_on(parent, name, 1 if library else 0)
    return known and _ends(context, parent, names, seen)


def _goes_on(call: ast.Call, name: str, first: int) -> bool:
    """Whether a function, or a method where `first` is 0, works on each row by itself."""
    if name in _FLAT:
        return len(call.args) == first + 1 and _number(call.args[first]) == -1
    if name in _ALONG_ROWS:
        along = argument(call, first, "dim")
        return along is not None and _number(along) not in (None, 0)
    return name in _BY_ELEMENT


def _number(node: ast.expr) -> int | None:
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    value = getattr(node.operand if isinstance(node, ast.UnaryOp) else node, "value", None)
    return (-value if negative else value) if isinstance(value, int) else None


def _all_end(context: Context, parent: ast.Assign, names: int, seen: set[ast.AST]) -> bool:
    """Whether all reads of the name that is given a value end so."""
    target = parent.targets[0] if len(parent.targets) == 1 else None
    if not isinstance(target, ast.Name) or not names:
        return False
    if parent in seen:
        return True
    seen.add(parent)
    uses = list(reads_of(context, target))
    return bool(uses) and all(_ends(context, use, names - 1, seen) for use in uses)
