"""Devices that results go to: `model(batch).to(device)` for a batch that was moved to CUDA. Where
that is the device of the work, nothing would have to be moved, so it is another one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property
from typing import TypeAlias

from mpslint.records import NamedTuple
from mpslint.semantics.syntax.index import FunctionNode, Index

Within: TypeAlias = FunctionNode | None
"""The function that something stands in; None: the module."""


class _Moved(NamedTuple):
    """What a function moves to CUDA."""

    calls: set[ast.AST]
    names: set[str]

    def reaches(self, made: ast.Call) -> bool:
        """Whether a call is given any of it."""
        return any(
            item in self.calls or (isinstance(item, ast.Name) and item.id in self.names)
            for given in made.args
            for item in ast.walk(given)
        )


class ResultDevices:
    """Those of a file, by function, looked through once."""

    def __init__(self, index: Index) -> None:
        self._index = index

    def takes(self, function: Within, device: str) -> bool:
        """Whether a function sends what it computes with what it has moved to CUDA on to a device,
        by this name."""
        return device in self._by_function.get(function, ())

    @cached_property
    def _by_function(self) -> dict[Within, set[str]]:
        found: dict[Within, set[str]] = {}
        moved = self._moved
        for call in self._index.calls.get("to", ()) if moved else ():
            function = self._index.function(call)
            if function in moved and call.args:
                if any(map(moved[function].reaches, self._made(function, call))):
                    found.setdefault(function, set()).add(ast.unparse(call.args[0]))
        return found

    @cached_property
    def _moved(self) -> dict[Within, _Moved]:
        found: dict[Within, _Moved] = {}
        for call in self._index.calls.get("cuda", ()):
            if isinstance(call.func, ast.Attribute):
                moved = found.setdefault(self._index.function(call), _Moved(set(), set()))
                moved.calls.add(call)
                if isinstance(call.func.value, ast.Name):
                    moved.names.add(call.func.value.id)
        return found

    @cached_property
    def _given(self) -> dict[tuple[Within, str], list[ast.Call]]:
        """The calls that give a name its value, by function."""
        found: dict[tuple[Within, str], list[ast.Call]] = {}
        for statement in self._index.of(ast.Assign):
            if isinstance(statement.value, ast.Call):
                function = self._index.function(statement)
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        found.setdefault((function, target.id), []).append(statement.value)
        return found

    def _made(self, function: Within, move: ast.Call) -> Iterator[ast.Call]:
        """The call whose result is moved, also by way of a variable."""
        held = move.func.value if isinstance(move.func, ast.Attribute) else None
        if isinstance(held, ast.Call):
            yield held
        elif isinstance(held, ast.Name):
            given = self._given.get((function, held.id), ())
            yield from (made for made in given if made is not move)
