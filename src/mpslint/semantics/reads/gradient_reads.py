"""Loops over parameters that read a number of each gradient.

`for p in model.parameters(): total += p.grad.norm().item() ** 2` waits once for each parameter,
where the norms could be stacked and read once. There are gradients only while something trains, so
that what reads them runs again and again, whatever the file says of steps and devices, unless it is
seen that only every hundredth step does, or nobody. What lies on the CPU waits for nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.loops.step_calls import called_by_name
from mpslint.semantics.operands.operand_pairs import given_by_name
from mpslint.semantics.reads.number_reads import read_tensor
from mpslint.semantics.steps.often_run import is_often_run
from mpslint.semantics.syntax.expressions import names_in
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode
from mpslint.semantics.values.placement import has_host_copy, is_host_copy
from mpslint.semantics.worlds.machines import MACS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_PARAMETERS = ("parameters", "named_parameters")
_READS = ("item", "float")
_MOVES = ("to", "cuda", "cpu", "to_empty")
_NAMES_FOLLOWED = 2
"""`grads = p.grad.detach()`, `norm = grads.norm()`, and the read."""


class GradientRead(NamedTuple):
    node: ast.expr
    """The first of the loop."""
    loop: ast.For
    others: tuple[ast.expr, ...]


def gradient_reads(context: Context) -> Iterator[GradientRead]:
    """The first of each loop, in source order."""
    found: dict[ast.For, list[ast.expr]] = {}
    if not any(name in context.index.calls for name in _PARAMETERS):
        return
    reads = [call for name in _READS for call in context.index.calls.get(name, ())]
    for call in sorted(reads, key=lambda item: (item.lineno, item.col_offset)):
        tensor = read_tensor(call)
        loop = _over_parameters(context, call)
        if tensor is None or loop is None or not context.loops.every_step(call, loop):
            continue
        if _is_tested(context, call) or not context.worlds.reach(call) & MACS:
            continue
        if context.values.of(tensor).on_cpu or not _is_of_gradient(context, tensor, loop):
            continue
        found.setdefault(loop, []).append(call)
    for loop, (first, *others) in found.items():
        if is_often_run(context, loop):
            yield GradientRead(first, loop, tuple(others))


def _over_parameters(context: Context, node: ast.AST) -> ast.For | None:
    """The innermost loop around `node` in its function, if it walks through the parameters of a
    module that does not lie on the CPU."""
    loop = context.loops.innermost(node)
    if not isinstance(loop, ast.For) or context.index.function(loop) is None:
        return None
    walked = [loop.iter]
    if isinstance(loop.iter, ast.Name):
        walked = [item.value for item in context.flow.reaching(loop.iter) if item.value is not None]
    for item in (item for one in walked for item in ast.walk(one)):
        if isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute):
            if item.func.attr in _PARAMETERS and not item.args:
                return None if _lies_on_host(context, item.func.value, loop) else loop
    return None


def _lies_on_host(context: Context, module: ast.expr, loop: ast.For) -> bool:
    """Whether a module that a loop walks through lies on the CPU, by what it is made of, by the
    last of its moves, or by what all calls of the function give."""
    if context.values.of(module).on_cpu:
        return True
    function = context.index.function(loop)
    moves = [] if function is None else _moves_before(context, module, loop, function)
    if moves:
        return is_host_copy(moves[-1]) and _leads_to(context, moves[-1], loop)
    if not isinstance(module, ast.Name) or function is None:
        return False
    if any(binding.kind != "parameter" for binding in context.flow.reaching(module)):
        return False
    given = [
        given_by_name(context, call).get(module.id) for call in called_by_name(context, function)
    ]
    return bool(given) and all(
        item is not None and context.values.of(item).on_cpu for item in given
    )


def _moves_before(
    context: Context, module: ast.expr, loop: ast.For, function: FunctionNode
) -> list[ast.Call]:
    """Calls of a function that move the same module before the loop, which they do in place."""
    text = ast.unparse(module)
    bindings = context.flow.reaching(module) if isinstance(module, ast.Name) else ()
    found = []
    for call in (call for name in _MOVES for call in context.index.calls.get(name, ())):
        moved = call.func.value if isinstance(call.func, ast.Attribute) else None
        if moved is None or call.lineno >= loop.lineno or ast.unparse(moved) != text:
            continue
        if context.index.function(call) is not function:
            continue
        if not isinstance(moved, ast.Name) or context.flow.reaching(moved) == bindings:
            found.append(call)
    return sorted(found, key=lambda item: (item.lineno, item.col_offset))


def _leads_to(context: Context, call: ast.Call, loop: ast.For) -> bool:
    """Whether nobody comes to the loop but by way of a call before it."""
    statement = context.index.statement(call)
    if not isinstance(statement, ast.Expr | ast.Assign):
        return False
    return any(item in context.index.block(statement) for item in (loop, *_around(context, loop)))


def _around(context: Context, node: ast.AST) -> Iterator[ast.AST]:
    for parent in context.index.ancestors(node):
        if isinstance(parent, FUNCTIONS):
            return
        yield parent


def _is_of_gradient(
    context: Context, tensor: ast.expr, loop: ast.For, names: int = _NAMES_FOLLOWED
) -> bool:
    """Whether a tensor is made of `p.grad`, where the loop walks through `p`."""
    if has_host_copy(tensor):
        return False
    targets = names_in(loop.target)
    for item in ast.walk(tensor):
        if isinstance(item, ast.Attribute) and item.attr == "grad":
            if isinstance(item.value, ast.Name) and item.value.id in targets:
                return True
        elif names and isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load):
            for binding in context.flow.reaching(item):
                if binding.kind == "assign" and binding.value is not None:
                    if context.index.within(binding.node, loop) and _is_of_gradient(
                        context, binding.value, loop, names - 1
                    ):
                        return True
    return False


def _is_tested(context: Context, read: ast.expr) -> bool:
    """Whether the number is asked for in a test at once: what is done with the parameter hangs on
    it."""
    for parent in context.index.ancestors(read):
        if isinstance(parent, ast.If | ast.IfExp | ast.While | ast.Assert):
            return context.index.within(read, parent.test)
        if isinstance(parent, (ast.stmt, *FUNCTIONS)):
            return False
    return False
