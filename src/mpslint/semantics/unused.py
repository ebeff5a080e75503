"""Functions of a script that nothing runs."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from mpslint.semantics.index import FUNCTIONS, FunctionNode
from mpslint.semantics.value_syntax import is_main_test

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_TRIAL = re.compile(r"_?(test|try|demo|debug|old|tmp|unused)(_|$)")


def never_runs(context: Context, node: ast.AST) -> bool:
    """Whether `node` stands in a function of a script that the script does not mention again.

    A file that works when it is imported is a script: no other file has the function from it.
    Behind `if __name__ == "__main__"` it may be a library as well, and only what is named as a
    trial (`test`, `demo`) counts.
    """
    outermost = _outermost(context, node)
    if outermost is None or outermost.decorator_list:
        return False
    name = outermost.name
    if context.index.names.get(name) or any(item.value == name for item in context.index.strings):
        return False
    if _TRIAL.match(name) and has_main(context):
        return True
    return _runs_on_import(context)


def never_read(context: Context, name: ast.Name) -> bool:
    """Whether a script gives a name of its module a value, and reads it nowhere."""
    if context.index.enclosing(name, *FUNCTIONS, ast.ClassDef) is not None:
        return False
    if any(isinstance(use.ctx, ast.Load) for use in context.index.names.get(name.id, ())):
        return False
    if any(text.value == name.id for text in context.index.strings):
        return False
    return has_main(context) or _runs_on_import(context)


def _outermost(context: Context, node: ast.AST) -> FunctionNode | None:
    """The function of the module around `node`; None in a class or outside functions."""
    for parent in context.index.ancestors(node):
        if isinstance(parent, FUNCTIONS) and isinstance(context.index.parents[parent], ast.Module):
            return parent
    return None


def has_main(context: Context) -> bool:
    """Whether the file is a program, by its test of `__name__`."""
    return any(isinstance(item, ast.If) and is_main_test(item.test) for item in context.tree.body)


def _runs_on_import(context: Context) -> bool:
    """Whether the module itself calls one of its functions, outside a test of `__name__`."""
    known = context.memo.get("runs-on-import")
    if known is None:
        defined = {item.name for item in context.tree.body if isinstance(item, FUNCTIONS)}
        known = context.memo["runs-on-import"] = any(
            isinstance(call, ast.Expr)
            and isinstance(call.value, ast.Call)
            and isinstance(call.value.func, ast.Name)
            and call.value.func.id in defined
            for item in context.tree.body
            for call in ([item] if isinstance(item, ast.Expr) else getattr(item, "body", ()))
            if isinstance(item, ast.Expr | ast.With | ast.For | ast.Try)
        )
    return bool(known)
