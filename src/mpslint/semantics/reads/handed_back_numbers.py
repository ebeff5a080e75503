"""Numbers that a forward pass reads only to hand them back, or to keep them for others to look at.

`return loss, {"recon": recon.item()}` makes each pass wait, before anything can go back through
it. Nothing in the pass needs the number: the tensor could be handed back in its place, and be read
where somebody shows it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.reads.number_reads import read_tensor
from mpslint.semantics.reads.own_numbers import hangs_on_numbers
from mpslint.semantics.steps.steps import Step
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FunctionNode
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.values.placement import has_host_copy

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_AS_THEY_ARE = ("float", "round", "dict")
"""What makes of a number another number, or a table of it."""
_SIZES = frozenset({"max", "min", "amax", "amin", "argmax", "argmin", "count_nonzero", "numel"})
"""What tells how long something is, for which a number of Python's is needed."""
_NAMES_FOLLOWED = 2


def handed_back_numbers(context: Context) -> Iterator[Step]:
    """Such reads outside loops, in the `forward` of modules."""
    if b"forward" not in context.source.data:
        return
    for name in ("item", "float"):
        for call in context.index.calls.get(name, ()):
            function = context.index.function(call)
            if function is None or function.name != "forward":
                continue
            if name == "float" and not isinstance(call.func, ast.Name):
                continue  # `x.float()` is a cast.
            tensor = read_tensor(call)
            if tensor is None or not _is_computed(context, tensor):
                continue
            if not _is_handed_back(context, call, function, _NAMES_FOLLOWED):
                continue
            if context.loops.innermost(call) is not None or hangs_on_numbers(context, call):
                continue
            if context.loops.without_gradients(call) or context.passes.around(call) is not function:
                continue
            yield Step(call, tensor, function)


def _is_computed(context: Context, tensor: ast.expr) -> bool:
    """Whether kernels have reckoned what is read, wherever the module is: a loss, a share, no
    length of what is given."""
    value = context.values.of(tensor)
    if value.kind is not Kind.TENSOR or not value.computed:
        return False
    if value.on_cpu or has_host_copy(tensor):
        return False
    return not isinstance(tensor, ast.Call) or last_name(tensor.func) not in _SIZES


def _is_handed_back(context: Context, node: ast.expr, function: FunctionNode, names: int) -> bool:
    """Whether all that becomes of a number is that `function` returns or keeps it."""
    child: ast.AST = node
    parent = context.index.parents[child]
    while _holds(parent, child):
        child, parent = parent, context.index.parents[parent]
    if isinstance(parent, ast.Return):
        return parent.value is child
    if not isinstance(parent, ast.Assign) or parent.value is not child:
        return False
    if len(parent.targets) != 1:
        return False
    target = parent.targets[0]
    if isinstance(target, ast.Attribute):
        return _is_kept(context, target, function)
    if isinstance(target, ast.Subscript):
        table = target.value
        if isinstance(table, ast.Attribute):
            return _is_kept(context, table, function)
        return isinstance(table, ast.Name) and _is_returned(context, table, parent, function, names)
    return isinstance(target, ast.Name) and _is_returned(context, target, parent, function, names)


def _holds(parent: ast.AST, child: ast.AST) -> bool:
    """Whether `parent` holds the number, or is the number in other units."""
    if isinstance(parent, ast.Tuple | ast.List):
        return True
    if isinstance(parent, ast.Dict):
        return child in parent.values
    if isinstance(parent, ast.keyword):
        return True
    if isinstance(parent, ast.Call):
        return isinstance(parent.func, ast.Name) and parent.func.id in _AS_THEY_ARE
    if isinstance(parent, ast.BinOp):
        other = parent.right if parent.left is child else parent.left
        return isinstance(other, ast.Constant)
    return False


def _is_returned(
    context: Context, name: ast.Name, own: ast.stmt, function: FunctionNode, names: int
) -> bool:
    """Whether the pass asks nothing of a name for the number, or for the table that holds it, but
    to hand it back."""
    if not names:
        return False
    found = False
    for use in context.index.names.get(name.id, ()):
        if context.index.function(use) is not function or context.index.within(use, own):
            continue
        parent = context.index.parents[use]
        if isinstance(use.ctx, ast.Store):
            continue
        if isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store):
            continue  # `table["other"] = ...`
        if isinstance(parent, ast.Attribute) and parent.attr == "update":
            continue  # `table.update(others)`
        if not _is_handed_back(context, use, function, names - 1):
            return False
        found = True
    return found


def _is_kept(context: Context, kept: ast.Attribute, function: FunctionNode) -> bool:
    """Whether `self.recon = recon.item()` is for others: the pass itself reads it nowhere."""
    if not isinstance(kept.value, ast.Name) or kept.value.id != "self":
        return False
    klass = context.index.parents[function]
    return not any(
        isinstance(use.ctx, ast.Load)
        and context.index.within(use, klass)
        and not isinstance(
            getattr(context.index.parents[use], "ctx", None), ast.Store
        )  # `self.stats["recon"] = ...`
        and context.passes.around(use) is not None
        for use in context.index.attributes.get(kept.attr, ())
    )
