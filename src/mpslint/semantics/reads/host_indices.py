"""Indices of the host that pick from a tensor of a device, at each step or in each forward pass.

`self.states[np.random.randint(0, n, size)]`: where the tensor lies on a device, the index is made a
tensor and copied there before anything is picked, and the copy waits for what is queued.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from mpslint.semantics.loops.step_calls import called_by_name, calls_a_step
from mpslint.semantics.steps.steps import Step, is_device_tensor, training
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.values.placement import has_host_copy

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.steps.steps import Turns

_OF_A_SIZE = {"randint": 2, "choice": 1, "integers": 2}
"""Functions of `numpy.random` that draw one number, or as many as they are asked for behind so many
other arguments."""
_ARRAYS = frozenset({"permutation", "arange", "argsort", "nonzero", "flatnonzero", "array"})
_TENSORS = frozenset({"randperm", "arange", "randint", "LongTensor", "argsort", "multinomial"})
WORDS = tuple(sorted({*_OF_A_SIZE, *_ARRAYS, *_TENSORS}))
"""One of these stands in each file that makes such an index."""
_PARTS_FOLLOWED = 1
"""`order = np.arange(n)`, `chosen = order[start:end]`: more is not seen in real code."""
_KEEPING = frozenset({"astype", "long", "reshape", "view", "flatten", "clone", "int"})
"""Methods after which an array holds as many numbers as before."""


def host_indices(context: Context) -> Iterator[Step]:
    """Places where a tensor that lies on a device is given an index of the host's."""
    named = _names_of_such(context)
    if named is None:
        return
    for item in context.index.of(ast.Subscript):
        if not isinstance(item.ctx, ast.Load):
            continue
        parts = item.slice.elts if isinstance(item.slice, ast.Tuple) else [item.slice]
        asked = [
            part
            for part in parts
            if isinstance(part, ast.Call) or (isinstance(part, ast.Name) and part.id in named)
        ]
        host = [part for part in asked if _is_of_host(context, part)]
        if not host:
            continue
        if not _lies_there(context, item.value) and not _is_passed_on(context, item.value, host):
            continue
        turns = _runs_often(context, item)
        if turns is not None:
            yield Step(item, item.value, turns)


def _names_of_such(context: Context) -> set[str] | None:
    """Names that are given what a function makes that can make such an index, or reckons from it,
    or a part of that; None where the file calls none: most files are done with that."""
    made = [call for word in WORDS for call in context.index.calls.get(word, ())]
    if not made:
        return None
    names = {name for call in made for name in _given(context.index.statement(call))}
    whole = names
    for _ in range(_PARTS_FOLLOWED):
        uses = [use for name in sorted(whole) for use in context.index.names.get(name, ())]
        sliced = [
            part
            for use in uses
            if isinstance(part := context.index.parents[use], ast.Subscript) and part.value is use
        ]
        whole = {n for part in sliced for n in _given(context.index.statement(part))} - names
        names = names | whole
    return names


def _given(statement: ast.stmt) -> Iterator[str]:
    """The names that a statement gives a value."""
    for target in statement.targets if isinstance(statement, ast.Assign) else ():
        if isinstance(target, ast.Name):
            yield target.id


def _is_of_host(context: Context, index: ast.expr) -> bool:
    """Whether an index is an array of NumPy's, or a tensor on the CPU, with more than one number
    for all that is known: one number is no array, and is handed over as it is."""
    made = _made(context, index, 1 + _PARTS_FOLLOWED)
    if made is None or not _has_many(context, made):
        return False
    for one in (index, made):  # A part of an array is not known to be one, but no number either.
        value = context.values.of(one)
        if value.kind is not Kind.UNKNOWN:
            return value.kind is Kind.NDARRAY or (value.kind is Kind.TENSOR and value.on_cpu)
    return False


def _made(context: Context, index: ast.expr, names: int) -> ast.Call | None:
    """The call that makes what `index` is, or what it is a part of."""
    while True:
        if isinstance(index, ast.Call):
            func = index.func
            if not isinstance(func, ast.Attribute) or func.attr not in _KEEPING:
                return index
            if context.resolve(func) is not None:
                return index
            index = func.value
        elif isinstance(index, ast.Subscript) and isinstance(index.slice, ast.Slice):
            index = index.value
        elif isinstance(index, ast.Name) and names:
            bindings = context.flow.reaching(index)
            if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].value is None:
                return None
            index, names = bindings[0].value, names - 1
        else:
            return None


def _has_many(context: Context, call: ast.Call) -> bool:
    """Whether a function of NumPy's or torch's makes an array of several numbers."""
    module, _, name = (context.resolve(call.func) or "").rpartition(".")
    if module == "numpy.random" and name in _OF_A_SIZE:
        return keyword(call, "size") is not None or len(call.args) > _OF_A_SIZE[name]
    return (module in ("numpy", "numpy.random") and name in _ARRAYS) or (
        module == "torch" and name in _TENSORS
    )


def _lies_there(context: Context, tensor: ast.expr) -> bool:
    value = context.values.of(tensor).as_tensor  # No module takes an array for an index.
    if value.kind is not Kind.TENSOR or has_host_copy(tensor):
        return False
    if context.placement.on_accelerator(tensor) or is_device_tensor(context, tensor):
        return True
    function = context.passes.around(tensor)  # What a module computes is where its caller wants it.
    return function is not None and value.computed and not value.on_cpu


def _is_passed_on(context: Context, tensor: ast.expr, indices: Sequence[ast.expr]) -> bool:
    """Whether a forward pass picks from something of its own by a tensor of torch's, in which case
    that is a tensor as well: `x[torch.arange(n), last]`."""
    value = context.values.of(tensor)
    return (
        isinstance(tensor, ast.Name)
        and value.kind is Kind.UNKNOWN
        and not value.on_cpu
        and context.passes.around(tensor) is not None
        and any(binding.kind == "assign" for binding in context.flow.reaching(tensor))
        and any(context.values.of(index).kind is Kind.TENSOR for index in indices)
    )


def _runs_often(context: Context, node: ast.expr) -> Turns | None:
    """The forward pass, the step, or the loop that calls a step, which always comes to `node`."""
    turns = context.passes.around(node) or training(context, node)
    function = context.index.function(node)
    if turns is not None or function is None or not context.loops.every_step(node, function):
        return turns
    for site in called_by_name(context, function):
        loop = context.loops.innermost(site)
        if loop is not None and calls_a_step(context, loop):
            if context.loops.every_step(site, loop):
                return loop
    return None
