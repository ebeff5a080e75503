"""What other files of the project say of a name that this file imports."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Protocol

from mpslint.semantics.index import FUNCTIONS
from mpslint.semantics.value import Kind, Value

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

DEVICES = frozenset({Kind.DEVICE, Kind.DEVICE_STRING})


class Elsewhere(Protocol):
    """The rest of the project, read but never imported."""

    def device(self, path: str, qualified: str, *, called: bool) -> Value | None:
        """The device that `qualified`, imported by the file at `path`, holds (or, `called`
        without arguments, returns); None where that is not known."""

    def helper_import(self, context: Context) -> str | None:
        """The dotted module of the project's device helper as the file can import it; None
        where there is none, or the file cannot."""


def exported_device(context: Context, name: str, *, called: bool) -> Value | str | None:
    """The device that a module's `name` is (or returns when called); a string is the qualified
    name of what the module itself imports under it."""
    bindings = context.names.module.bindings.get(name, [])
    if len(bindings) == 1 and bindings[0].kind == "import":
        return bindings[0].qualified
    if called:
        if len(bindings) != 1 or not isinstance(bindings[0].node, FUNCTIONS):
            return None
        function = bindings[0].node
        value = context.values.returned(function) if not required(function.args) else None
    else:
        if not bindings or any(b.kind not in ("assign", "annotate") for b in bindings):
            return None
        values = [context.values.of(binding.value) for binding in bindings]
        kinds = {value.kind for value in values}
        value = None
        if len(kinds) == 1 and all(v.devices is not None for v in values):
            devices = frozenset[str]().union(*(v.devices or () for v in values))
            value = values[0]._replace(devices=devices)
    return value if value is not None and value.kind in DEVICES else None


def required(arguments: ast.arguments) -> int:
    """How many arguments a call must give."""
    positional = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    return positional + sum(1 for default in arguments.kw_defaults if default is None)
