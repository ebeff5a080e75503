"""Whole outputs that an evaluation copies to the host batch by batch and keeps for its end.

Nothing in the turn needs them there, and on a Mac the memory of both sides is one, so that they
could stay on the device until one copy behind the loop.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.loops.loops import Loop, LoopKind
from mpslint.semantics.syntax.expressions import last_name, names_in
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode
from mpslint.semantics.terms.value import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_JOINING = ("torch.cat", "torch.concat", "torch.stack", "torch.hstack", "torch.vstack")
_NAMES_FOLLOWED = 3
"""`out = model(x)`, `best = out.max(1)[1]`, `hits = best.eq(y)`, and what is read."""
_OF_TENSORS = frozenset({"to", "cuda", "cpu", "float", "long", "detach", "view", "size", "item"})
_ON_PURPOSE = (
    ("empty_cache", "torch."),
    ("time", "time."),
    ("perf_counter", "time."),
    ("monotonic", "time."),
)
"""What a loop calls that frees memory, or whose times would be wrong without the wait."""


def whole(context: Context, node: ast.expr) -> ast.expr:
    """The chain of attributes and calls that `node` begins: `x.cpu().numpy()`."""
    while True:
        parent = context.index.parents[node]
        chained = isinstance(parent, ast.Attribute) or (
            isinstance(parent, ast.Call) and parent.func is node
        )
        if not chained:
            return node
        assert isinstance(parent, ast.expr)
        node = parent


def reads_one_number(context: Context, copy: ast.expr) -> bool:
    """`loss.cpu().item()`, which waits as `loss.item()` does."""
    node = whole(context, copy)
    return isinstance(node, ast.Call) and last_name(node.func) == "item"


def is_joined(context: Context, copy: ast.expr) -> bool:
    """Whether a copy to the host goes into a `torch.cat`: what is copied is a tensor, wherever it
    comes from, and who copies it knows that it is on a device."""
    if not isinstance(copy, ast.Call) or not isinstance(copy.func, ast.Attribute):
        return False
    if copy.func.attr != "cpu" or context.guards.has(copy, "cpu"):
        return False
    value = context.values.of(copy.func.value)
    if value.on_cpu or value.kind not in (Kind.UNKNOWN, Kind.TENSOR):
        return False
    parts = context.index.parents[whole(context, copy)]
    around = context.index.parents[parts]
    return (
        isinstance(parts, ast.Tuple | ast.List)
        and isinstance(around, ast.Call)
        and parts in around.args
        and context.resolve(around.func) in _JOINING
        and context.placement.program_uses_devices
    )


def keeps_batches(context: Context, loop: Loop | FunctionNode, copy: ast.expr) -> bool:
    """Whether `loop` keeps whole outputs of the batches that it goes through, for which the memory
    of a Mac is the same on both sides: not what it draws itself, which may be images without end,
    where it frees memory, takes the time, or goes through what it has gathered once more."""
    if not isinstance(loop, FUNCTIONS) and not goes_through_batches(context, loop):
        return False
    for word, calls in _ON_PURPOSE:
        for call in context.index.calls.get(word, ()):
            name = context.resolve(call.func) or ""
            if name.startswith(calls) and context.index.within(call, loop):
                return False
    return not _comes_again(context, loop, copy)


def _comes_again(context: Context, loop: Loop | FunctionNode, copy: ast.expr) -> bool:
    """Whether a loop around `loop` joins what that gathers to what `loop` reads at its next
    turn: layer by layer, for all nodes of a graph."""
    outer = context.loops.innermost(loop)
    sink = context.index.statement(copy)
    names = names_in(sink)
    for statement in outer.body if outer is not None else ():
        if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Call):
            continue
        if context.resolve(statement.value.func) not in _JOINING:
            continue
        if names.isdisjoint(n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name)):
            continue
        for target in statement.targets:
            if isinstance(target, ast.Name) and any(
                isinstance(use.ctx, ast.Load) and context.index.within(use, loop)
                for use in context.index.names.get(target.id, ())
            ):
                return True
    return False


def is_handed_back_in(context: Context, tensor: ast.expr, loop: Loop) -> bool:
    """Whether each turn of `loop` calls a function or a model for `tensor`, which is no method of
    another tensor."""
    root = _root(tensor)
    if not isinstance(root, ast.Name) or not isinstance(loop, ast.For | ast.AsyncFor):
        return False
    if not goes_through_batches(context, loop):
        return False
    if any(isinstance(item, ast.Return | ast.Break | ast.Raise) for item in loop.body):
        return False  # It turns at most once.
    bindings = context.flow.reaching(root)
    return bool(bindings) and all(
        item.kind in ("assign", "unpack")
        and isinstance(item.value, ast.Call)
        and context.index.within(item.node, loop)
        and context.loops.innermost(item.value) is loop
        and not (context.resolve(item.value.func) or "").startswith("torch.")
        and not _is_method_of_tensor(context, item.value)
        for item in bindings
    )


def works_in_turns(context: Context, tensor: ast.expr, loop: Loop) -> bool:
    """Whether `tensor` is made of what each turn of an evaluation is handed back by something out
    of sight (`loss, mean = score(model(x), y)`), in a loop that says that it is one."""
    if not isinstance(loop, ast.For | ast.AsyncFor) or not is_evaluation(context, loop):
        return False
    if any(isinstance(item, ast.Return | ast.Break | ast.Raise) for item in loop.body):
        return False  # It turns at most once.
    return _is_handed_back(context, tensor, loop, _NAMES_FOLLOWED)


def is_evaluation(context: Context, loop: Loop | FunctionNode) -> bool:
    """Whether a loop calls a model, goes without gradients, brings its batches to a device itself,
    or hands the device to what does so."""
    if isinstance(loop, FUNCTIONS) or context.loops.kind(loop) is not LoopKind.NONE:
        return True
    first, last = loop.body[0].lineno, loop.end_lineno or loop.lineno
    placement = context.placement
    return (
        context.loops.without_gradients(loop)
        or placement.used_between(first, last)
        or placement.handed_on_between(first, last)
        or _calls_what_it_evaluates(context, loop)
    )


def _calls_what_it_evaluates(context: Context, loop: Loop) -> bool:
    """Whether the turns of a loop call what the same function has set to evaluate before it:
    `self.model.eval()`, whatever brings the batches to the device of the model."""
    function = context.index.function(loop)
    modules = {
        ast.unparse(call.func.value)
        for call in context.index.calls.get("eval", ())
        if isinstance(call.func, ast.Attribute)
        and not (call.args or call.keywords)
        and call.lineno < loop.lineno
        and context.index.function(call) is function
    }
    return bool(modules) and any(
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name | ast.Attribute)
        and ast.unparse(call.func) in modules
        for statement in loop.body
        for call in ast.walk(statement)
    )


def _is_handed_back(context: Context, node: ast.expr, loop: Loop, names: int) -> bool:
    for name in ast.walk(node):
        if not isinstance(name, ast.Name) or not isinstance(name.ctx, ast.Load):
            continue
        for item in context.flow.reaching(name):
            given = item.value
            if given is None or item.kind not in ("assign", "unpack"):
                continue
            if context.loops.innermost(given) is not loop:
                continue
            if isinstance(given, ast.Call) and _is_out_of_sight(context, given):
                return True
            if names and _is_handed_back(context, given, loop, names - 1):
                return True
    return False


def _is_out_of_sight(context: Context, call: ast.Call) -> bool:
    """Whether a call runs neither torch's own functions nor a method of a tensor, nor Python's."""
    if (context.resolve(call.func) or "").startswith(("torch.", "numpy.")):
        return False
    if isinstance(call.func, ast.Name):
        return context.names.owner(call.func.id, call.func) is not None
    if not isinstance(call.func, ast.Attribute) or call.func.attr in _OF_TENSORS:
        return False
    return not _is_method_of_tensor(context, call)


def goes_through_batches(context: Context, loop: Loop) -> bool:
    """Whether a loop goes through something, be it by number: `for at in range(len(loader))`."""
    if not isinstance(loop, ast.For | ast.AsyncFor):
        return False
    if not context.loops.repeats(loop.body[0]):
        return True
    return any(
        isinstance(item, ast.Call) and last_name(item.func) == "len" for item in ast.walk(loop.iter)
    )


def _is_method_of_tensor(context: Context, call: ast.Call) -> bool:
    if not isinstance(call.func, ast.Attribute):
        return False
    return context.values.of(call.func.value).kind is Kind.TENSOR


def _root(tensor: ast.expr) -> ast.expr:
    """`x` of `x.detach().float()[0]`."""
    while True:
        if isinstance(tensor, ast.Attribute | ast.Subscript):
            tensor = tensor.value
        elif isinstance(tensor, ast.Call) and isinstance(tensor.func, ast.Attribute):
            tensor = tensor.func.value
        else:
            return tensor
