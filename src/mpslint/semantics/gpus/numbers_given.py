"""The number of a GPU that something is moved to, and what keeps it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import arguments_for, is_path, root_of
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.terms.value import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.syntax.index import FunctionNode

_ASSIGNED = ("assign", "annotate")
_DEVICES = frozenset({Kind.DEVICE, Kind.DEVICE_STRING, Kind.STRING, Kind.TENSOR})
_KNOWN = "numbers of GPUs by what names them"
_STORES = "stores of attributes that may keep a number"
_CLASSES = "classes by name"
_KEEPING = "attributes that methods keep their names in"


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

    @property
    def key(self) -> Key:
        """What is one for all moves to the same number."""
        return self.owner, self.kept_by, ast.unparse(self.value)


Key = tuple["FunctionNode | ast.Module | ast.ClassDef | None", "ast.stmt | None", str]


class Stores(NamedTuple):
    """All that a file gives an attribute of one name, put together once."""

    by_class: dict[ast.AST, list[ast.Attribute]]
    """Those in a class, for each one around them."""
    by_function: dict[ast.AST | None, list[ast.Attribute]]
    of: dict[str, set[ast.AST | None]]
    """The functions that give it to an object, by how they spell that."""
    others: list[ast.Attribute]
    """Those that give it to another object than `self`."""


def given_to(context: Context, call: ast.Call) -> ast.expr | None:
    """What a `.cuda(...)` is given."""
    if not isinstance(call.func, ast.Attribute) or context.resolve(call.func):
        return None
    given = arguments_for(call, 0, "device")
    return given[0] if len(given) == 1 else None


def number_of(context: Context, value: ast.expr) -> Given | None:
    """What names a number; None where it is a constant, worked out, or no number for certain."""
    known = context.memo.setdefault(_KNOWN, {})
    assert isinstance(known, dict)
    if value not in known:
        known[value] = _number_of(context, value)
    result: Given | None = known[value]
    return result


def _number_of(context: Context, value: ast.expr) -> Given | None:
    path = value.value if isinstance(value, ast.Subscript) else value
    if isinstance(value, ast.Subscript) and not isinstance(value.slice, ast.Constant):
        return None
    if not is_path(path) or context.values.of(value).kind in _DEVICES:
        return None
    root = root_of(path, ast.Attribute)
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
            if stores_of(context, path.attr).by_function:
                return unknown  # Its options are changed yet.
        return Given(value, owner, stores[0], function.body)
    return unknown


def _with_bases(context: Context, owner: ast.ClassDef) -> list[ast.ClassDef]:
    """A class, and those of the file that it builds on."""
    found = [owner]
    for one in found:
        names = {base.id for base in one.bases if isinstance(base, ast.Name)}
        found += [other for name in names for other in classes(context, name) if other not in found]
    return found


def classes(context: Context, name: str) -> list[ast.ClassDef]:
    """The classes of a file that are called so."""
    if _CLASSES not in context.memo:
        by_name: dict[str, list[ast.ClassDef]] = {}
        for one in context.index.of(ast.ClassDef):
            by_name.setdefault(one.name, []).append(one)
        context.memo[_CLASSES] = by_name
    known = context.memo[_CLASSES]
    assert isinstance(known, dict)
    found: list[ast.ClassDef] = known.get(name, [])
    return found


def stores_of(context: Context, name: str) -> Stores:
    known = context.memo.setdefault(_STORES, {})
    assert isinstance(known, dict)
    if name not in known:
        found = known[name] = Stores({}, {}, {}, [])
        for use in context.index.attributes.get(name, ()):
            if isinstance(use.ctx, ast.Load):
                continue
            function = context.index.function(use)
            found.by_function.setdefault(function, []).append(use)
            found.of.setdefault(ast.unparse(use.value), set()).add(function)
            if ast.unparse(use.value) != "self":
                found.others.append(use)
            for around in context.index.ancestors(use):
                if isinstance(around, ast.ClassDef):
                    found.by_class.setdefault(around, []).append(use)
    result: Stores = known[name]
    return result


def _stores(context: Context, owner: ast.ClassDef, name: str) -> list[ast.Assign] | None:
    """The statements of a class that give its objects an attribute; None where one does so in a
    way that is not understood."""
    found: list[ast.Assign] = []
    for use in stores_of(context, name).by_class.get(owner, ()):
        statement = context.index.parents[use]
        if isinstance(statement, ast.Assign) and use in statement.targets:
            found.append(statement)
        else:
            return None
    return found


def _kept_beside(context: Context, root: ast.Name, value: ast.expr) -> Given | None:
    """`gpu` in the method that has said `self.gpu = gpu` before, and `args.gpu` behind `self.args =
    args`: what the object keeps."""
    function = context.index.function(root)
    owner = context.index.parents[function] if function is not None else None
    if function is None or not isinstance(owner, ast.ClassDef):
        return None
    if len(context.names.bindings(root.id, root)) != 1:
        return None
    kept = _kept_names(context, function).get(root.id)
    if kept is None or kept[0].lineno >= root.lineno:
        return None
    text = f"self.{kept[1]}{ast.unparse(value).removeprefix(root.id)}"
    own = ast.copy_location(ast.parse(text, mode="eval").body, value)
    return _of_object(context, own, owner)


def _kept_names(context: Context, function: FunctionNode) -> dict[str, tuple[ast.stmt, str]]:
    """The names that a method gives an attribute of its object first of all, and which one."""
    known = context.memo.setdefault(_KEEPING, {})
    assert isinstance(known, dict)
    if function not in known:
        known[function] = {}
        for statement in function.body:
            if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
                continue
            target, kept = statement.targets[0], statement.value
            if isinstance(target, ast.Attribute) and isinstance(kept, ast.Name):
                if ast.unparse(target.value) == "self":
                    known[function].setdefault(kept.id, (statement, target.attr))
    result: dict[str, tuple[ast.stmt, str]] = known[function]
    return result


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
    function = owner if isinstance(owner, FUNCTIONS) else None
    stores = stores_of(context, attribute.attr)
    if stores.of.get(root.id, set()) - {function}:
        return None
    return [_in_body(context, use, owner) for use in stores.by_function.get(function, ())]
