"""Entries of a checkpoint that an object keeps as they come: `self.counts = checkpoint["counts"]`.

What else its class gives the attribute says what it is. A number is the same wherever it is loaded
to; a tensor has to be where the class makes it, which is where the checkpoint must be loaded to.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.priors import names_device
from mpslint.semantics.syntax.expressions import last_name, root_of

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def is_kept_number(context: Context, entry: ast.expr) -> bool:
    """Whether an entry goes to an attribute that is otherwise given numbers and texts."""
    others = _others(context, entry)
    return bool(others) and all(
        isinstance(value, ast.Constant) and value.value is not None for value in others
    )


def is_counted(context: Context, entry: ast.expr) -> bool:
    """Whether an entry goes to a variable that starts with a number, and is compared: the least
    loss so far, which is no more than a number."""
    parent = context.index.parents[entry]
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return False
    target = parent.targets[0]
    if not isinstance(target, ast.Name):
        return False
    values = [binding.value for binding in context.names.bindings(target.id, target)]
    if not any(value is not None and _is_number(value) for value in values):
        return False
    scope = context.names.owner(target.id, target)
    return any(
        _is_measured(context.index.parents[use])
        for use in context.index.names[target.id]
        if isinstance(use.ctx, ast.Load) and context.names.owner(use.id, use) is scope
    )


def _is_number(value: ast.expr) -> bool:
    if isinstance(value, ast.UnaryOp):
        value = value.operand
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and len(value.args) == 1:
        return value.func.id in ("float", "int") and isinstance(value.args[0], ast.Constant)
    return isinstance(value, ast.Constant) and type(value.value) in (int, float)


def _is_measured(parent: ast.AST) -> bool:
    if isinstance(parent, ast.Compare):
        return isinstance(parent.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE)
    return (
        isinstance(parent, ast.Call)
        and isinstance(parent.func, ast.Name)
        and parent.func.id in ("min", "max")
        and len(parent.args) == 2
    )


def kept_on(context: Context, entry: ast.expr) -> list[ast.expr]:
    """The devices on which the class makes the attribute that an entry goes to, as it names them;
    none: it makes that otherwise as well."""
    made = [value for value in _others(context, entry) if not _is_none(value)]
    devices = [_device(value) for value in made]
    found = [device for device in devices if device is not None]
    return found if len(found) == len(made) else []


def named_at(context: Context, call: ast.Call, device: ast.expr) -> str | None:
    """How a method names the device on which its class makes something: as there, or by what its
    object keeps (`self.cfg.device` for the `cfg.device` of a constructor that keeps `cfg`)."""
    text, root = ast.unparse(device), _root(device)
    if root is None or root.id == "self":
        return text if root is not None else None
    at_hand = context.devices.at_hand(call)
    if at_hand is not None and at_hand.text == text:
        return text
    owner = context.index.enclosing(device, ast.ClassDef)
    if owner is None or context.index.enclosing(call, ast.ClassDef) is not owner:
        return None
    for statement in context.index.of(ast.Assign):
        value, target = statement.value, statement.targets[0]
        if not isinstance(value, ast.Name) or value.id != root.id:
            continue
        if context.names.owner(value.id, value) is not context.names.owner(root.id, root):
            continue
        if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self":
            return ast.unparse(target) + text.removeprefix(root.id)
    return None


def _root(device: ast.expr) -> ast.Name | None:
    device = root_of(device, ast.Attribute)
    return device if isinstance(device, ast.Name) else None


def _others(context: Context, entry: ast.expr) -> list[ast.expr]:
    """What the attribute that an entry goes to is given elsewhere, but for the same entry of other
    checkpoints."""
    parent = context.index.parents[entry]
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return []
    target = parent.targets[0]
    if not isinstance(target, ast.Attribute):
        return []
    return [
        value
        for value in context.guards.assigned(target)
        if ast.unparse(value) != ast.unparse(entry)
    ]


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _device(value: ast.expr) -> ast.expr | None:
    """`cfg.device` of `torch.zeros(n, device=cfg.device)` and of `torch.ones(n).to(cfg.device)`."""
    if not isinstance(value, ast.Call):
        return None
    given = [one.value for one in value.keywords if one.arg == "device"]
    if isinstance(value.func, ast.Attribute) and value.func.attr == "to":
        given += value.args[:1]
    named = [one for one in given if names_device(last_name(one) or "")]
    return named[0] if len(named) == 1 else None
