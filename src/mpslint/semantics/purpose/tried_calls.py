"""Who tries what raises without CUDA, and by its error learns that there is none: where the error
no longer comes, he takes the way for CUDA."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import asks_for_name, last_name
from mpslint.semantics.syntax.giving_up import gives_up
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.saying import only_says
from mpslint.semantics.worlds.errors import kinds_of, may_catch

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_RAISED = ("AssertionError", "RuntimeError")
_EXPECTING = frozenset({"raises", "assertRaises", "assertRaisesRegex"})
_MAKING = frozenset({"__init__", "__new__", "__post_init__"})


class Learned(NamedTuple):
    """What a file makes of an error that somebody it calls raises."""

    by_error: bool
    """Somebody learns by it."""
    names: frozenset[str]
    """The functions, methods and classes that hand it on to who calls them."""
    by_import: bool
    """Who imports the file meets it."""


def learned_of(context: Context, node: ast.AST) -> Learned:
    """What the file itself makes of the error of an expression."""
    return _learned(context, [node], frozenset())


def learned_by(context: Context, names: frozenset[str], modules: frozenset[str]) -> Learned:
    """What another file makes of the errors of what has one of these names, or of modules that are
    imported."""
    imports = [
        one
        for kind in (ast.Import, ast.ImportFrom)
        for one in context.index.of(kind)
        if not modules.isdisjoint(_imported(one))
    ]
    return _learned(context, [*imports, *_calls(context, names)], names)


def _learned(context: Context, nodes: Iterable[ast.AST], names: frozenset[str]) -> Learned:
    found, left, by_import = set(names), list(nodes), False
    for node in left:
        if learns(context, node):
            return Learned(True, frozenset(found), by_import)
        by_import = by_import or _runs_on_import(context, node)
        new = set(_around(context, node)) - found
        found |= new
        left += _calls(context, new)
    return Learned(False, frozenset(found), by_import)


def learns(context: Context, node: ast.AST) -> bool:
    """Whether the function around a node tries it, and goes on otherwise where it raises."""
    child = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, (*FUNCTIONS, ast.Lambda)):
            return False
        if isinstance(parent, ast.Try) and child in parent.body:
            if any(_is_another_way(parent, child, handler) for handler in parent.handlers):
                return True
        if isinstance(parent, ast.With | ast.AsyncWith) and child in parent.body:
            if any(_is_expected(item.context_expr, parent, child) for item in parent.items):
                return True
        child = parent
    return False


def _is_another_way(tried: ast.Try, child: ast.AST, handler: ast.ExceptHandler) -> bool:
    """Whether a handler catches the error and goes on, and not only over the end of what is tried
    with a word of it."""
    if not _catches(kinds_of(handler.type)) or gives_up(handler.body):
        return False
    goes_over = child is tried.body[-1] and not tried.orelse
    return not (goes_over and all(map(only_says, handler.body)))


def _is_expected(given: ast.expr, around: ast.With | ast.AsyncWith, child: ast.AST) -> bool:
    """`with suppress(Exception):`, `with pytest.raises(AssertionError):`"""
    if not isinstance(given, ast.Call):
        return False
    name = last_name(given.func)
    kinds = [kinds_of(one) for one in given.args]
    if name in _EXPECTING:
        return any(map(_catches, kinds))
    return name == "suppress" and child is not around.body[-1] and any(map(_catches, kinds))


def _catches(kinds: frozenset[str]) -> bool:
    return any(may_catch(kinds, error) for error in _RAISED)


def _around(context: Context, node: ast.AST) -> Iterator[str]:
    """What is called so that a node runs: the function around it, and for what makes an object its
    class, and those derived from that."""
    function = context.index.function(node)
    if not isinstance(function, FUNCTIONS):
        return
    yield function.name
    klass = context.index.parents.get(function)
    if not isinstance(klass, ast.ClassDef) or function.name not in _MAKING:
        return
    makers = [klass.name]
    for name in makers:
        yield name
        makers += [
            one.name
            for one in context.index.of(ast.ClassDef)
            if one.name not in makers and name in map(last_name, one.bases)
        ]


def _calls(context: Context, names: Iterable[str]) -> Iterator[ast.Call]:
    for name in sorted(names):
        spelled = {name}
        for qualified, others in context.aliases.items():
            if qualified.rpartition(".")[2] == name:
                spelled |= others
        for one in sorted(spelled):
            yield from context.index.calls.get(one, ())


def _imported(node: ast.stmt) -> set[str]:
    assert isinstance(node, ast.Import | ast.ImportFrom)
    names = {part for alias in node.names for part in alias.name.split(".")}
    return names | set((getattr(node, "module", None) or "").split("."))


def _runs_on_import(context: Context, node: ast.AST) -> bool:
    if context.index.function(node) is not None:
        return False
    return not any(
        isinstance(parent, ast.If) and asks_for_name(parent.test)
        for parent in context.index.ancestors(node)
    )
