"""Devices and tensor types that are chosen under a name which nobody reads: they place nothing.

`device = torch.device("cuda" if torch.cuda.is_available() else "cpu")` is copied from file to file;
where the module itself never reads the name, or only in functions that nobody uses, and no other
file of the project takes it from there, no tensor hangs on it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.uses.known_bases import has_own_methods
from mpslint.semantics.uses.leftovers import is_leftover
from mpslint.semantics.uses.read_by_text import reads_all_attributes, reads_by_text
from mpslint.semantics.uses.replaced_options import is_replaced_option
from mpslint.semantics.uses.unread_options import is_unread_option
from mpslint.sources.opening import is_notebook

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_ASKING = ("torch.device", "torch.cuda.is_available", "torch.cuda.device_count", "str", "format")
"""What is called to choose a device, and does nothing else."""
_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def is_idle_device(context: Context, row: int) -> bool:
    """Whether a line of the module itself only chooses a device that nobody reads."""
    if is_replaced_option(context, row):
        return True
    if context.elsewhere is None or is_notebook(context.source.path):
        return False
    statement = context.index.standing_at(row, context.tree)
    if isinstance(statement, _SCOPE):
        return _is_idle_attribute(context, row)
    if statement is None:
        return False
    if isinstance(statement, ast.Expr):
        return is_unread_option(context, statement)
    known = context.memo.setdefault("idle devices", {})
    assert isinstance(known, dict)
    if statement not in known:
        known[statement] = _is_idle(context, statement)
    return bool(known[statement])


def _is_idle(context: Context, statement: ast.stmt) -> bool:
    found = list(_assigned(statement))
    names = {name for name, _ in found}
    if len(names) != 1 or not all(only_chooses(context, value) for _, value in found):
        return False
    (name,) = names
    if name is None or any(
        not isinstance(use.ctx, ast.Store | ast.Load) or not _is_in_idle(context, statement, use)
        for use in context.index.names.get(name, ())
    ):
        return False
    if any(text.value == name for text in context.index.strings):
        return False
    if reads_by_text(context, name):
        return False
    assert context.elsewhere is not None
    return not context.elsewhere.takes(context.source.path, name)


def _is_in_idle(context: Context, statement: ast.stmt, use: ast.Name) -> bool:
    """Whether a name is bound by the module itself, or read for another that nobody reads, or in
    what nobody uses."""
    if context.index.function(use) is not None:
        return isinstance(use.ctx, ast.Load) and is_leftover(context, use.lineno)
    if isinstance(use.ctx, ast.Store):
        return True
    return use.lineno > (statement.end_lineno or 0) and is_idle_device(context, use.lineno)


def _is_idle_attribute(context: Context, row: int) -> bool:
    """Whether a line puts a choice into an attribute of `self` that nobody in the project reads."""
    assert context.elsewhere is not None
    for statement in context.index.of(ast.Assign):
        if not statement.lineno <= row <= (statement.end_lineno or 0):
            continue
        target = statement.targets[0]
        owner = context.index.enclosing(statement, ast.ClassDef)
        return (
            len(statement.targets) == 1
            and owner is not None
            and isinstance(target, ast.Attribute)
            and isinstance(target.value, ast.Name)
            and target.value.id == "self"
            and only_chooses(context, statement.value)
            and has_own_methods(context, owner, target.attr)
            and all(
                isinstance(use.ctx, ast.Store) or _is_torchs(context, use)
                for use in context.index.attributes.get(target.attr, ())
            )
            and not any(text.value == target.attr for text in context.index.strings)
            and not reads_all_attributes(context, owner)
            and not context.elsewhere.uses(context.source.path, target.attr, method=True)
        )
    return False


def _is_torchs(context: Context, use: ast.Attribute) -> bool:
    """`torch.Tensor` is nothing of an object that keeps its type as `self.Tensor`."""
    return (context.resolve(use.value) or "").partition(".")[0] == "torch"


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


def only_chooses(context: Context, value: ast.expr | None) -> bool:
    """Whether an expression does nothing else than choose a device."""
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
