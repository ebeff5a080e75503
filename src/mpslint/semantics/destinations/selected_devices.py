"""Whether a device that a program selects is CUDA wherever the machine has CUDA.

A fix may put such a device in the place of `"cuda"` and `.cuda()`: with CUDA nothing changes. One
that the user or a caller chooses may be the CPU there, and is no such device.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.destinations.cuda_machine import (
    outcome,
    reached_returns,
    returned_with_cuda,
    runs,
)
from mpslint.semantics.devices.gpu_numbers import type_given
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode
from mpslint.semantics.syntax.parameters import given_for
from mpslint.semantics.terms.facts_known import backend_word

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.semantics.context import Context
    from mpslint.semantics.names.names import Binding

_DEPTH = 6


def picks_cuda(context: Context, node: ast.expr, depth: int = _DEPTH) -> bool:
    """Whether `node`, evaluated where CUDA is, surely names a CUDA device."""
    if depth <= 0:
        return False
    if isinstance(node, ast.Constant):
        return backend_word(node) == "cuda"
    if isinstance(node, ast.IfExp):
        return _conditional(context, node, depth)
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        return picks_cuda(context, node.values[0], depth - 1)  # a device is never false
    if isinstance(node, ast.Call):
        if context.resolve(node.func) == "torch.accelerator.current_accelerator":
            return True
        if context.resolve(node.func) == "torch.device":
            given = type_given(node)
            return given is not None and picks_cuda(context, given, depth - 1)
        return _called(context, node, depth)
    if isinstance(node, ast.Name):
        return all_bind_cuda(context, context.flow.reaching(node), depth - 1)
    if isinstance(node, ast.Attribute):
        if node.attr == "type" and isinstance(node.value, ast.Call | ast.BoolOp):
            return picks_cuda(context, node.value, depth - 1)  # `get_device().type`
        return assigned_cuda(context, node, depth - 1)
    return False


def _called(context: Context, call: ast.Call, depth: int) -> bool:
    """`get_device()`: a function without arguments, of this file or its project, that selects."""
    name = context.resolve(call.func)
    if name is not None and not call.args and not call.keywords:
        found = context.definition_elsewhere(name)
        function = found.bindings[0].node if found is not None else None
        if found is not None and len(found.bindings) == 1 and isinstance(function, FUNCTIONS):
            return returns_cuda(found.context, function, depth - 1)
    returned = returned_with_cuda(context, call)
    return returned is not None and all(picks_cuda(context, r, depth - 1) for r in returned)


def returns_cuda(context: Context, function: FunctionNode, depth: int = _DEPTH) -> bool:
    """Whether a function of this file, called where CUDA is, returns a CUDA device."""
    returned = reached_returns(context, function)
    return returned is not None and all(picks_cuda(context, r, depth - 1) for r in returned)


def all_bind_cuda(context: Context, bindings: Sequence[Binding], depth: int = _DEPTH) -> bool:
    """Whether a name to which these may have given its value is a CUDA device where CUDA is."""
    nodes = [binding.node for binding in bindings]
    return bool(bindings) and all(
        is_replaced(context, one.node, nodes) or binds_cuda(context, one, depth) for one in bindings
    )


def is_replaced(context: Context, node: ast.AST, others: Sequence[ast.AST]) -> bool:
    """Whether what `node` assigns is no more once one of `others` has run, as it does where CUDA
    is: `device = "cpu"` in front of `if torch.cuda.is_available(): device = "cuda"`."""
    own = context.index.statement(node)
    place = context.index.place(own)
    if place is None:
        return False
    block, at = place
    return any(_surely_runs_in(context, block[at + 1 :], other) for other in others)


def _surely_runs_in(context: Context, block: Sequence[ast.stmt], node: ast.AST) -> bool:
    """Whether a statement of this block holds `node`, in an arm that is taken where CUDA is."""
    statement = context.index.statement(node)
    while statement not in block:
        parent = context.index.parents.get(statement)
        if not isinstance(parent, ast.If):
            return False
        taken = outcome(context, parent.test)
        if taken is None or statement not in (parent.body if taken else parent.orelse):
            return False
        statement = parent
    return True


def binds_cuda(context: Context, binding: Binding, depth: int = _DEPTH) -> bool:
    """Whether a binding, where it runs on a machine with CUDA, gives its name a CUDA device."""
    if not runs(context, binding.node):
        return True
    if binding.kind in ("assign", "annotate", "walrus") and binding.value is not None:
        return picks_cuda(context, binding.value, depth)
    if binding.kind == "import" and binding.qualified:
        found = context.definition_elsewhere(binding.qualified)
        return found is not None and all(
            binds_cuda(found.context, item, depth - 1) for item in found.bindings
        )
    if binding.kind == "parameter" and isinstance(binding.node, ast.arg):
        return _callers_pass_cuda(context, binding.node, binding.value, depth)
    return False


def assigned_cuda(context: Context, node: ast.Attribute, depth: int = _DEPTH) -> bool:
    """The same for an attribute: all that this file (for `self`, this class) assigns to it."""
    values = context.guards.assigned(node)
    if isinstance(node.value, ast.Name) and node.value.id == "self":
        klass = context.index.enclosing(node, ast.ClassDef)
        values = [v for v in values if context.index.enclosing(v, ast.ClassDef) is klass]
    return bool(values) and all(
        not runs(context, value)
        or is_replaced(context, value, values)
        or picks_cuda(context, value, depth)
        for value in values
    )


def _conditional(context: Context, node: ast.IfExp, depth: int) -> bool:
    taken = outcome(context, node.test)
    if taken is None:
        return False
    return picks_cuda(context, node.body if taken else node.orelse, depth - 1)


def _callers_pass_cuda(
    context: Context, parameter: ast.arg, default: ast.expr | None, depth: int
) -> bool:
    """Whether every use of the function is a call in this file that gives it a CUDA device."""
    function = context.index.function(parameter)
    if function is None or depth == 0:
        return False
    named: FunctionNode | ast.ClassDef = function
    holder = context.index.parents[function]
    if function.name == "__init__" and isinstance(holder, ast.ClassDef):
        named, holder = holder, context.index.parents[holder]
    if not isinstance(holder, ast.Module):
        return False
    name = named.name
    uses = [use for use in context.index.names.get(name, ()) if isinstance(use.ctx, ast.Load)]
    if not uses or len(context.names.bindings(name, uses[0])) != 1:
        return False
    for use in uses:
        call = context.index.parents[use]
        if not isinstance(call, ast.Call) or call.func is not use:
            return False
        given = given_for(function.args, call, parameter.arg, skipped=int(named is not function))
        given = given or default
        if given is None or not picks_cuda(context, given, depth - 1):
            return False
    return True


def all_calls(context: Context, function: FunctionNode) -> list[ast.Call] | None:
    """The calls of a function of the module, all in this file; None: it is used otherwise, or
    somebody elsewhere may use it."""
    around = context.elsewhere
    if around is None or around.uses(context.source.path, function.name, method=False):
        return None
    uses = [x for x in context.index.names.get(function.name, ()) if isinstance(x.ctx, ast.Load)]
    if not uses or len(context.names.bindings(function.name, uses[0])) != 1:
        return None
    calls = [context.index.parents[use] for use in uses]
    found = [
        call
        for use, call in zip(uses, calls, strict=True)
        if isinstance(call, ast.Call) and call.func is use
    ]
    return found if len(found) == len(uses) else None
