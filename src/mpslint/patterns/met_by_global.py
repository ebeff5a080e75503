"""A device of the module that its functions want for nothing but what meets a tensor of theirs.

`device = torch.device("cuda" if torch.cuda.is_available() else "cpu")` at the top of a file of
models, and `torch.zeros(n, device=device)` beside `tgt` in a `forward`: whoever calls has put `tgt`
somewhere, a test on a Mac's CPU, and there the rest belongs. Each use follows its own tensor.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Edit, Fix
from mpslint.patterns.statements import delete_statement
from mpslint.patterns.text import replace
from mpslint.semantics.operands.partners import partner

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

PLACING = ("factory", "to")
"""Where a device is wanted for one tensor, and nothing else is told of it."""


def devices_of_met(context: Context, node: ast.expr | ast.If) -> Fix | None:
    """The fix for a choice that a module makes; None: a use of it is for something else, or which
    tensor is met there is not sure."""
    statement = context.index.statement(node)
    if isinstance(node, ast.If) or context.index.function(node) is not None:
        return None
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Name) or not _is_all(context, statement, node):
        return None
    names = context.names
    elsewhere = context.elsewhere
    if len(names.bindings(target.id, target)) != 1 or context.index.spelled(target.id):
        return None
    if elsewhere is not None and elsewhere.takes(context.source.path, target.id):
        return None
    scope, edits = names.owner(target.id, target), list[Edit]()
    for use in context.index.names.get(target.id, ()):
        if use is target or names.owner(use.id, use) is not scope:
            continue
        met = _met(context, use)
        if met is None:
            return None
        edits.append(replace(context.source, use, f"{met}.device"))
    gone = delete_statement(context, statement) if edits else None
    if gone is None:
        return None
    return Fix("Use the devices of what is met", (*edits, gone), Applicability.SAFE, follows=True)


def _is_all(context: Context, statement: ast.stmt, node: ast.expr) -> bool:
    """Whether a statement of the module gives one name the choice, or the device of it."""
    if statement not in context.tree.body or not isinstance(statement, ast.Assign):
        return False
    made = statement.value
    if isinstance(made, ast.Call) and context.resolve(made.func) == "torch.device":
        made = made.args[0] if len(made.args) == 1 and not made.keywords else made
    return len(statement.targets) == 1 and made is node


def _met(context: Context, use: ast.Name) -> str | None:
    """The tensor that what is put on the device at one place meets, in a function."""
    slot = context.devices.slot(use)
    if slot is None or slot.kind not in PLACING or not isinstance(slot.node, ast.Call):
        return None
    return partner(context, slot.node) if context.index.function(use) is not None else None
