"""What a file puts under an attribute of a name, of whatever object: by a statement, in the body of
a class, by a keyword of a call, under a key."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.order import may_be_passed_by
from mpslint.semantics.terms.facts_known import BACKENDS, last_name

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_READERS = frozenset({"getattr", "hasattr", "get", "pop"})
_SETTERS = frozenset({"setattr", "add_argument", "option", "set", "setdefault"})
_SAYING = frozenset({"help", "metavar"})
"""Arguments that tell people of an option."""
_COUNT = "torch.cuda.device_count"


class Unknown(Exception):
    """Somebody may set it to anything."""


def stored(context: Context, name: str) -> list[ast.expr]:
    """All that a file puts under such an attribute, but for what it takes from another one of the
    same name (`self.use_cuda = args.use_cuda`). Raises `Unknown`."""
    found = (*_assigned(context, name), *_by_keyword(context, name), *_by_text(context, name))
    return [value for value in found if not _is_same(value, name)]


class Said(NamedTuple):
    """What a value says of the machine."""

    at_most: bool
    """It is true nowhere but where CUDA is."""
    at_least: bool
    """It is true wherever CUDA is."""
    is_asked: bool
    """It hangs on the machine, and is no constant."""


def said(context: Context, value: ast.expr) -> Said:
    if isinstance(value, ast.Constant):
        if not isinstance(value.value, bool):
            return Said(False, False, False)  # No flag.
        on_cuda = "cuda" in context.guards.at(value)
        return Said(on_cuda or not value.value, False, on_cuda and value.value)
    no = context.guards.implied(value, False)
    at_most = "cuda" in context.guards.implied(value, True)
    return Said(at_most, "no-cuda" in no, at_most)


def narrows(context: Context, name: str) -> bool:
    """Whether a file compares what its user asks for with the machine, on each way through the
    function in which it does: `args.cuda = args.cuda and torch.cuda.is_available()`."""
    for target in context.index.attributes.get(name, ()):
        statement = context.index.parents[target]
        if isinstance(statement, ast.Assign) and target in statement.targets:
            if said(context, statement.value).at_most and not may_be_passed_by(
                context.index, statement
            ):
                return True
    return False


def counts_cuda(context: Context, value: ast.expr) -> bool:
    """`torch.cuda.device_count()`"""
    return isinstance(value, ast.Call) and context.resolve(value.func) == _COUNT


def _assigned(context: Context, name: str) -> Iterator[ast.expr]:
    parents = context.index.parents
    targets: list[ast.AST] = [
        target
        for target in context.index.attributes.get(name, ())
        if isinstance(target.ctx, ast.Store)
    ]
    for owner in context.index.of(ast.ClassDef):
        for statement in owner.body:
            if isinstance(statement, FUNCTIONS) and statement.name == name:
                if statement.decorator_list:
                    raise Unknown  # A property: what it gives is asked of the class.
            elif isinstance(statement, ast.Assign):
                targets += [one for one in statement.targets if _is_name(one, name)]
            elif isinstance(statement, ast.AnnAssign) and _is_name(statement.target, name):
                if statement.value is None:
                    raise Unknown  # A field that whoever makes an object has to give.
                targets.append(statement.target)
    for target in targets:
        holder = parents[target]
        if isinstance(holder, ast.Assign):
            yield holder.value
        elif isinstance(holder, ast.AnnAssign):
            if holder.value is not None:
                yield holder.value
        else:
            yield _unpacked(context, target)


def _unpacked(context: Context, target: ast.AST) -> ast.expr:
    """What `self.use_cuda, self.seed = torch.cuda.is_available(), 1` gives one of them."""
    several = context.index.parents[target]
    statement = context.index.parents.get(several)
    if isinstance(several, ast.Tuple) and isinstance(statement, ast.Assign):
        value = statement.value
        if isinstance(value, ast.Tuple) and len(value.elts) == len(several.elts):
            if not any(isinstance(one, ast.Starred) for one in (*several.elts, *value.elts)):
                return value.elts[[one is target for one in several.elts].index(True)]
    raise Unknown


def _by_keyword(context: Context, name: str) -> Iterator[ast.expr]:
    for keyword in context.index.of(ast.keyword):
        if keyword.arg != name:
            continue
        call = context.index.parents[keyword]
        called = context.resolve(call.func) if isinstance(call, ast.Call) else None
        if not (called or "").startswith("torch."):
            yield keyword.value


def _by_text(context: Context, name: str) -> Iterator[ast.expr]:
    """Values under a key of this name. Any other text that is the name may be how somebody sets it;
    of the name of a device that is so where it is given to what sets attributes."""
    parents = context.index.parents
    for text in context.index.strings:
        if text.value != name:
            continue
        parent = parents[text]
        if isinstance(parent, ast.Dict):
            at = next((i for i, key in enumerate(parent.keys) if key is text), None)
            if at is not None:
                yield parent.values[at]
        elif isinstance(parent, ast.Subscript) and parent.slice is text:
            statement = parents[parent]
            if isinstance(parent.ctx, ast.Load):
                continue
            if not isinstance(statement, ast.Assign):
                raise Unknown
            yield statement.value
        elif isinstance(parent, ast.Call):
            called = last_name(parent.func)
            if called in _SETTERS or not (called in _READERS or _is_device(name)):
                raise Unknown
        elif isinstance(parent, ast.keyword):
            if parent.arg in _SAYING:
                continue
            if parent.arg == "dest" or not _is_device(name):
                raise Unknown
        elif not isinstance(parent, ast.Expr | ast.Compare) and not _is_device(name):
            raise Unknown


def _is_device(name: str) -> bool:
    return name in BACKENDS


def _is_same(value: ast.expr, name: str) -> bool:
    """Whether a value is what another object has under this name."""
    if isinstance(value, ast.Attribute):
        return value.attr == name
    if isinstance(value, ast.Subscript):
        return isinstance(value.slice, ast.Constant) and value.slice.value == name
    if isinstance(value, ast.Call) and last_name(value.func) in _READERS:
        given = [item for item in value.args if isinstance(item, ast.Constant)]
        texts = [item for item in given if item.value == name]
        return bool(texts) and not any(item.value for item in given if item not in texts)
    return False


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
