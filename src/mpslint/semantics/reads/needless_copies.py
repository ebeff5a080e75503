"""Copies to the host, at each turn of a loop, that nobody needs there, whatever the loop is for.

`y = y.to(device); ...; y.cpu()`: what comes from the host is copied back, though nothing was
computed from it in between. And what is read under a switch alone (`if args.save:`), which says the
same at all turns, though it is copied whatever the switch says.
"""

from __future__ import annotations

import ast
import enum
from typing import TYPE_CHECKING

from mpslint.semantics.loops.loops import LoopKind
from mpslint.semantics.names.unpacked import bound_part
from mpslint.semantics.packages.consumers import reads_of
from mpslint.semantics.syntax.expressions import root_of
from mpslint.semantics.uses.switch_defaults import is_default
from mpslint.semantics.values.placement import is_host_copy

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.loops.batches import Batch
    from mpslint.semantics.loops.loops import Loop

_DEPTH = 6
_VIEWS = frozenset(
    {"detach", "contiguous", "clone", "squeeze", "unsqueeze", "view", "reshape", "flatten", "long"}
    | {"float", "int", "half", "double", "permute", "transpose", "t", "requires_grad_", "type"}
)
"""Methods after which a tensor holds the numbers that it held before."""


def batch_back(context: Context, call: ast.Call) -> Batch | None:
    """The loop over a loader of whose batch `call` copies back what was moved to the device."""
    assert isinstance(call.func, ast.Attribute)
    if not is_host_copy(call) or context.loops.innermost(call) is None:
        return None
    for batch in context.batches.all:
        if not context.index.within(call, batch.loop) or not _each_turn(context, call, batch.loop):
            continue
        if _is_asked_for(context, call, batch.loop):
            continue
        part = _part(context, call.func.value, batch, moved=False, depth=_DEPTH)
        if part is _Part.MOVED:
            return batch
    return None


def _each_turn(context: Context, node: ast.AST, loop: Loop) -> bool:
    inner = context.loops.innermost(node)
    return inner is loop and context.loops.every_step(node, loop)


def _is_asked_for(context: Context, node: ast.AST, loop: Loop) -> bool:
    """Whether only a run that was asked for it comes to `node`: below `if args.save_images:`."""
    child = node
    for parent in context.index.ancestors(node):
        if parent is loop:
            return False
        if isinstance(parent, ast.If | ast.IfExp) and child is not parent.test:
            test = parent.test
            if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                test = test.operand
            test = root_of(test, ast.Attribute)
            if isinstance(test, ast.Name) and not _is_bound_in(context, test, loop):
                return True
        child = parent
    return False


def _is_bound_in(context: Context, name: ast.Name, loop: Loop) -> bool:
    return any(
        isinstance(use.ctx, ast.Store) and context.index.within(use, loop)
        for use in context.index.names.get(name.id, ())
    )


class _Part(enum.Enum):
    """What a tensor is of a batch."""

    AS_LOADED = "as the loader gave it"
    MOVED = "moved to a device, at least where there is one"


def _part(
    context: Context, node: ast.expr, batch: Batch, *, moved: bool, depth: int
) -> _Part | None:
    """What `node` is, if it is a part of the batch and nothing else; what the arm of a test moves
    (`if use_cuda: y = y.cuda()`) is moved."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Subscript) or (
            isinstance(node, ast.Attribute) and node.attr in ("data", "T", "mT")
        ):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if is_host_copy(node):
                return None
            if node.func.attr in ("to", "cuda"):
                moved = moved or not context.values.of(node).on_cpu
            elif node.func.attr not in _VIEWS:
                return None
            node = node.func.value
        else:
            return None
    if not depth or _is_changed(context, node, batch):
        return None
    bindings = context.flow.reaching(node)
    if node.id == batch.whole or node.id in batch.parts:
        if bindings and all(item.node is batch.loop for item in bindings):
            return _Part.MOVED if moved else _Part.AS_LOADED
    ways = set()
    for binding in bindings:
        item = bound_part(binding, node.id)
        if item is None or not context.index.within(item, batch.loop):
            return None
        ways.add(_part(context, item, batch, moved=moved, depth=depth - 1))
    if not ways or None in ways:
        return None
    return _Part.MOVED if _Part.MOVED in ways else _Part.AS_LOADED


def _is_changed(context: Context, name: ast.Name, batch: Batch) -> bool:
    """Whether the loop writes into what the name holds."""
    for use in context.index.names.get(name.id, ()):
        parent = context.index.parents[use]
        if not context.index.within(use, batch.loop):
            continue
        if isinstance(parent, ast.AugAssign) and parent.target is use:
            return True
        if isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store):
            return True
        if isinstance(parent, ast.Attribute) and parent.attr.endswith("_"):
            if parent.attr not in _VIEWS and isinstance(context.index.parents[parent], ast.Call):
                return True
    return False


def read_under_switch(context: Context, call: ast.Call) -> tuple[Loop, ast.expr] | None:
    """The loop that copies at each turn what is read under a switch alone, and the switch."""
    statement = context.index.statement(call)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    loop = context.loops.innermost(statement)
    if not isinstance(target, ast.Name) or loop is None:
        return None
    if context.loops.kind(loop) is LoopKind.NONE or not context.loops.every_step(statement, loop):
        return None
    switches = []
    arms: dict[str, bool] = {}
    for use in reads_of(context, target):
        switch = _switch(context, use, statement, loop)
        if switch is None:
            return None
        test, inside = switch
        if arms.setdefault(ast.unparse(test), inside) is not inside or len(arms) > 1:
            return None  # One arm or the other reads it.
        if is_default(context, test, inside):
            return None  # Who asks for nothing else reads it.
        switches.append(test)
    return (loop, switches[0]) if switches else None


def _switch(
    context: Context, use: ast.Name, statement: ast.stmt, loop: Loop
) -> tuple[ast.expr, bool] | None:
    """The outermost test around `use` in the loop that says the same at all of its turns, and what
    it says there."""
    child: ast.AST = use
    found = None
    for parent in context.index.ancestors(use):
        if parent is loop:
            return found
        if isinstance(parent, ast.If | ast.IfExp) and child is not parent.test:
            inside = context.index.within(statement, parent)
            if not inside and _is_switch(context, parent.test, loop):
                arm = parent.body if isinstance(parent.body, list) else [parent.body]
                found = parent.test, child in arm
        child = parent
    return None


def _is_switch(context: Context, test: ast.expr, loop: Loop) -> bool:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _is_switch(context, test.operand, loop)
    if isinstance(test, ast.BoolOp):
        return any(_is_switch(context, item, loop) for item in test.values) and isinstance(
            test.op, ast.And
        )
    root, spelled = test, ast.unparse(test)
    root = root_of(root, ast.Attribute)
    if not isinstance(root, ast.Name):
        return False
    same: list[ast.expr] = list(context.index.names.get(root.id, ()))
    if isinstance(test, ast.Attribute):
        named = context.index.attributes.get(test.attr, ())
        same += [use for use in named if ast.unparse(use) == spelled]
    return not any(
        isinstance(use.ctx, ast.Store) and context.index.within(use, loop)  # type: ignore[attr-defined]
        for use in same
    )
