"""Where the name of a device is looked up among names that leave MPS out, and a third one raises.

`assert device.type in ("cpu", "cuda")`, an `else: raise` behind a test for each of the two,
`{"cpu": 1, "cuda": 2}[device.type]`, `Kind(device)` of an `Enum`: all of them were right as long as
nobody chose a third device.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.destinations.device_names import (
    Subject,
    backend_of,
    constants,
    is_closed,
    may_be_new,
    subject_of,
)
from mpslint.semantics.destinations.third_devices import unanswered
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.worlds.machines import MACS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.names.names import Binding

_ENUMS = ("Enum", "StrEnum")
_CUDA, _MPS = "cuda", "mps"


def closed_names(context: Context) -> Iterator[ast.AST]:
    """What raises where the device is none of those that it names, and a Mac comes there."""
    if _CUDA not in context.source.text:
        return
    seen: set[ast.AST] = set()
    for node in (
        *unanswered(context),
        *_looked_up(context),
        *_counted(context),
        *_made_of_names(context),
        *_numbers(context),
    ):
        if node not in seen and context.worlds.reach(node) & MACS:
            if not context.worlds.is_caught(node):
                seen.add(node)
                yield node


def _looked_up(context: Context) -> Iterator[ast.Subscript]:
    """`TABLE[device.type]`"""
    for node in context.index.of(ast.Subscript):
        if not isinstance(node.ctx, ast.Load) or isinstance(node.slice, ast.Constant | ast.Slice):
            continue
        keys = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        asked = map(subject_of, keys)
        named = [one for one in asked if one.is_device or _is_parameter(context, one)]
        subjects = [one for one in named if may_be_new(context, one)]
        held = _held(context, node.value) if subjects else None
        if held is not None:
            if is_closed(held):
                yield node
        elif any(one.is_typed for one in subjects) and _is_filled(context, node):
            yield node


def _is_parameter(context: Context, subject: Subject) -> bool:
    node = subject.node
    bindings = context.names.bindings(node.id, node) if isinstance(node, ast.Name) else []
    return bool(bindings) and all(one.kind == "parameter" for one in bindings)


def _held(context: Context, table: ast.expr) -> list[object] | None:
    """The keys of a table, where all that is bound to its name is written out."""
    if isinstance(table, ast.Dict):
        return constants(table)
    found: list[object] = []
    for value in _values(context, table):
        if not isinstance(value, ast.Dict):
            return None
        held = constants(value)
        if held is None:
            return None
        found += held
    name = last_name(table)
    for one in context.index.of(ast.Subscript):
        if isinstance(one.ctx, ast.Store) and last_name(one.value) == name:
            if not isinstance(one.slice, ast.Constant):
                return None
            found.append(one.slice.value)
    return found or None


def _values(context: Context, node: ast.expr) -> Iterator[ast.expr | None]:
    """What is bound to a name, be it of a class or of another file."""
    if isinstance(node, ast.Attribute):
        for statement in context.index.of(ast.Assign):
            for target in statement.targets:
                in_class = isinstance(context.index.parents.get(statement), ast.ClassDef)
                if last_name(target) == node.attr and (
                    in_class or isinstance(target, ast.Attribute)
                ):
                    yield statement.value
    elif isinstance(node, ast.Name):
        for one in _bindings(context, node):
            yield one.value


def _bindings(context: Context, node: ast.Name) -> list[Binding]:
    """What gives a name its value, be it in another file."""
    bindings = context.names.bindings(node.id, node)
    if all(one.kind == "import" for one in bindings):
        qualified = context.resolve(node)
        found = context.definition_elsewhere(qualified) if qualified else None
        return list(found.bindings) if found is not None else []
    return bindings


def _is_filled(context: Context, node: ast.Subscript) -> bool:
    """Whether a table is filled for the devices that the file names, and asked for no other: the
    names of both stand in one call (`@kernel("cpu", "cuda")`), or are keys of it."""
    name = last_name(node.value)
    if name is None or _is_asked(context, node, name):
        return False
    for one in context.index.spelled(_CUDA):
        around = context.index.parents.get(one)
        if isinstance(around, ast.Call):
            if is_closed(item.value for item in around.args if isinstance(item, ast.Constant)):
                return True
        elif isinstance(around, ast.Subscript) and isinstance(around.ctx, ast.Store):
            if last_name(around.value) == name and not context.index.spelled(_MPS):
                return True
    return False


def _is_asked(context: Context, node: ast.Subscript, name: str) -> bool:
    """Whether a table is asked for the key before, or given it, in the same function."""
    function = context.index.function(node) or context.tree
    for one in ast.walk(function):
        if isinstance(one, ast.Compare) and any(last_name(it) == name for it in one.comparators):
            return True
        if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store):
            if last_name(one.value) == name and not isinstance(one.slice, ast.Constant):
                return True
    return False


def _counted(context: Context) -> Iterator[ast.Call]:
    """`["cpu", "cuda"].index(device.type)`"""
    for call in context.index.calls.get("index", ()):
        if isinstance(call.func, ast.Attribute) and len(call.args) == 1:
            held = constants(call.func.value)
            if held is None:
                values = [*_values(context, call.func.value)]
                held = constants(values[0]) if len(values) == 1 else None
            if held is not None and is_closed(held) and not isinstance(call.args[0], ast.Constant):
                if may_be_new(context, subject_of(call.args[0])):
                    yield call


def _is_enum(cls: ast.ClassDef) -> bool:
    return any(last_name(base) in _ENUMS for base in cls.bases)


def _enum(context: Context, used: ast.expr) -> ast.ClassDef | None:
    """The `Enum` that a name stands for, be it of another file."""
    if not isinstance(used, ast.Name):
        return None
    bindings = _bindings(context, used)
    cls = bindings[0].node if len(bindings) == 1 else None
    return cls if isinstance(cls, ast.ClassDef) and _is_enum(cls) else None


def _made_of_names(context: Context) -> Iterator[ast.AST]:
    """`Kind(device)`, `Kind[device.type]` of an `Enum`, and `getattr(it, "run_" + device.type)`."""
    pairs: list[tuple[ast.expr, ast.expr, ast.expr]] = [
        (one, one.value, one.slice) for one in context.index.of(ast.Subscript)
    ]
    for call in context.index.of(ast.Call):
        if len(call.args) == 1 and not call.keywords:
            pairs.append((call, call.func, call.args[0]))
    for node, used, key in pairs:
        if isinstance(key, ast.Constant | ast.Starred) or not isinstance(used, ast.Name):
            continue
        subject = subject_of(key)
        if not subject.is_device and not _is_parameter(context, subject):
            continue
        cls = _enum(context, used)
        if cls is not None and may_be_new(context, subject):
            if is_closed(_members(cls, by_name=isinstance(node, ast.Subscript))):
                yield node
    for call in context.index.calls.get("getattr", ()):
        if len(call.args) == 2 and not isinstance(call.func, ast.Attribute):
            if _lacks_method(context, *call.args):
                yield call


def _members(cls: ast.ClassDef, *, by_name: bool) -> Iterator[object]:
    for statement in cls.body:
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                if by_name and isinstance(target, ast.Name):
                    yield target.id
                elif not by_name:
                    yield getattr(statement.value, "value", None)


def _lacks_method(context: Context, owner: ast.expr, name: ast.expr) -> bool:
    """Whether a name is put together of a device's type, and the file, or the class of another
    one, has what is called so for CUDA and not for MPS."""
    parts: list[ast.expr]
    if isinstance(name, ast.BinOp) and isinstance(name.op, ast.Add):
        parts = [name.left, name.right]
    elif isinstance(name, ast.JoinedStr):
        parts = [*name.values]
    else:
        return False
    texts: list[str | None] = []
    for part in parts:
        inner = part.value if isinstance(part, ast.FormattedValue) else part
        if isinstance(inner, ast.Constant):
            texts.append(str(inner.value))
        elif subject_of(inner).is_device:
            texts.append(None)
        else:
            return False
    if texts.count(None) != 1:
        return False
    defined = {one.name for one in context.index.functions()}
    made = owner.func if isinstance(owner, ast.Call) else owner
    for binding in _bindings(context, made) if isinstance(made, ast.Name) else ():
        inside = binding.node.body if isinstance(binding.node, ast.ClassDef) else []
        defined |= {getattr(one, "name", "") for one in inside}
    named = {name: "".join(name if one is None else one for one in texts) for name in (_CUDA, _MPS)}
    return named[_CUDA] in defined and named[_MPS] not in defined


def _numbers(context: Context) -> Iterator[ast.Call]:
    """`int(str(device).replace("cuda:", ""))`"""
    for call in context.index.calls.get("int", ()):
        if not isinstance(call.func, ast.Name) or not call.args:
            continue
        for inner in ast.walk(call.args[0]):
            if not isinstance(inner, ast.Call) or not isinstance(inner.func, ast.Attribute):
                continue
            given = inner.args[0] if inner.args else None
            if inner.func.attr in ("replace", "strip", "lstrip", "removeprefix"):
                if isinstance(given, ast.Constant) and backend_of(given.value) == _CUDA:
                    if may_be_new(context, subject_of(inner.func.value)):
                        yield call
                        break
