"""Statements that do nothing but say what CUDA answers."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.saying import SAYING

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_ABOUT_CUDA = ("torch.cuda.", "torch.version.", "torch.backends.cudnn.")
_PLAIN = (
    ast.JoinedStr,
    ast.FormattedValue,
    ast.Constant,
    ast.BinOp,
    ast.operator,
    ast.Tuple,
    ast.List,
    ast.expr_context,
)
_SHAPING = frozenset({"str", "round", "int", "float", "format"})


def only_shown(context: Context, call: ast.Call) -> ast.Call | None:
    """The call of a statement that prints or logs the answer of `call`, and beside it nothing but
    texts and what else CUDA answers (`print("GPU:", torch.cuda.get_device_name())`): without CUDA
    there is nothing to say."""
    statement = context.index.statement(call)
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return None
    said = statement.value
    if said is call or not _says(context, said):
        return None
    shown = [*said.args, *(keyword.value for keyword in said.keywords)]
    return said if all(_is_about_cuda(context, one) for one in shown) else None


def shows_what_raises(context: Context, statement: ast.stmt) -> bool:
    """Whether a statement is such a one, and an answer in it is none on a Mac."""
    return any(
        context.worlds.breaks(one) and only_shown(context, one) is not None
        for one in ast.walk(statement)
        if isinstance(one, ast.Call) and (context.resolve(one.func) or "").startswith("torch.cuda.")
    )


def _says(context: Context, call: ast.Call) -> bool:
    if isinstance(call.func, ast.Name):
        return call.func.id == "print" and not context.names.bindings("print", call.func)
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr in SAYING
        and isinstance(call.func.value, ast.Name | ast.Attribute)
    )


def _is_about_cuda(context: Context, node: ast.AST) -> bool:
    """Whether an expression holds texts, numbers, and answers of CUDA alone."""
    if isinstance(node, ast.Call):
        name = context.resolve(node.func) or ""
        if name.startswith(_ABOUT_CUDA):
            return True  # Whatever is asked about.
        if isinstance(node.func, ast.Attribute) and node.func.attr == "format":
            inner: list[ast.AST] = [node.func.value]
        elif isinstance(node.func, ast.Name) and node.func.id in _SHAPING:
            inner = []
        else:
            return False
        inner += [*node.args, *(keyword.value for keyword in node.keywords)]
        return all(_is_about_cuda(context, one) for one in inner)
    if isinstance(node, ast.Attribute):
        name = context.resolve(node) or ""
        return name.startswith(_ABOUT_CUDA) or _is_about_cuda(context, node.value)
    return isinstance(node, _PLAIN) and all(
        _is_about_cuda(context, one) for one in ast.iter_child_nodes(node)
    )
