"""Selections by a mask that an object makes once and keeps: `scores[self.mask]`.

Such a mask selects the same at each step. To index by it the host counts again what it holds, and
waits, be the mask on the device or on the host; the places that it selects, kept as numbers, do not
ask for that.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import keyword, last_name
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.methods import only_method_of_self
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.uses.own_attributes import is_stored_outside_init

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_STEPS_FOLLOWED = 6
"""`self.mask = self.made(n).type(torch.bool)`, and what the method hands back: a name that is
bound a few times."""
_BOOLS = frozenset({"torch.bool", "numpy.bool_", "numpy.bool"})
_CASTS = frozenset({"type", "to"})
_KEEPING = frozenset(
    {"to", "cuda", "detach", "clone", "fill_diagonal_", "view", "reshape", "repeat", "t", "T"}
    | {"unsqueeze", "squeeze", "expand", "contiguous", "scatter_", "index_fill_", "triu", "tril"}
)
_OF_TORCH = frozenset({"torch.triu", "torch.tril", "torch.logical_not", "torch.clone"})
_MADE_OF = frozenset({"torch.nn.Parameter", "torch.nn.Buffer"})


def selected_by_kept(
    context: Context, runs: Callable[[ast.AST], bool]
) -> Iterator[tuple[ast.Subscript, ast.Attribute]]:
    """Such selections in what runs again and again, with the mask."""
    for read in context.index.of(ast.Subscript):
        mask = read.slice
        if not isinstance(read.ctx, ast.Load) or not isinstance(mask, ast.Attribute):
            continue
        if not isinstance(mask.value, ast.Name) or mask.value.id != "self":
            continue
        if context.values.of(read.value).on_cpu or not runs(read):
            continue
        if is_kept(context, mask):
            yield read, mask


def is_kept(context: Context, mask: ast.Attribute) -> bool:
    """Whether `__init__` alone gives the object this attribute, and gives it a mask."""
    owner = context.index.enclosing(mask, ast.ClassDef)
    if not isinstance(owner, ast.ClassDef) or is_stored_outside_init(context, mask):
        return False
    if any(map(partial(_is_changed, context), context.index.attributes.get(mask.attr, ()))):
        return False
    given = list(_given(context, owner, mask.attr))
    return bool(given) and all(_is_mask(context, item, _STEPS_FOLLOWED) for item in given)


def _is_changed(context: Context, use: ast.Attribute) -> bool:
    """Whether what an object keeps is changed where it lies, or given by somebody else."""
    if not isinstance(use.ctx, ast.Load):
        return not (isinstance(use.value, ast.Name) and use.value.id == "self")
    function, around = context.index.function(use), context.index.parents[use]
    if isinstance(function, FUNCTIONS) and function.name == "__init__":
        return False
    if isinstance(around, ast.Subscript):
        return around.value is use and not isinstance(around.ctx, ast.Load)
    if not isinstance(around, ast.Attribute) or around.value is not use:
        return False
    return around.attr.endswith("_") and not around.attr.endswith("__")


def _given(context: Context, owner: ast.ClassDef, name: str) -> Iterator[ast.expr | None]:
    """What the class gives an attribute of its objects, be it as a buffer."""
    for use in context.index.attributes.get(name, ()):
        if isinstance(use.ctx, ast.Store) and context.index.within(use, owner):
            statement = context.index.parents[use]
            yield statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
    for call in context.index.calls.get("register_buffer", ()):
        if context.index.within(call, owner) and call.args:
            named = call.args[0]
            if isinstance(named, ast.Constant) and named.value == name:
                yield call.args[1] if len(call.args) > 1 else keyword(call, "tensor")


def _is_mask(context: Context, node: ast.expr | None, steps: int) -> bool:
    """Whether a tensor that is made so holds truths."""
    if node is None or not steps:
        return False
    if isinstance(node, ast.Compare):
        return context.values.of(node).kind is Kind.TENSOR
    if isinstance(node, ast.UnaryOp):
        return isinstance(node.op, ast.Invert) and _is_mask(context, node.operand, steps - 1)
    if isinstance(node, ast.BinOp):
        joined = isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor)
        return joined and _is_mask(context, node.left, steps - 1)
    if isinstance(node, ast.Name):
        given = [binding.value for binding in context.flow.reaching(node)]
        return bool(given) and all(_is_mask(context, item, steps - 1) for item in given)
    return isinstance(node, ast.Call) and _makes_mask(context, node, steps)


def _makes_mask(context: Context, call: ast.Call, steps: int) -> bool:
    dtype = keyword(call, "dtype")
    name = last_name(call.func) or ""
    if dtype is None and name in _CASTS and len(call.args) == 1 and _is_bool(context, call.args[0]):
        return True
    if dtype is not None:
        return _is_bool(context, dtype)
    qualified = context.resolve(call.func) or ""
    if qualified in _OF_TORCH | _MADE_OF:
        return bool(call.args) and _is_mask(context, call.args[0], steps - 1)
    method = only_method_of_self(context.index, call.func)
    if method is not None:
        returns = context.index.returns(method)
        return bool(returns) and all(_is_mask(context, one.value, steps - 1) for one in returns)
    if not isinstance(call.func, ast.Attribute) or qualified:
        return False
    if name == "bool":
        return not call.args
    return name in _KEEPING and _is_mask(context, call.func.value, steps - 1)


def _is_bool(context: Context, node: ast.expr) -> bool:
    if isinstance(node, ast.Name) and node.id == "bool":
        return context.names.owner("bool", node) is None
    return context.resolve(node) in _BOOLS
