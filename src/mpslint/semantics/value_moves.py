"""Modules move in place: every `.to()` on a name moves what it names."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.index import Index
from mpslint.semantics.value import CPU_ONLY, Value
from mpslint.semantics.value_syntax import is_dtype, keyword

if TYPE_CHECKING:
    from mpslint.semantics.values import Values


class Moves:
    """Calls that move modules, by the spelling of what they are called on."""

    def __init__(self, values: Values, index: Index) -> None:
        self._values = values
        self._index = index
        self._calls: dict[str, list[ast.Call]] | None = None

    def moved(self, spelled: str, value: Value) -> Value:
        """A module, with every `.to()` and `.cuda()` on the same name in this file."""
        if self._calls is None:
            self._calls = {}
            for method in ("to", "cuda", "cpu", "to_empty"):
                for call in self._index.calls.get(method, ()):
                    if isinstance(call.func, ast.Attribute):
                        self._calls.setdefault(ast.unparse(call.func.value), []).append(call)
        devices = set(value.devices or ())
        unknown = value.devices is None
        for call in self._calls.get(spelled, ()):
            if call in self._values.busy:
                continue
            function = call.func
            assert isinstance(function, ast.Attribute)
            if function.attr == "cuda":
                devices.add("cuda")
            elif function.attr != "cpu":
                target = keyword(call, "device") or (call.args[0] if call.args else None)
                if target is not None and not is_dtype(target):
                    types = self._values.device_types(target)
                    if types is None:
                        unknown = True
                    else:
                        devices |= types
        if unknown and not devices:
            return value
        moved = frozenset(devices)
        if len(moved) > 1 and value.devices == CPU_ONLY:
            # It starts on the CPU like every module; what counts is where it is used.
            moved = frozenset(devices - {"cpu"}) or moved
        return value._replace(devices=moved)
