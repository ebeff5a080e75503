"""Devices that a module chooses under a name which nobody reads: they place nothing.

`device = torch.device("cuda" if torch.cuda.is_available() else "cpu")` is copied from file to file;
where the module itself never reads the name, and no other file of the project takes it from there,
no tensor hangs on it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.opening import is_notebook

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_ASKING = ("torch.device", "torch.cuda.is_available", "torch.cuda.device_count", "str", "format")
"""What is called to choose a device, and does nothing else."""
_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def is_idle_device(context: Context, row: int) -> bool:
    """Whether a line of the module itself only chooses a device that nobody reads."""
    if context.elsewhere is None or is_notebook(context.source.path):
        return False
    statement = context.index.standing_at(row, context.tree)
    if statement is None or isinstance(statement, _SCOPE):
        return False
    known = context.memo.setdefault("idle devices", {})
    assert isinstance(known, dict)
    if statement not in known:
        known[statement] = _is_idle(context, statement)
    return bool(known[statement])


def _is_idle(context: Context, statement: ast.stmt) -> bool:
    found = list(_assigned(statement))
    names = {name for name, _ in found}
    if len(names) != 1 or not all(_only_chooses(context, value) for _, value in found):
        return False
    (name,) = names
    if name is None or any(
        not isinstance(use.ctx, ast.Store) or context.index.function(use) is not None
        for use in context.index.names.get(name, ())
    ):
        return False
    if any(text.value == name for text in context.index.strings):
        return False
    assert context.elsewhere is not None
    return not context.elsewhere.takes(context.source.path, name)


def _assigned(statement: ast.stmt) -> Iterator[tuple[str | None, ast.expr | None]]:
    """What a statement binds, and to what; None for anything else that it does."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        (target,) = statement.targets
        yield (target.id if isinstance(target, ast.Name) else None), statement.value
    elif isinstance(statement, ast.If):
        for item in (*statement.body, *statement.orelse):
            for name, value in _assigned(item):
                yield name, value
                yield name, statement.test
    else:
        yield None, None


def _only_chooses(context: Context, value: ast.expr | None) -> bool:
    if value is None:
        return False
    return all(
        _called(context, item.func) in _ASKING
        for item in ast.walk(value)
        if isinstance(item, ast.Call)
    )


def _called(context: Context, function: ast.expr) -> str:
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Constant):
        return function.attr
    return context.resolve(function) or (function.id if isinstance(function, ast.Name) else "")
