"""The number of a GPU that something is moved to, and what keeps it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.index import FUNCTIONS
from mpslint.semantics.value import Kind
from mpslint.semantics.value_syntax import is_path

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.index import FunctionNode

_ASSIGNED = ("assign", "annotate")
_DEVICES = frozenset({Kind.DEVICE, Kind.DEVICE_STRING, Kind.STRING, Kind.TENSOR})


class Given(NamedTuple):
    """A number that is not written out, as it stands at a move."""

    value: ast.expr
    owner: FunctionNode | ast.Module | ast.ClassDef | None
    """What has it: the class whose objects keep it, else whose name it is, or begins with. None:
    it gets more than one value there."""
    kept_by: ast.stmt | None
    """The statement that gives it its value; None: it is a parameter's."""
    block: list[ast.stmt]
    """The statements among which that is."""

    def same_as(self, other: Given) -> bool:
        if self.owner is not other.owner or self.kept_by is not other.kept_by:
            return False
        return ast.unparse(self.value) == ast.unparse(other.value)


def given_to(context: Context, call: ast.Call) -> ast.expr | None:
    """What a `.cuda(...)` is given."""
    if not isinstance(call.func, ast.Attribute) or context.resolve(call.func):
        return None
    given = [*call.args[:1], *(one.value for one in call.keywords if one.arg == "device")]
    return given[0] if len(given) == 1 else None


def number_of(context: Context, value: ast.expr) -> Given | None:
    """What names a number; None where it is a constant, worked out, or no number for certain."""
    path = value.value if isinstance(value, ast.Subscript) else value
    if isinstance(value, ast.Subscript) and not isinstance(value.slice, ast.Constant):
        return None
    if not is_path(path) or context.values.of(value).kind in _DEVICES:
        return None
    root = path
    while isinstance(root, ast.Attribute):
        root = root.value
    assert isinstance(root, ast.Name)
    if isinstance(path, ast.Name) or root.id != "self":
        own = _kept_beside(context, root, value)
        return own if own is not None else _of_name(context, root, value)
    around = context.index.enclosing(value, ast.ClassDef)
    if not isinstance(around, ast.ClassDef):
        return Given(value, None, None, [])
    return _of_object(context, value, around)


def _of_object(context: Context, value: ast.expr, around: ast.ClassDef) -> Given:
    """`self.gpu`, `self.args.gpu`: what one statement of the class gives its objects."""
    unknown = Given(value, None, None, [])
    path = value.value if isinstance(value, ast.Subscript) else value
    attribute = path
    while isinstance(attribute, ast.Attribute) and isinstance(attribute.value, ast.Attribute):
        attribute = attribute.value
    if not isinstance(attribute, ast.Attribute):
        return unknown
    for owner in _with_bases(context, around):
        stores = _stores(context, owner, attribute.attr)
        if stores is None or len(stores) > 1:
            return unknown
        if not stores:
            continue
        function = context.index.function(stores[0])
        if function is None or stores[0] not in function.body:
            return unknown
        if isinstance(path, ast.Attribute) and path is not attribute:
            if _is_stored(context, path.attr):
                return unknown  # Its options are changed yet.
        return Given(value, owner, stores[0], function.body)
    return unknown


def _with_bases(context: Context, owner: ast.ClassDef) -> list[ast.ClassDef]:
    """A class, and those of the file that it builds on."""
    found = [owner]
    for one in found:
        names = {base.id for base in one.bases if isinstance(base, ast.Name)}
        found += [
            other
            for other in context.index.of(ast.ClassDef)
            if other.name in names and other not in found
        ]
    return found


def _stores(context: Context, owner: ast.ClassDef, name: str) -> list[ast.Assign] | None:
    """The statements of a class that give its objects an attribute; None where one does so in a
    way that is not understood."""
    found: list[ast.Assign] = []
    for use in context.index.attributes.get(name, ()):
        if not isinstance(use.ctx, ast.Store) or not context.index.within(use, owner):
            continue
        statement = context.index.parents[use]
        if isinstance(statement, ast.Assign) and use in statement.targets:
            found.append(statement)
        else:
            return None
    return found


def _is_stored(context: Context, name: str) -> bool:
    return any(isinstance(one.ctx, ast.Store) for one in context.index.attributes.get(name, ()))


def _kept_beside(context: Context, root: ast.Name, value: ast.expr) -> Given | None:
    """`gpu` in the method that has said `self.gpu = gpu` before, and `args.gpu` behind `self.args =
    args`: what the object keeps."""
    function = context.index.function(root)
    owner = context.index.parents[function] if function is not None else None
    if function is None or not isinstance(owner, ast.ClassDef):
        return None
    if len(context.names.bindings(root.id, root)) != 1:
        return None
    for statement in function.body:
        if statement.lineno >= root.lineno:
            return None
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target, kept = statement.targets[0], statement.value
        if not isinstance(kept, ast.Name) or kept.id != root.id:
            continue
        if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
            text = f"self.{target.attr}{ast.unparse(value).removeprefix(root.id)}"
            own = ast.copy_location(ast.parse(text, mode="eval").body, value)
            return _of_object(context, own, owner)
    return None


def _of_name(context: Context, root: ast.Name, value: ast.expr) -> Given | None:
    unknown = Given(value, None, None, [])
    bindings = context.names.bindings(root.id, root)
    scope = context.names.owner(root.id, root)
    owner = scope.node if scope is not None else None
    if not bindings or not isinstance(owner, (*FUNCTIONS, ast.Module)):
        return unknown
    stored = _stored_options(context, root, value, owner)
    if stored is None:
        return unknown
    if len(bindings) == 1 and bindings[0].kind in _ASSIGNED:
        statement = context.index.statement(bindings[0].node)
        block = context.index.block(statement)
        if any(one not in block for one in stored):
            return unknown
        stored.append(statement)
    elif len(bindings) == 1 and bindings[0].kind == "parameter":
        block = owner.body
    else:
        # It gets one value after another: what comes behind them all reads the last.
        block = owner.body
        for binding in bindings:
            if binding.kind not in (*_ASSIGNED, "parameter"):
                return unknown
            if binding.kind != "parameter":
                stored.append(_in_body(context, binding.node, owner))
    return Given(value, owner, max(stored, key=lambda one: one.lineno, default=None), block)


def _in_body(context: Context, node: ast.AST, owner: FunctionNode | ast.Module) -> ast.stmt:
    """The statement of the owner's own block that a node stands in."""
    statement = context.index.statement(node)
    while context.index.parents[statement] is not owner:
        statement = context.index.statement(context.index.parents[statement])
    return statement


def _stored_options(
    context: Context, root: ast.Name, value: ast.expr, owner: FunctionNode | ast.Module
) -> list[ast.stmt] | None:
    """The statements of the owner's own block that give an option another value: `args.gpu = 0`;
    None where another function does, or one that may not run."""
    attribute = value.value if isinstance(value, ast.Subscript) else value
    if not isinstance(attribute, ast.Attribute):
        return []
    found: list[ast.stmt] = []
    function = owner if isinstance(owner, FUNCTIONS) else None
    for use in context.index.attributes.get(attribute.attr, ()):
        if not isinstance(use.ctx, ast.Store):
            continue
        if context.index.function(use) is function:
            found.append(_in_body(context, use, owner))
        elif ast.unparse(use.value) == root.id:
            return None
    return found
