"""Copies to the CPU that are made only where CUDA is, of what goes on to where nobody looks.

`return t.cpu() if use_gpu else t` gives back what it was given on a Mac: whoever gives that to
NumPy, keeps it beside tensors of the CPU or hands it to another process raises once it is on MPS.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode
from mpslint.semantics.worlds.machines import MACS, NVIDIA

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_CPU = "cpu"
_ASKING = "is_cuda"
# Fact: of a tensor on MPS these give numbers, or what is on the CPU; the linter mends `.numpy()`.
_READ = frozenset({"numpy", "item", "tolist", "cpu", "save", "backward", "size", "dim", "shape"})
_COPIED = frozenset({_CPU, "to", "numpy", "item", "tolist"})
"""What an arm makes of a tensor that is no tensor of the device any more; where it is no tensor a
rule looks at the read itself."""
_SHOWING = frozenset({"print", "float", "int", "str", "len", "bool", "save", "format", "repr"})
_GATES = (ast.IfExp, ast.If)


def copied_on_cuda(context: Context) -> Iterator[ast.Call]:
    """Calls of `.cpu()`, and their like, that a Mac goes by, where their result is told others."""
    for call in _copies(context):
        gate = _gate(context, call)
        if gate is None:
            continue
        if isinstance(gate, ast.IfExp):
            if _goes_on(context, gate):
                yield call
        elif _ends_in_return(context, call) or _is_handed_on(context, call):
            yield call


def _copies(context: Context) -> Iterator[ast.Call]:
    for call in context.index.calls.get(_CPU, ()):
        if isinstance(call.func, ast.Attribute) and not call.args:
            yield call
    for call in context.index.calls.get("to", ()):
        if isinstance(call.func, ast.Attribute) and len(call.args) == 1:
            given = call.args[0]
            if isinstance(given, ast.Call) and last_name(given.func) == "device" and given.args:
                given = given.args[0]
            if isinstance(given, ast.Constant) and given.value == _CPU:
                yield call


def _gate(context: Context, call: ast.Call) -> ast.IfExp | ast.If | None:
    """The conditional of which only CUDA's arm copies something that the other arm takes as it
    is."""
    name = _base(call)
    if name is None:
        return None
    inner: ast.AST = call
    for outer in context.index.ancestors(call):
        if isinstance(outer, FUNCTIONS):
            return None
        if isinstance(outer, _GATES) and inner is not outer.test:
            if _is_for_cuda(context, outer, inner, call) and _takes_as_is(
                context, outer, inner, name
            ):
                return outer
            return None
        inner = outer
    return None


def _is_for_cuda(context: Context, gate: ast.IfExp | ast.If, arm: ast.AST, call: ast.Call) -> bool:
    """Whether no Mac comes to a copy, be its tensor on MPS or not, and one comes that far."""
    if context.guards.on_cuda(gate) or not context.worlds.reach(gate) & MACS:
        return False
    worlds = context.worlds.comes_to(call)
    if context.guards.on_cuda(call) or (worlds & NVIDIA and not worlds & MACS):
        return True
    test, arms = gate.test, gate.body if isinstance(gate, ast.If) else [gate.body]
    is_first = arm in arms
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, is_first = test.operand, not is_first
    if isinstance(test, ast.Call) and last_name(test.func) == "getattr" and len(test.args) > 1:
        asked = test.args[1]
        return is_first and isinstance(asked, ast.Constant) and asked.value == _ASKING
    name = last_name(test)
    return is_first and (name == _ASKING or matches("cuda-switches", name))


def _base(node: ast.AST) -> str | None:
    """The tensor that is copied, as it is written, but for what its methods make of it."""
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            node = node.func.value
        elif isinstance(node, ast.Attribute) and node.attr in ("data", "T"):
            node = node.value
        else:
            return ast.unparse(node) if isinstance(node, ast.expr) else None


def _takes_as_is(context: Context, gate: ast.IfExp | ast.If, arm: ast.AST, name: str) -> bool:
    if isinstance(gate, ast.IfExp):
        other = gate.orelse if arm is gate.body else gate.body
        return _base(other) == name and not _copied(other) & _COPIED
    # What an arm of its own does instead is what a rule looks at.
    return gate.body[-1] is arm and not gate.orelse


def _copied(node: ast.expr) -> frozenset[str]:
    return frozenset(one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute))


def _ends_in_return(context: Context, call: ast.Call) -> bool:
    """`if x.is_cuda: return x.cpu()`, with another way out of the function behind it."""
    statement = context.index.statement(call)
    if not isinstance(statement, ast.Return) or statement.value is None:
        return False
    chain = _chain(context, call)
    function = context.index.function(call)
    return chain is statement.value and function is not None and _is_taken(context, function)


def _is_handed_on(context: Context, call: ast.Call) -> bool:
    """`if x.is_cuda: x = x.cpu()`, and what becomes of `x`."""
    statement = context.index.statement(call)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    if not isinstance(target, ast.Name) or target.id != _base(call):
        return False
    return _chain(context, call) is statement.value and _name_goes_on(context, target)


def _name_goes_on(context: Context, target: ast.Name) -> bool:
    scope = context.names.scope_of(target)
    return any(
        isinstance(use.ctx, ast.Load)
        and use.lineno > target.lineno
        and context.names.owner(target.id, use) is scope
        and _goes_on(context, use)
        for use in context.index.names.get(target.id, ())
    )


def _chain(context: Context, node: ast.expr) -> ast.expr:
    """What is made of something by its methods, as far as that is a tensor; what is read of it is
    no tensor."""
    while True:
        parent = context.index.parents.get(node)
        is_of = isinstance(parent, ast.Attribute | ast.Subscript) and parent.value is node
        if not is_of and not (isinstance(parent, ast.Call) and parent.func is node):
            return node
        assert isinstance(parent, ast.expr)
        node = parent


def _goes_on(context: Context, node: ast.expr) -> bool:
    """Whether a tensor is given back, kept, or given to what is not known to only show it."""
    end = _chain(context, node)
    if end is not node and _copied(end) & _READ:
        return False
    parent = context.index.parents.get(end)
    if isinstance(parent, ast.Return | ast.Yield):
        function = context.index.function(node)
        return function is not None and _is_taken(context, function)
    if isinstance(parent, ast.Call):
        return last_name(parent.func) not in _SHOWING
    if isinstance(parent, ast.Lambda | ast.ListComp | ast.GeneratorExp | ast.List | ast.Tuple):
        return True
    if isinstance(parent, ast.Dict | ast.DictComp | ast.AugAssign | ast.keyword):
        return True
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1:
        target = parent.targets[0]
        if isinstance(target, ast.Name):
            return isinstance(node, ast.IfExp) and _name_goes_on(context, target)
        return isinstance(target, ast.Subscript | ast.Attribute)
    return False


def _is_taken(context: Context, function: FunctionNode) -> bool:
    """Whether somebody takes what a function gives back, other than by what a rule mends."""
    owner = context.index.parents.get(function)
    is_method = isinstance(owner, ast.ClassDef)
    uses = [
        use
        for use in (
            *context.index.names.get(function.name, ()),
            *context.index.attributes.get(function.name, ()),
        )
        if not context.index.within(use, function)
    ]
    for use in uses:
        called = context.index.parents.get(use)
        if not isinstance(called, ast.Call) or called.func is not use:
            return True
        end = _chain(context, called)
        parent = context.index.parents.get(end)
        if end is not called and _copied(end) & _READ:
            continue
        if isinstance(parent, ast.Expr) or (
            isinstance(parent, ast.Call) and last_name(parent.func) in _SHOWING
        ):
            continue
        return True
    others = context.elsewhere
    return others is not None and bool(
        others.uses(context.source.path, function.name, method=is_method)
    )
