"""Devices that results go to: `model(batch).to(device)` for a batch that was moved to CUDA. Where
that is the device of the work, nothing would have to be moved, so it is another one."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.semantics.index import Index


def takes_results(index: Index, function: ast.AST | None, device: str) -> bool:
    """Whether a function sends what it computes with what it has moved to CUDA on to a device, by
    this name."""
    moves = [
        call
        for call in index.calls.get("cuda", ())
        if isinstance(call.func, ast.Attribute) and index.function(call) is function
    ]
    moved = {
        call.func.value.id
        for call in moves
        if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name)
    }
    return any(
        any(
            item in moves or (isinstance(item, ast.Name) and item.id in moved)
            for given in made.args
            for item in ast.walk(given)
        )
        for call in (index.calls.get("to", ()) if moves else ())
        if index.function(call) is function
        if call.args and ast.unparse(call.args[0]) == device
        for made in _made(index, function, call)
    )


def _made(index: Index, function: ast.AST | None, move: ast.Call) -> Iterator[ast.Call]:
    """The call whose result is moved, also by way of a variable."""
    held = move.func.value if isinstance(move.func, ast.Attribute) else None
    if isinstance(held, ast.Call):
        yield held
    if isinstance(held, ast.Name):
        for use in index.names.get(held.id, ()):
            statement = index.parents[use]
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
                if index.function(use) is function and statement.value is not move:
                    yield statement.value
