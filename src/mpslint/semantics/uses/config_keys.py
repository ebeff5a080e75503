"""Devices that stand in a configuration under a key: who reads that key, and what he does with it.

`{"model": {"device": "cuda"}}` and `_C.MODEL.DEVICE = "cuda"` place nothing by themselves. What is
read elsewhere of a configuration is read by the same key, whatever the object is called there.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeGuard

from mpslint.facts.priors import makes_config, places_elsewhere
from mpslint.records import NamedTuple
from mpslint.semantics.names.unpacked import bound_part
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.terms.value_tables import TENSOR_METHODS
from mpslint.semantics.uses.idle_devices import only_chooses
from mpslint.semantics.uses.unread_options import option_at

if TYPE_CHECKING:
    from mpslint.model import Finding
    from mpslint.semantics.context import Context

_LOOKING = frozenset({"print", "str", "repr", "len", "isinstance", "format", "startswith", "type"})
"""Functions and methods of Python's that look at a text and place nothing."""
_READING = frozenset({"get", "pop", "setdefault"})
"""Methods of a mapping that give the value of a key."""
_ENVIRONMENT = "environ"
"""Fact: the mapping of the module `os`, which `os.getenv` reads as well."""
_MEMO = "what configurations are written in"
_ANSWERS = "keys of configurations that nobody reads"
_KEEPING = (ast.Assign, ast.AnnAssign, ast.Return)
"""Statements that keep a configuration, or hand it on."""
ALL_OPTIONS = "vars"
"""What takes all options of a program at once (`vars(args)`): the root of each of them."""
# Fact: attributes of torch's layers, and of tensors, that are tensors.
_KEPT_BY_LAYERS = frozenset({"weight", "bias", "data", "grad", "running_mean", "running_var"})
_OF_TENSORS = frozenset({"shape", "dtype", "ndim", "requires_grad"})
_EXPRESSIONS = (ast.IfExp, ast.BoolOp, ast.Compare, ast.UnaryOp, ast.Call)
"""What a choice of a device is made of."""


class Key(NamedTuple):
    """Where in a configuration a value stands."""

    path: tuple[str, ...]
    """The keys that lead to it, the outermost first."""
    root: str | None
    """The name that the whole is bound to, where it is a plain one."""
    by_attribute: bool
    """Whether the last key is read as an attribute as well."""
    nested: bool
    """Whether it is written in a mapping in a mapping."""


def is_unread_key(context: Context, finding: Finding) -> bool:
    """Whether what a finding is about stands in a configuration under a key by which nobody in
    the project reads a device to place something."""
    key = _key_at(context, finding)
    if key is None:
        return False
    known = context.memo.setdefault(_ANSWERS, {})
    assert isinstance(known, dict)
    if key not in known:
        known[key] = _is_unread(context, key)
    return bool(known[key])


def _is_unread(context: Context, key: Key) -> bool:
    if places_by(context, key):
        return False
    if len(key.path) == 1 and not _is_only_asked(context, key):
        return False
    if context.elsewhere is None:
        return key.nested
    return not context.elsewhere.reads_key(context.source.path, key)


def places_by(context: Context, key: Key) -> bool:
    """Whether a file reads a key, and does more than look at what it finds."""
    return any(
        key.root == ALL_OPTIONS or not _is_looked_at(context, use)
        for use in (*_items(context, key.path[-1]), *_attributes(context, key))
    )


def has_own(context: Context, root: str) -> bool:
    """Whether a file that takes all options of a program has a parser, and so means its own."""
    return root == ALL_OPTIONS and bool(context.index.calls.get("ArgumentParser"))


def hands_on(context: Context, name: str) -> bool:
    """Whether a file does more with a configuration of this name than ask it for single keys."""
    uses: Iterator[ast.expr] = (
        use
        for known in (context.index.names, context.index.attributes)
        for use in known.get(name, ())
        if isinstance(use.ctx, ast.Load)
    )
    return any(not _asks_one(context, use) and not _goes_elsewhere(context, use) for use in uses)


def _goes_elsewhere(context: Context, use: ast.expr) -> bool:
    """Whether a configuration is given to a library that has devices of its own."""
    call = context.index.parents.get(use)
    if isinstance(call, ast.keyword):
        call = context.index.parents.get(call)
    return isinstance(call, ast.Call) and places_elsewhere(context.resolve(call.func) or "")


