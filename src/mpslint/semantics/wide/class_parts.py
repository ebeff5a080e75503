"""Parts of classes and functions, and what expressions take out of what is known."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from mpslint.semantics.syntax.index import FUNCTIONS, walk
from mpslint.semantics.syntax.methods import method_of
from mpslint.semantics.syntax.parameters import explicit_parameters
from mpslint.semantics.wide.sample_values import (
    ANY,
    NARROW,
    PLAIN,
    WHOLE,
    Table,
    Value,
    each,
    part,
)

Function = ast.FunctionDef | ast.AsyncFunctionDef
_ANNOTATED = {"int": WHOLE, "str": WHOLE, "bool": WHOLE, "float": PLAIN, "Tensor": NARROW}


def item(value: Value | None, at: ast.expr) -> Value | None:
    if isinstance(at, ast.Slice):
        return value
    if _is_whole(at):
        return part(value, int(ast.unparse(at)))
    if isinstance(at, ast.Constant) and isinstance(at.value, str) and isinstance(value, Table):
        return value.keys.get(at.value, ANY)
    return each(value)


def _is_whole(node: ast.expr) -> bool:
    inner = node.operand if isinstance(node, ast.UnaryOp) else node
    is_sign = not isinstance(node, ast.UnaryOp) or isinstance(node.op, ast.USub)
    return is_sign and isinstance(inner, ast.Constant) and type(inner.value) is int


def spread(target: ast.expr, value: Value | None) -> Iterator[tuple[str, Value | None]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple | ast.List):
        for at, one in enumerate(target.elts):
            yield from spread(one, part(value, at))


def parts_named(klass: ast.ClassDef) -> frozenset[str]:
    """The methods, fields and attributes of the objects of a class."""
    found = {one.name for one in klass.body if isinstance(one, FUNCTIONS)}
    for statement in klass.body:
        if isinstance(statement, ast.AnnAssign):
            found.add(ast.unparse(statement.target))
        elif isinstance(statement, ast.Assign):
            found |= {one.id for one in statement.targets if isinstance(one, ast.Name)}
    for node in walk(klass):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name) and node.value.id == "self":
                found.add(node.attr)
    return frozenset(found)


def inherited(
    classes: dict[str, ast.ClassDef], klass: ast.ClassDef, name: str, *, above: bool
) -> Function | None:
    """A method of a class, or of one that it is derived from in its file; that alone: `above`."""
    found = method_of(klass, name) if not above else None
    for base in klass.bases if found is None and name else ():
        other = classes.get(ast.unparse(base))
        if other is not None and other is not klass and found is None:
            found = method_of(other, name)
    return found


def is_static(method: Function) -> bool:
    return any(ast.unparse(one) == "staticmethod" for one in method.decorator_list)


def parameters(function: Function) -> list[str]:
    arguments = function.args
    return [one.arg for one in explicit_parameters(arguments)]


def annotated(node: ast.expr | None) -> str | None:
    if node is None:
        return None
    spelled = node.value if isinstance(node, ast.Constant) else ast.unparse(node)
    return _ANNOTATED.get(str(spelled).rpartition(".")[2])


def told_parts(node: ast.expr | None) -> list[str | None] | None:
    """What `-> tuple[Tensor, int]` says."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Tuple):
        return None
    return [annotated(one) for one in node.slice.elts]


_imported: WeakKeyDictionary[ast.Module, dict[str, str]] = WeakKeyDictionary()
"""Of the trees that somebody keeps."""


def imported_names(tree: ast.Module) -> dict[str, str]:
    """What the names of a file's imports stand for, but for those of its own project."""
    known = _imported.get(tree)
    if known is None:
        known = _imported[tree] = _imported_names(tree)
    return known


def _imported_names(tree: ast.Module) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                top = one.name.partition(".")[0]
                found[one.asname or top] = one.name if one.asname else top
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found.update(
                {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
            )
    return found


def qualified(node: ast.expr, modules: dict[str, str]) -> str:
    """The name of what is imported, by the names that imports give; empty: it is none."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in modules:
        return ""
    return ".".join((modules[node.id], *reversed(names)))
