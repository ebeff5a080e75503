"""Tensors that are on a device because of what is done with them, or by what a function is for.

`score(signal, lengths).cpu().numpy()`: what `score` returns has to be copied, so it computes on a
device, and there its operands are, too: `(lengths < 3).numpy()` beside it has no copy. And what is
offloaded comes from a device.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.semantics.terms.value import CPU_ONLY, Kind
from mpslint.semantics.values.placement import is_host_copy

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.names.names import Binding
    from mpslint.semantics.syntax.index import FunctionNode

_DEPTH = 6


def copied_beside(context: Context, tensor: ast.expr) -> ast.Call | None:
    """The call in the same function that takes what `tensor` is computed from, and whose result is
    copied to the CPU; None where there is none, or where it is known where `tensor` is."""
    value = context.values.of(tensor)
    if value.kind is not Kind.TENSOR or value.devices is not None:
        return None
    function = context.index.function(tensor)
    if function is None or not context.index.calls.get("cpu"):
        return None
    sources = _sources(context, tensor)
    if not sources:
        return None
    for copy in context.index.calls["cpu"]:
        if context.index.function(copy) is not function or not is_host_copy(copy):
            continue
        for call in _chain(copy):
            for argument in (*call.args, *(keyword.value for keyword in call.keywords)):
                if isinstance(argument, ast.Name) and sources & _sources(context, argument):
                    return call
    return None


def _chain(copy: ast.Call) -> Iterator[ast.Call]:
    """The calls that the chain in front of a `.cpu()` holds."""
    node: ast.AST = copy.func
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        if isinstance(node, ast.Call):
            yield node
        node = node.func if isinstance(node, ast.Call) else node.value


def _sources(context: Context, node: ast.expr) -> set[Binding]:
    """The bindings of tensors, not known to be on the CPU, from which `node` is computed by what
    stays on one device: arithmetic, comparisons, methods, indexing."""
    found: set[Binding] = set()
    seen: set[Binding] = set()
    pending = [(name, 0) for name in _operands(node)]
    while pending:
        name, depth = pending.pop()
        for binding in context.flow.reaching(name):
            if binding in seen or binding.kind != "assign" or binding.value is None:
                continue
            seen.add(binding)
            value = context.values.of(binding.value)
            if value.kind is not Kind.TENSOR:
                continue
            if value.devices != CPU_ONLY:
                found.add(binding)
            if depth < _DEPTH:
                pending += [(operand, depth + 1) for operand in _operands(binding.value)]
    return found


def _operands(node: ast.expr) -> Iterator[ast.Name]:
    if isinstance(node, ast.Name):
        yield node
    elif isinstance(node, ast.BinOp):
        yield from _operands(node.left)
        yield from _operands(node.right)
    elif isinstance(node, ast.Compare):
        for side in (node.left, *node.comparators):
            yield from _operands(side)
    elif isinstance(node, ast.UnaryOp):
        yield from _operands(node.operand)
    elif isinstance(node, ast.Subscript):
        yield from _operands(node.value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if not is_host_copy(node) and node.func.attr != "to":
            yield from _operands(node.func.value)


def offloaded(context: Context, tensor: ast.expr) -> FunctionNode | None:
    """The function around that offloads its parameter `tensor`, by its name, and says nothing of
    the CPU; it looks at the type of a tensor of torch."""
    if not isinstance(tensor, ast.Name):
        return None
    function = context.index.function(tensor)
    if function is None or not matches("offloading-functions", function.name):
        return None
    start, end = context.source.span(function)
    if matches("cpu-words", context.source.text[start:end]):
        return None
    bindings = context.flow.reaching(tensor)
    if not any(item.kind == "parameter" for item in bindings):
        return None
    return function if _is_torch(context, function, tensor.id) else None


def _is_torch(context: Context, function: FunctionNode, name: str) -> bool:
    """Whether `x.view(torch.int16)` or `x.dtype == torch.bfloat16` stands in the function."""
    for node in context.index.names.get(name, ()):
        if context.index.function(node) is not function:
            continue
        parent = context.index.parents[node]
        if not isinstance(parent, ast.Attribute):
            continue
        around = context.index.parents[parent]
        others: list[ast.expr] = []
        if parent.attr == "dtype" and isinstance(around, ast.Compare):
            others = [around.left, *around.comparators]
        elif parent.attr in ("view", "to", "type") and isinstance(around, ast.Call):
            others = around.args
        if any((context.resolve(other) or "").startswith("torch.") for other in others):
            return True
    return False
