"""What other files of the project say of a name that this file imports.

They are read and parsed, never imported.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple, Protocol

from mpslint.semantics.index import FUNCTIONS
from mpslint.semantics.value import Kind, Value

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.names import Binding

_DEVICES = (Kind.DEVICE, Kind.DEVICE_STRING)


class Definition(NamedTuple):
    """Where a name of another module gets its value, and that module's meaning."""

    context: Context
    bindings: tuple[Binding, ...]


class Elsewhere(Protocol):
    """The rest of the project."""

    def definition(self, path: str, qualified: str) -> Definition | None:
        """What defines `qualified`, a name that the file at `path` imports; None: not known."""

    def holds_back(self, path: str) -> bool:
        """Whether the project of the file at `path` holds MPS back: `semantics.reservations`."""

    def helper_import(self, context: Context) -> str | None:
        """The dotted module of the project's device helper as the file can import it; None
        where there is none, or the file cannot."""


def exported_device(definition: Definition, *, called: bool) -> Value | None:
    """The device that a module's name holds, or returns when `called` without arguments."""
    context, bindings = definition
    if called:
        function = bindings[0].node
        if len(bindings) != 1 or not isinstance(function, FUNCTIONS) or required(function.args):
            return None
        value = context.values.returned(function)
        return value if value.kind in _DEVICES else None
    if any(binding.kind not in ("assign", "annotate") for binding in bindings):
        return None
    values = [context.values.of(binding.value) for binding in bindings]
    kinds = {value.kind for value in values}
    if len(kinds) != 1 or not kinds.issubset(_DEVICES):
        return None
    if any(value.devices is None for value in values):
        return Value(values[0].kind)
    return Value(values[0].kind, frozenset[str]().union(*(v.devices or () for v in values)))


def required(arguments: ast.arguments) -> int:
    """How many arguments a call must give."""
    positional = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return positional + sum(1 for default in arguments.kw_defaults if default is None)