# reads


def _items(context: Context, key: str) -> Iterator[ast.expr]:
    """`x["key"]`, `x.get("key")`, `getattr(x, "key")`"""
    for text in context.index.strings:
        if text.value != key:
            continue
        parent = context.index.parents.get(text)
        if isinstance(parent, ast.Subscript) and parent.slice is text:
            if isinstance(parent.ctx, ast.Load):
                yield parent
        elif isinstance(parent, ast.Call) and text in parent.args:
            name = _last(parent.func)
            of_object = isinstance(parent.func, ast.Attribute)
            if name == "getenv" or name in (_READING if of_object else ("getattr",)):
                yield parent


def _attributes(context: Context, key: Key) -> Iterator[ast.expr]:
    """`x.key`. A tensor has a device as well: where the key is but one of several, and one that
    all tensors have, the object is called as the key before it."""
    if not key.by_attribute:
        return
    of_tensors = key.nested and key.path[-1] == "device"
    of_option = key.root == ALL_OPTIONS and key.path[-1] == "device"
    for use in context.index.attributes.get(key.path[-1], ()):
        if not isinstance(use.ctx, ast.Load):
            continue
        if of_option and _is_of_tensor(context, use.value):
            continue
        if of_tensors and _last(use.value) != key.path[-2]:
            continue
        yield use


def _is_of_tensor(context: Context, node: ast.expr) -> bool:
    """Whether something that has a device is a tensor, or torch: it is known, called as a tensor
    that layers keep, or asked in its function what tensors have."""
    if _last(node) in _KEPT_BY_LAYERS or context.values.of(node).kind is Kind.TENSOR:
        return True
    if (context.resolve(node) or "").partition(".")[0] == "torch":
        return True  # `torch.device`
    if not isinstance(node, ast.Name):
        return False
    bindings = context.flow.reaching(node)
    parts = [bound_part(binding, node.id) for binding in bindings]
    if parts and all(part is not None and _last(part) in _KEPT_BY_LAYERS for part in parts):
        return True
    function = context.index.function(node)
    return any(
        context.index.function(use) is function and _asks_a_tensor(context, use)
        for use in context.index.names.get(node.id, ())
    )


