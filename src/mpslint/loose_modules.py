"""Modules that lie in no package, as scripts do: such a one is started by hand more often than one
of a package, and is named by its name alone.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.index import FUNCTIONS, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mpslint.taken_by_text import TakenByText
    from mpslint.whole import Whole

_TESTING = frozenset({"pytest", "unittest"})
"""Who collects tests from a file that it is given, whatever that is called."""


def does_work(tree: ast.Module) -> bool:
    """Whether a module does something when it is started, though it has no test of `__name__` and
    calls nothing for its own sake: a script that only gives names to what it gets, or a file of
    tests; or hands a function to what it has made (`@app.get`), which somebody else serves."""
    loose = list(_loose(tree.body))
    defined = {item.name for item in tree.body if isinstance(item, (*FUNCTIONS, ast.ClassDef))}
    made = {name for item in loose for name in _names(item)}
    for item in tree.body:
        if isinstance(item, (*FUNCTIONS, ast.ClassDef)):
            if any(_first(one) in made for one in item.decorator_list):
                return True
    return any(_works(item, defined) for item in loose)


def _loose(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module that run when it is loaded, those in the arms of others among
    them."""
    for item in body:
        if isinstance(item, ast.If):
            yield from _loose([*item.body, *item.orelse])
        elif isinstance(item, ast.Try):
            handled = [one for handler in item.handlers for one in handler.body]
            yield from _loose([*item.body, *handled, *item.orelse, *item.finalbody])
        elif not isinstance(item, (*FUNCTIONS, ast.ClassDef)):
            yield item


def _names(item: ast.stmt) -> set[str]:
    targets = item.targets if isinstance(item, ast.Assign) else ()
    return {target.id for target in targets if isinstance(target, ast.Name)}


def _works(item: ast.stmt, defined: set[str]) -> bool:
    if isinstance(item, ast.Import | ast.ImportFrom):
        if isinstance(item, ast.ImportFrom):
            return (item.module or "").partition(".")[0] in _TESTING
        return any(alias.name.partition(".")[0] in _TESTING for alias in item.names)
    if isinstance(item, ast.For | ast.While | ast.With):
        return True
    if isinstance(item, ast.Expr):
        return isinstance(item.value, ast.Call)
    calls = [node for node in walk(item) if isinstance(node, ast.Call)]
    if not defined:
        return bool(calls)
    return any(isinstance(call.func, ast.Name) and call.func.id in defined for call in calls)


def _first(node: ast.expr) -> str:
    """`app` of `@app.get("/")`."""
    while isinstance(node, ast.Call | ast.Attribute):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def is_named_by_some_text(whole: Whole, taken: TakenByText) -> bool:
    """Whether a module of a project imports others by texts that it does not have itself."""
    return any(map(taken.imports_any, whole.modules))
