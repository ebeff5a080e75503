"""Devices that a record of the project's own only keeps: `Device("a100", kind="cuda")`, where
nobody places anything with `kind`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import last_name, maker
from mpslint.semantics.syntax.methods import method_of
from mpslint.semantics.uses.config_keys import Key, places_by

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_RECORD = "dataclass"
_OWNER = "self"
# Fact: the module `dataclasses`, and `vars`: all that an object keeps, for whoever takes it.
_AS_A_WHOLE = ("asdict", "astuple", "vars")


def is_label(context: Context, node: ast.expr) -> bool:
    """Whether a text is given to objects of classes that keep it under an attribute which nobody in
    the project reads to place something, and does nothing else."""
    if context.elsewhere is None or not isinstance(node, ast.Constant):
        return False
    uses: list[ast.expr] = [*_uses(context, node)]
    return all(_is_kept(context, use) for use in uses or [node])


def _uses(context: Context, node: ast.expr) -> list[ast.Name]:
    """Where the name of the module is read that is all that is bound to the text."""
    statement = context.index.parents.get(node)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return []
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or context.index.function(statement) is not None:
        return []
    assert context.elsewhere is not None
    uses = context.index.names.get(target.id, ())
    if context.elsewhere.takes(context.source.path, target.id):
        return []
    if sum(not isinstance(use.ctx, ast.Load) for use in uses) != 1:
        return []
    return [use for use in uses if isinstance(use.ctx, ast.Load)]


def _is_kept(context: Context, given: ast.expr) -> bool:
    call = context.index.parents.get(given)
    keyword = call.arg if isinstance(call, ast.keyword) else None
    if isinstance(call, ast.keyword):
        call = context.index.parents.get(call)
    if not isinstance(call, ast.Call) or any(isinstance(item, ast.Starred) for item in call.args):
        return False
    found = _class_of(context, call.func)
    if found is None:
        return False
    home, cls = found
    fields = dict(_fields(cls))
    if keyword is None:
        if given not in call.args or call.args.index(given) >= len(fields):
            return False
        keyword = list(fields)[call.args.index(given)]
    attribute = fields.get(keyword)
    return bool(attribute) and _places_nothing(context, home, attribute or "")


def _places_nothing(context: Context, home: Context, attribute: str) -> bool:
    """A key that is not known to be one of several is one by which tensors are asked as well."""
    key = Key((attribute,), None, True, False)
    assert context.elsewhere is not None
    if any(one.index.calls.get(name) for one in (context, home) for name in _AS_A_WHOLE):
        return False
    if places_by(context, key) or places_by(home, key):
        return False
    return not context.elsewhere.reads_key(context.source.path, key)


def _class_of(context: Context, called: ast.expr) -> tuple[Context, ast.ClassDef] | None:
    """A class of the project that has no base of somebody else's."""
    home, bindings = context, []
    if isinstance(called, ast.Name):
        bindings = context.names.bindings(called.id, called)
    if len(bindings) != 1 or bindings[0].kind == "import":
        name = context.resolve(called)
        found = context.definition_elsewhere(name) if name is not None else None
        if found is None:
            return None
        home, bindings = found.context, list(found.bindings)
    cls = bindings[0].node if len(bindings) == 1 else None
    if not isinstance(cls, ast.ClassDef) or cls.bases or cls.keywords:
        return None
    return home, cls


def _fields(cls: ast.ClassDef) -> Iterator[tuple[str, str]]:
    """What an object takes, in order, and the attributes that keep it; nothing for what does more
    than to keep."""
    if any(last_name(maker(decorator)) == _RECORD for decorator in cls.decorator_list):
        for item in cls.body:
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                yield item.target.id, item.target.id
        return
    made = method_of(cls, "__init__")
    if made is None or cls.decorator_list:
        return
    kept = dict(_kept_by(made.body))
    uses = [item.id for item in ast.walk(made) if isinstance(item, ast.Name)]
    for parameter in made.args.args[1:]:
        name = parameter.arg
        yield name, kept.get(name, "") if uses.count(name) == 1 else ""


def _kept_by(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    """`self.name, self.device = name, device`"""
    for statement in body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        target, value = statement.targets[0], statement.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = list(zip(target.elts, value.elts, strict=False))
        for one, given in pairs:
            if (
                isinstance(one, ast.Attribute)
                and isinstance(one.value, ast.Name)
                and one.value.id == _OWNER
                and isinstance(given, ast.Name)
            ):
                yield given.id, one.attr