def _asks_a_tensor(context: Context, use: ast.Name) -> bool:
    """`x.shape`, `x.size()`, `x * 2`, `x < 3`, which no options have: `args.size` is a number."""
    asked = context.index.parents[use]
    if isinstance(asked, ast.BinOp):
        return isinstance(asked.op, ast.Sub | ast.Mult | ast.Div | ast.MatMult)
    if isinstance(asked, ast.Compare):
        return isinstance(asked.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
    if not isinstance(asked, ast.Attribute):
        return False
    call = context.index.parents[asked]
    is_called = isinstance(call, ast.Call) and call.func is asked
    return asked.attr in (TENSOR_METHODS | {"size", "dim"} if is_called else _OF_TENSORS)


def _last(node: ast.expr) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return None


def _is_looked_at(context: Context, use: ast.expr) -> bool:
    """Whether a device that is read is compared, looked up or put into a text, and no more."""
    parent = context.index.parents.get(use)
    if isinstance(parent, ast.Subscript):
        return parent.slice is use
    if isinstance(parent, ast.Attribute):
        around = context.index.parents.get(parent)
        is_called = isinstance(around, ast.Call) and around.func is parent
        return is_called and parent.attr in _LOOKING
    if isinstance(parent, ast.Call) and use in parent.args:
        return isinstance(parent.func, ast.Name) and parent.func.id in _LOOKING
    return isinstance(parent, ast.Compare | ast.FormattedValue | ast.Expr | ast.Assert)


def _asks_one(context: Context, use: ast.expr) -> bool:
    """Whether a whole configuration is asked for one key that stands there, or for a number of
    keys that say nothing of devices."""
    parent = context.index.parents.get(use)
    if isinstance(parent, ast.Subscript) and parent.value is use:
        return isinstance(parent.slice, ast.Constant)
    if isinstance(parent, ast.Attribute):
        around = context.index.parents.get(parent)
        if isinstance(around, ast.Call) and around.func is parent:
            return parent.attr in _READING and isinstance(around.args[0], ast.Constant)
        return True
    return False


def _is_only_asked(context: Context, key: Key) -> bool:
    """Whether all that the file does with the whole is to ask it for single keys."""
    return key.root is not None and not hands_on(context, key.root)


# where a finding stands


def _key_at(context: Context, finding: Finding) -> Key | None:
    """The key under which what a finding is about is written."""
    source = context.source
    option = option_at(context, finding.row)
    if option is not None:
        return Key((option,), ALL_OPTIONS, by_attribute=True, nested=False)
    for node in _written_in(context, finding.row):
        if source.position(source.span(node)[0])[1] == finding.column:
            return _key_of(context, node)
    return None


def _written_in(context: Context, row: int) -> Sequence[ast.expr]:
    """The expressions of what is assigned or returned that begin in a row, outer ones first."""
    known = context.memo.setdefault(_MEMO, {})
    assert isinstance(known, dict)
    if not known:
        found = [item for kind in _KEEPING for item in context.index.of(kind)]
        known["statements"] = sorted(found, key=_first_row)
    statements: list[ast.stmt] = known["statements"]
    at = bisect_right(statements, row, key=_first_row) - 1
    if at < 0 or (statements[at].end_lineno or 0) < row:
        return ()
    if at not in known:
        rows: dict[int, list[ast.expr]] = {}
        for node in ast.walk(statements[at]):
            if isinstance(node, ast.expr):
                rows.setdefault(node.lineno, []).append(node)
        known[at] = rows
    by_row: dict[int, list[ast.expr]] = known[at]
    return by_row.get(row, ())


def _first_row(statement: ast.stmt) -> int:
    return statement.lineno


def _key_of(context: Context, node: ast.expr) -> Key | None:
    parents = context.index.parents
    child: ast.AST = node
    parent = parents.get(child)
    while isinstance(parent, _EXPRESSIONS) and not _makes(parent, context):
        child, parent = parent, parents.get(parent)
    if not isinstance(child, ast.expr) or not only_chooses(context, child):
        return None
    path: list[str] = []
    by_attribute = False
    while True:
        if isinstance(parent, ast.Dict) and child in parent.values:
            name = parent.keys[parent.values.index(child)]
            if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
                return None
            path.insert(0, name.value)
            child = parent
        elif isinstance(parent, ast.keyword) and parent.arg is not None:
            call = parents[parent]
            if not _makes(call, context):
                return None
            path.insert(0, parent.arg)
            by_attribute = by_attribute or not _is_dict(call)
            child = call
        elif path and _makes(parent, context):
            by_attribute = by_attribute or not _is_dict(parent)
            child = parent
        else:
            break
        parent = parents.get(child)
    nested = len(path) > 1
    if isinstance(parent, ast.Return) and nested:
        return Key(tuple(path), None, by_attribute, nested)
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]
    elif isinstance(parent, ast.AnnAssign):
        target = parent.target
    else:
        return None
    return _stored_under(target, path, by_attribute, nested)


def _stored_under(
    target: ast.expr, path: list[str], by_attribute: bool, nested: bool
) -> Key | None:
    """The same with what it is assigned to: `_C.MODEL.DEVICE`, but not an attribute of an object
    that is no configuration (`self.device`, `model.device`)."""
    depth = 0
    while isinstance(target, ast.Attribute | ast.Subscript):
        name = _last(target)
        if name is None:
            return None
        # The environment is asked by its keys alone: `os.environ["DEVICE"] = "cuda"`.
        by_attribute = by_attribute or (isinstance(target, ast.Attribute) and name != _ENVIRONMENT)
        path.insert(0, name)
        depth += 1
        target = target.value
    if not isinstance(target, ast.Name) or target.id in ("self", "cls"):
        return None
    if not path or (depth and len(path) == 1):
        return None
    return Key(tuple(path), target.id, by_attribute, nested)


def _makes(node: ast.AST | None, context: Context) -> TypeGuard[ast.Call]:
    """Whether a call makes a configuration of what it is given."""
    if not isinstance(node, ast.Call):
        return False
    return _is_dict(node) or makes_config(context.resolve(node.func))


def _is_dict(call: ast.AST | None) -> bool:
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "dict"
