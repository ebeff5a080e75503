"""What a program does on a machine with CUDA, whoever calls it and whatever the user asks.

Guards say what holds where code runs; a fix must know the opposite as well: which arm a machine
with CUDA takes, for certain. `device.type == "cuda"` says nothing of the machine here.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.names.flow import leaves
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_ANSWERS = {
    "torch.cuda.is_available": True,
    "torch.cuda.device_count": True,
    "torch.backends.cuda.is_built": True,
    "torch.accelerator.is_available": True,
    "torch.backends.mps.is_available": False,
    "torch.backends.mps.is_built": False,
    "torch.mps.is_available": False,
    "torch.mps.device_count": False,
    "torch.xpu.is_available": False,
    "torch.npu.is_available": False,
}
_DEPTH = 6


def outcome(context: Context, test: ast.expr, depth: int = _DEPTH) -> bool | None:
    """How `test` comes out where CUDA is; None where that is not the machine's alone to say."""
    if depth == 0:
        return None
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = outcome(context, test.operand, depth)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        return _combined(test, [outcome(context, value, depth) for value in test.values])
    if isinstance(test, ast.IfExp):
        chosen = outcome(context, test.test, depth)
        if chosen is None:
            return None
        return outcome(context, test.body if chosen else test.orelse, depth - 1)
    if isinstance(test, ast.Compare):
        return _compared(context, test, depth)
    if isinstance(test, ast.Call):
        return _called(context, test, depth)
    if isinstance(test, ast.Name | ast.Attribute):
        decided = context.guards.behind(test)
        if decided is test:
            return _imported(context, test, depth)
        return outcome(context, decided, depth - 1)
    return None


def _imported(context: Context, flag: ast.Name | ast.Attribute, depth: int) -> bool | None:
    """`from config import USE_CUDA`, where that asks the machine; one that is written out there is
    what its user sets it to."""
    name = context.resolve(flag)
    found = context.definition_elsewhere(name) if name is not None and "." in name else None
    if found is None or len(found.bindings) != 1 or found.bindings[0].kind != "assign":
        return None
    value = found.bindings[0].value
    if value is None or isinstance(value, ast.Constant):
        return None
    return outcome(found.context, value, depth - 1)


def _combined(test: ast.BoolOp, parts: list[bool | None]) -> bool | None:
    absorbing = isinstance(test.op, ast.Or)
    if absorbing in parts:
        return absorbing
    return None if None in parts else not absorbing


def _compared(context: Context, test: ast.Compare, depth: int) -> bool | None:
    """`torch.cuda.is_available() is True`, and what `_counted` knows."""
    right = test.comparators[0]
    if len(test.ops) == 1 and isinstance(right, ast.Constant) and isinstance(right.value, bool):
        inner = outcome(context, test.left, depth - 1)
        if inner is not None and isinstance(test.ops[0], ast.Is | ast.Eq):
            return inner is right.value
        return None
    return _counted(context, test)


def _counted(context: Context, test: ast.Compare) -> bool | None:
    """`torch.cuda.device_count() > 0`, `sys.platform == "darwin"`"""
    if len(test.ops) != 1 or not isinstance(test.comparators[0], ast.Constant):
        return None
    number, operator = test.comparators[0].value, test.ops[0]
    left = test.left.func if isinstance(test.left, ast.Call) else test.left
    name = context.resolve(left)
    if name in ("sys.platform", "platform.system") and isinstance(operator, ast.Eq):
        return False if str(number).lower() == "darwin" else None
    if name != "torch.cuda.device_count" or not isinstance(number, int):
        return None
    if (isinstance(operator, ast.Gt), number) == (True, 0) or (
        isinstance(operator, ast.GtE) and number == 1
    ):
        return True
    if (isinstance(operator, ast.Lt), number) == (True, 1) or (
        isinstance(operator, ast.LtE) and number == 0
    ):
        return False
    if number == 0 and isinstance(operator, ast.Eq | ast.NotEq):
        return isinstance(operator, ast.NotEq)
    return None


def _called(context: Context, call: ast.Call, depth: int) -> bool | None:
    name = context.resolve(call.func)
    if name in _ANSWERS:
        return _ANSWERS[name]
    if isinstance(call.func, ast.Name) and call.func.id == "bool" and len(call.args) == 1:
        return outcome(context, call.args[0], depth)
    returns = returned_with_cuda(context, call)
    if returns is None or len(returns) != 1:
        return None
    return outcome(context, returns[0], depth - 1)


def returned_with_cuda(context: Context, call: ast.Call) -> list[ast.expr] | None:
    """What a function of this file, called without arguments, may return where CUDA is."""
    if not isinstance(call.func, ast.Name) or call.args or call.keywords:
        return None
    bindings = context.names.bindings(call.func.id, call.func)
    function = bindings[0].node if len(bindings) == 1 else None
    return reached_returns(context, function) if isinstance(function, FUNCTIONS) else None


def reached_returns(context: Context, function: FunctionNode) -> list[ast.expr] | None:
    """What `function` may return where CUDA is; None where it may return nothing."""
    reached = [item.value for item in context.index.returns(function) if runs(context, item)]
    if not reached or any(value is None for value in reached):
        return None
    return [value for value in reached if value is not None]


def runs(context: Context, node: ast.AST) -> bool:
    """Whether `node` may run where CUDA is, within its function; False: for certain never."""
    child = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, ast.If | ast.IfExp):
            taken = outcome(context, parent.test) if child is not parent.test else None
            body = parent.body if isinstance(parent.body, list) else [parent.body]
            if taken is not None and taken != any(item is child for item in body):
                return False
        if isinstance(child, ast.stmt) and _left_before(context, parent, child):
            return False
        if isinstance(parent, (*FUNCTIONS, ast.Lambda)):
            return True
        child = parent
    return True


def _left_before(context: Context, parent: ast.AST, child: ast.stmt) -> bool:
    """Whether a machine with CUDA leaves the block in front of `child`."""
    for field in ("body", "orelse", "finalbody"):
        block = getattr(parent, field, None)
        if not isinstance(block, list) or not any(item is child for item in block):
            continue
        for statement in block:
            if statement is child:
                return False
            if isinstance(statement, ast.If):
                taken = outcome(context, statement.test)
                if taken is not None and leaves(statement.body if taken else statement.orelse):
                    return True
    return False
