"""Entries of a checkpoint that meet tensors: `checkpoint["table"][labels]` takes rows by a tensor,
and `label in checkpoint["known"]` compares one with each. They have to be where that is."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.patterns.followed_values import is_table
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.values.values import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_PLAIN = (Kind.NUMBER, Kind.STRING, Kind.FLAG)
_OF_KEYS = frozenset(
    {"range", "enumerate", "keys", "items", "named_parameters", "named_modules", "named_buffers"}
    | {"state_dict", "named_children", "sorted"}
)
"""Calls that give a loop the keys of a table, or numbers."""
_ON_HOST = frozenset({"cpu", "item", "tolist", "numpy", "int", "str", "len"})
_OF_TEXT = frozenset({"replace", "format", "join", "split", "strip", "lower", "removeprefix"})


def takes_rows(context: Context, part: ast.Subscript) -> bool:
    """Whether a part is taken by a tensor, of what may be one itself."""
    kind = context.values.of(part.slice).kind
    if kind is Kind.TENSOR:
        return True
    return (
        _is_entry(part.value)
        and not is_table(context, part.value)
        and _may_be_a_tensor(context, part.slice)
    )


def seeks_tensor(context: Context, test: ast.Compare) -> bool:
    """Whether `x in known` may ask a tensor for a tensor."""
    if not isinstance(test.ops[0], ast.In | ast.NotIn):
        return False
    if context.values.of(test.left).kind is Kind.TENSOR:
        return True
    known = test.comparators[0]
    if is_table(context, known) or _is_read_by_keys(context, known):
        return False
    return _may_be_a_tensor(context, test.left)


def meets_tensor(context: Context, node: ast.expr) -> bool:
    """Whether an entry is taken by a tensor, or asked for one."""
    parent = context.index.parents[node]
    if isinstance(parent, ast.Subscript) and parent.value is node:
        return takes_rows(context, parent)
    return (
        isinstance(parent, ast.Compare)
        and node in parent.comparators
        and _is_entry(node)
        and seeks_tensor(context, parent)
    )


def _is_entry(node: ast.expr) -> bool:
    """`checkpoint["table"]`"""
    key = node.slice if isinstance(node, ast.Subscript) else None
    if isinstance(node, ast.Call) and last_name(node.func) in ("get", "pop") and node.args:
        key = node.args[0]
    return isinstance(key, ast.Constant) and isinstance(key.value, str)


def _is_read_by_keys(context: Context, node: ast.expr) -> bool:
    """Whether the function around reads `node["model"]`, so that it is a table."""
    spelled, function = ast.unparse(node), context.index.function(node)
    return any(
        ast.unparse(item.value) == spelled and context.index.function(item) is function
        for item in context.index.of(ast.Subscript)
        if _is_entry(item)
    )


def _may_be_a_tensor(context: Context, node: ast.expr) -> bool:
    if context.values.of(node).kind in _PLAIN or isinstance(node, ast.Constant | ast.JoinedStr):
        return False
    if isinstance(node, ast.Slice):
        parts = (node.lower, node.upper, node.step)
        return any(part is not None and _may_be_a_tensor(context, part) for part in parts)
    if isinstance(node, ast.Tuple):
        return any(_may_be_a_tensor(context, item) for item in node.elts)
    if isinstance(node, ast.Call):
        return last_name(node.func) not in (_ON_HOST | _OF_TEXT)
    if isinstance(node, ast.BinOp):
        return _may_be_a_tensor(context, node.left) and _may_be_a_tensor(context, node.right)
    if isinstance(node, ast.Name):
        bindings = context.flow.reaching(node)
        return not bindings or not all(_is_key(context, one.node) for one in bindings)
    return isinstance(node, ast.Subscript | ast.Attribute)


def _is_key(context: Context, bound: ast.AST) -> bool:
    """Whether a name is given the keys of a table, or numbers, by a loop."""
    loop = bound
    for parent in (bound, *context.index.ancestors(bound)):
        if isinstance(parent, ast.For | ast.comprehension):
            loop = parent
            break
        if isinstance(parent, ast.stmt):
            return False
    given = loop.iter if isinstance(loop, ast.For | ast.comprehension) else None
    return isinstance(given, ast.Call) and last_name(given.func) in _OF_KEYS
