"""Lines that no run comes to, since a statement before them names what nobody has defined: that
raises `NameError` on every machine.

A name that Python 2 has is none of these: who ports such a program mends that first.
"""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from mpslint.opening import is_notebook
from mpslint.semantics.index import SCOPE_NODES, children

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.semantics.context import Context

_KNOWN = frozenset(dir(builtins)) | {
    "__file__",
    "__path__",
    "__annotations__",
    "__builtins__",
    "__module__",
    "__qualname__",
    "__class__",
    "WindowsError",
    "reveal_type",
}
# Fact: names that IPython, Databricks, gettext and line profilers put in.
_OF_TOOLS = frozenset({"get_ipython", "display", "get_config", "spark", "dbutils", "sc", "_"}) | {
    "profile"
}
# Fact: builtins of Python 2 alone.
_OF_PYTHON_2 = frozenset(
    {"xrange", "unicode", "raw_input", "basestring", "long", "reduce", "unichr", "file", "cmp"}
    | {"execfile", "apply", "buffer", "intern", "coerce", "reload", "StandardError"}
)
_DEFINING = ("exec", "globals", "locals", "vars", "setattr", "run_path", "execfile", "install")
"""What may give a module names that nobody sees."""
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def never_arrives(context: Context, row: int) -> bool:
    unknown = _unknown(context)
    if not unknown:
        return False
    for use in (use for name in unknown for use in context.index.names[name]):
        statement = context.index.statement(use)
        place = context.index.place(statement)
        if place is None or statement.lineno >= row or use not in set(_evaluated(statement)):
            continue
        block = place[0]
        last = block[-1].end_lineno or 0
        if (statement.end_lineno or 0) < row <= last or (
            isinstance(statement, ast.For | ast.While | ast.If | ast.With)
            and row <= last
            and use.lineno < row
        ):
            return True
    return False


def _unknown(context: Context) -> frozenset[str]:
    """Names that the file reads, and that neither it nor Python defines."""
    known = context.memo.get("unknown names")
    if known is None:
        known = context.memo["unknown names"] = _looked_for(context)
    assert isinstance(known, frozenset)
    return known


def _looked_for(context: Context) -> frozenset[str]:
    index = context.index
    if is_notebook(context.source.path) or any(name in index.calls for name in _DEFINING):
        return frozenset()
    if any(item.names[0].name == "*" for item in index.of(ast.ImportFrom)):
        return frozenset()
    left = set(index.names) - _KNOWN - _OF_TOOLS - _OF_PYTHON_2
    if left:
        left -= {name for name, _ in context.names.every_binding()}
    return frozenset(
        name for name in left if all(isinstance(use.ctx, ast.Load) for use in index.names[name])
    )


def _evaluated(statement: ast.stmt) -> Iterator[ast.AST]:
    """What a statement reads whatever comes out on the way."""
    todo: list[ast.AST]
    if isinstance(statement, ast.If | ast.While):
        todo = [statement.test]
    elif isinstance(statement, ast.For):
        todo = [statement.iter]
    elif isinstance(statement, ast.With):
        todo = [statement.items[0].context_expr]
    elif isinstance(statement, ast.Expr | ast.Assign | ast.AugAssign):
        todo = [statement.value]
    else:
        return
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, ast.BoolOp):
            todo.append(node.values[0])
        elif isinstance(node, ast.IfExp):
            todo.append(node.test)
        elif isinstance(node, _COMPREHENSIONS):
            todo.append(node.generators[0].iter)
        elif not isinstance(node, SCOPE_NODES):
            todo += children(node)
