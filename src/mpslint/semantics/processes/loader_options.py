"""What a `DataLoader` is told by keyword, also by way of a dictionary that is spread into the call,
of `functools.partial`, of a class derived from it, or of the default of a parameter."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.uses.taken_defaults import taken_default

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_LOADER = "torch.utils.data.DataLoader"


class Option(NamedTuple):
    name: str
    value: ast.expr
    call: ast.Call
    """What makes the loader."""
    is_default: bool = False
    """Of a parameter: whoever calls the function may say something else."""


def loader_options(context: Context) -> Iterator[Option]:
    for call in _loaders(context):
        for item in call.keywords:
            if item.arg is None:
                for name, value in _spread(context, item.value):
                    yield Option(name, value, call)
            elif isinstance(item.value, ast.Name):
                default = taken_default(context, item.value)
                if default is not None:
                    yield Option(item.arg, default, call, is_default=True)
            else:
                yield Option(item.arg, item.value, call)


def _loaders(context: Context) -> Iterator[ast.Call]:
    yield from context.calls_of(_LOADER)
    for call in context.calls_of("functools.partial"):
        if call.args and context.resolve(call.args[0]) == _LOADER:
            yield call
    for call in context.index.calls.get("__init__", ()):
        klass = context.index.enclosing(call, ast.ClassDef)
        if klass is None or not isinstance(call.func, ast.Attribute):
            continue
        owner = call.func.value
        if isinstance(owner, ast.Call) and last_name(owner.func) == "super":
            if [context.resolve(base) for base in klass.bases] == [_LOADER]:
                yield call


def _spread(context: Context, options: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """What a dictionary holds that is written out and not changed behind that."""
    if isinstance(options, ast.Name):
        found = context.flow.reaching(options)
        if len(found) != 1 or found[0].kind != "assign" or found[0].value is None:
            return
        if context.sources.is_changed(options):
            return
        options = found[0].value
    if isinstance(options, ast.Dict):
        for key, value in zip(options.keys, options.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                yield key.value, value
    elif isinstance(options, ast.Call) and isinstance(options.func, ast.Name):
        if options.func.id == "dict" and context.names.owner("dict", options) is None:
            yield from ((item.arg, item.value) for item in options.keywords if item.arg)
