"""A device put together from the number of a tensor's GPU: `torch.device(f"cuda:{number}")`, where
`number` is `x.get_device()`, is `x.device`, and so is a choice of the CPU where there is none."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Fix
from mpslint.patterns.operand import in_own_parentheses
from mpslint.patterns.text import holds_comment, replace_span

if TYPE_CHECKING:
    from mpslint.model import Edit
    from mpslint.semantics.context import Context
    from mpslint.semantics.devices.devices import Literal

_ASKS = "get_device"
_ON_A_GPU = ((ast.GtE, "0"), (ast.Gt, "-1"), (ast.NotEq, "-1"))
"""How the number of a tensor on a GPU is told from that of one on the CPU."""


def with_tensor(context: Context, literal: Literal) -> Fix | None:
    """The device of the tensor in place of one that is put together from the tensor's number."""
    number, made = literal.number, context.index.parents[literal.node]
    if number is None or not isinstance(made, ast.Call) or len(made.args) != 1 or made.keywords:
        return None
    asked = _asked(context, number)
    if asked is None or context.resolve(made.func) != "torch.device":
        return None
    tensor, given = asked
    parent = context.index.parents[made]
    chosen = _is_choice(context, parent, made, number)
    if isinstance(parent, ast.IfExp) and not chosen:
        return None
    node = parent if chosen else made
    start, end = context.source.span(node)
    if holds_comment(context.source, start, end):
        return None
    assert isinstance(node, ast.expr)
    if context.source.text[:start].rstrip(" \t\r\n").endswith("("):
        start, end = in_own_parentheses(context, node) or (start, end)
    edits: list[Edit] = [replace_span(context.source, start, end, f"{tensor.id}.device")]
    unread = _unread(context, given, node) if given is not None else None
    if unread is not None:
        edits.insert(0, replace_span(context.source, *unread, ""))
    fix = Fix(f"Use the device of {tensor.id}", tuple(edits), Applicability.SAFE)
    return fix._replace(follows=True)


def _asked(context: Context, number: ast.expr) -> tuple[ast.Name, ast.Assign | None] | None:
    """The tensor that is asked for its GPU, which is the same tensor where the number is read; and
    the statement that keeps the number."""
    call, given = number, None
    if isinstance(number, ast.Name):
        bindings = context.flow.reaching(number)
        if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].value is None:
            return None
        call = bindings[0].value
        statement = context.index.statement(call)
        given = statement if isinstance(statement, ast.Assign) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    tensor = call.func.value
    if call.func.attr != _ASKS or call.args or call.keywords or not isinstance(tensor, ast.Name):
        return None
    if context.flow.reaching(tensor) != context.flow.reaching_name(tensor.id, number):
        return None
    return tensor, given


def _is_choice(context: Context, node: ast.AST, made: ast.Call, number: ast.expr) -> bool:
    """`torch.device(...) if number >= 0 else torch.device("cpu")`."""
    if not isinstance(node, ast.IfExp) or node.body is not made:
        return False
    test = node.test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    if ast.dump(test.left) != ast.dump(number):
        return False
    bound = ast.unparse(test.comparators[0])
    if not any(isinstance(test.ops[0], kind) and bound == least for kind, least in _ON_A_GPU):
        return False
    return context.values.of(node.orelse).devices == frozenset({"cpu"})


def _unread(context: Context, given: ast.Assign, node: ast.AST) -> tuple[int, int] | None:
    """The line that keeps the number, where nobody else reads it and it is all of its line."""
    target, source = given.targets[0], context.source
    if len(given.targets) != 1 or not isinstance(target, ast.Name):
        return None
    scope = context.names.owner(target.id, target)
    for use in context.index.names.get(target.id, ()):
        if use is target or context.names.owner(target.id, use) is not scope:
            continue
        if not context.index.within(use, node):
            return None
    block = [
        one
        for one in ast.iter_child_nodes(context.index.parents[given])
        if isinstance(one, ast.stmt)
    ]
    at = block.index(given)
    if at + 1 >= len(block) or given.end_lineno != given.lineno:
        return None
    start, end = source.starts[given.lineno - 1], source.starts[given.lineno]
    is_alone = source.text[start:end].strip() == source.segment(given)
    return (start, end) if is_alone and block[at + 1].lineno > given.lineno else None
