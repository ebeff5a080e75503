"""What follows `x.is_cuda` follows the device of `x` instead, whatever that is."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Edit, Fix
from mpslint.patterns.calls import is_cuda_move, rewrite_call
from mpslint.patterns.selection import Reference
from mpslint.patterns.statements import can_dedent, dedent_body
from mpslint.patterns.text import holds_comment, replace_span

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def follow_level(context: Context, test: ast.expr) -> Applicability | None:
    """What `follow_tensor` will come to; None: no fix."""
    if _asked(context, test) is None:
        return None
    parent = context.index.parents[test]
    if isinstance(parent, ast.IfExp):
        safe = _chooses(context, parent)
    else:
        assert isinstance(parent, ast.If)
        safe = _moves(context, parent) is not None and can_dedent(context, parent)
    return Applicability.SAFE if safe else None


def follow_tensor(context: Context, test: ast.expr) -> Fix | None:
    """`x.device` in place of a device that is chosen by `x.is_cuda`; and moves to it in place of
    moves to CUDA that are made where `x` is there."""
    if follow_level(context, test) is None:
        return None
    parent, device = context.index.parents[test], _asked(context, test)
    assert device is not None
    edits: list[Edit] = []
    if isinstance(parent, ast.IfExp):
        start, end = _with_parentheses(context, parent)
        edits = [replace_span(context.source, start, end, device.text)]
    elif isinstance(parent, ast.If):
        for call in _moves(context, parent) or ():
            edits += rewrite_call(context, call, device) or ()
        moved = dedent_body(context, parent, edits)
        if moved is None:
            return None
        edits = [moved]
    message = "Follow the device of the tensor"
    return Fix(message, tuple(edits), Applicability.SAFE, follows=True)


def gate_of(context: Context, call: ast.Call) -> ast.expr | None:
    """The test of the `if x.is_cuda:` around a move."""
    statement = context.index.statement(call)
    gate = context.index.parents.get(statement)
    if isinstance(gate, ast.If) and _asked(context, gate.test) is not None:
        return gate.test
    return None


def _asked(context: Context, test: ast.expr) -> Reference | None:
    """The device of the tensor of which `test` asks whether it is on CUDA, and nothing else."""
    if not isinstance(test, ast.Attribute) or test.attr != "is_cuda":
        return None
    parent = context.index.parents[test]
    if not isinstance(parent, ast.If | ast.IfExp) or parent.test is not test:
        return None
    if not _is_repeatable(test.value) or holds_comment(context.source, *context.source.span(test)):
        return None
    return Reference(f"{context.source.segment(test.value)}.device", False, ())


def _is_repeatable(asked: ast.expr) -> bool:
    """A name, an item of one, the first parameter of a module: asked again, it is the same."""
    return all(
        isinstance(call.func, ast.Name | ast.Attribute)
        and ast.unparse(call.func).rpartition(".")[2] in ("next", "parameters")
        for call in ast.walk(asked)
        if isinstance(call, ast.Call)
    )


def _chooses(context: Context, choice: ast.IfExp) -> bool:
    """`torch.device("cuda") if x.is_cuda else torch.device("cpu")`"""
    return (
        _is_device(context, choice.body, "cuda")
        and _is_device(context, choice.orelse, "cpu")
        and not holds_comment(context.source, *_with_parentheses(context, choice))
    )


def _is_device(context: Context, node: ast.expr, device: str) -> bool:
    return (
        isinstance(node, ast.Call)
        and context.resolve(node.func) == "torch.device"
        and len(node.args) == 1
        and not node.keywords
        and isinstance(node.args[0], ast.Constant)
        and node.args[0].value == device
    )


def _moves(context: Context, gate: ast.If) -> list[ast.Call] | None:
    """The moves of `if x.is_cuda: y = y.cuda()`; None where the `if` does anything else."""
    if gate.orelse:
        return None
    found = []
    for statement in gate.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return None
        call = statement.value
        if not isinstance(call, ast.Call) or not is_cuda_move(call) or call.args or call.keywords:
            return None
        assert isinstance(call.func, ast.Attribute)
        if ast.unparse(statement.targets[0]) != ast.unparse(call.func.value):
            return None
        found.append(call)
    return found


def _with_parentheses(context: Context, choice: ast.IfExp) -> tuple[int, int]:
    """The span of a choice, with the parentheses that stand around it as the value of a name."""
    source, (start, end) = context.source, context.source.span(choice)
    if not isinstance(context.index.parents[choice], ast.Assign):
        return start, end
    head, tail = source.text[:start].rstrip(), source.text[end:].lstrip()
    if head.endswith("(") and tail.startswith(")"):
        return len(head) - 1, len(source.text) - len(tail) + 1
    return start, end
