"""Loops whose turns read the elements of a device's tensor one by one.

`for i in range(len(t)): if t[i] > 0: ...` waits at each turn, where one copy before the loop
would do. That is so in whatever the loop is for, also where nothing is trained; and where the
tensor is a parameter, if a caller in the file hands over one of a device. The same holds for a
buffer of which an element fills a tensor of the device (`torch.full(shape, self.alphas[i])`) in a
function that a loop of the file runs at each turn.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.loops.intervals import turns_once
from mpslint.semantics.loops.step_calls import called_by_name
from mpslint.semantics.names.unpacked import bound_part
from mpslint.semantics.reads.computed_there import (
    is_computed_there,
    is_of_a_trainer,
    is_of_rows,
)
from mpslint.semantics.reads.implicit_reads import places_in_arrays
from mpslint.semantics.steps.given_in_steps import is_made_of_given
from mpslint.semantics.steps.steps import is_device_tensor
from mpslint.semantics.steps.trainer_steps import is_told_a_metric
from mpslint.semantics.syntax.expressions import argument, keyword, root_of
from mpslint.semantics.syntax.index import COMPREHENSIONS, FUNCTIONS, FunctionNode
from mpslint.semantics.syntax.parameters import given_for
from mpslint.semantics.terms.value import CPU_ONLY, Kind
from mpslint.semantics.values.placement import has_host_copy
from mpslint.semantics.worlds.machines import MACS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

Turning = ast.For | ast.AsyncFor | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_CALLERS_FOLLOWED = 3
"""A decoder's step that calls a helper that calls another."""
_NAMES_FOLLOWED = 2
"""`label = t[i].long()`, `known = label`, and the test: more is not seen in real code."""


class ElementRead(NamedTuple):
    node: ast.expr
    """What asks for the number."""
    whole: ast.expr
    """The tensor that could be copied as a whole before."""
    loop: Turning
    others: tuple[ast.expr, ...] = ()
    """What else the loop reads so."""


def element_reads(context: Context) -> Iterator[ElementRead]:
    """The first of each loop, in source order. Where each turn prints, somebody looks on, and what
    is read is little."""
    found: dict[Turning, list[tuple[ast.expr, ast.expr]]] = {}
    for node, read in sorted(_reads(context), key=lambda item: _place(item[0])):
        element = _element(context, read, _NAMES_FOLLOWED)
        if element is not None and not prints(element[1]):
            found.setdefault(element[1], []).append((node, element[0]))
    for fill in sorted(_fills(context), key=lambda item: _place(item.node)):
        found.setdefault(fill.loop, []).append((fill.node, fill.whole))
    for loop, reads in found.items():
        come = [read for read in reads if context.worlds.reach(read[0]) & MACS]
        if come:
            (first, whole), *others = come
            yield ElementRead(first, whole, loop, tuple(node for node, _ in others))


def _fills(context: Context) -> Iterator[ElementRead]:
    """Elements of buffers that fill a tensor of the device at each turn of a loop."""
    for call in context.calls_of("torch.full", "torch.full_like"):
        fill = argument(call, 1, "fill_value")
        place = keyword(call, "device")
        if not isinstance(fill, ast.Subscript) or has_host_copy(fill):
            continue
        if place is not None and context.values.of(place).devices == CPU_ONLY:
            continue
        loop = run_by(context, call, _CALLERS_FOLLOWED)
        if loop is not None and _is_buffer(context, fill.value, _NAMES_FOLLOWED):
            yield ElementRead(call, fill.value, loop)


def _is_buffer(context: Context, node: ast.expr, names: int) -> bool:
    """Whether `node` may be a buffer of the object, which lies where the model does."""
    if isinstance(node, ast.IfExp):
        return any(_is_buffer(context, arm, names) for arm in (node.body, node.orelse))
    if isinstance(node, ast.Name) and names:
        given = [binding.value for binding in context.flow.reaching(node)]
        return any(item is not None and _is_buffer(context, item, names - 1) for item in given)
    if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return False
    owner = context.index.enclosing(node, ast.ClassDef)
    return node.value.id == "self" and any(
        bool(call.args)
        and isinstance(call.args[0], ast.Constant)
        and call.args[0].value == node.attr
        and context.index.enclosing(call, ast.ClassDef) is owner
        and (len(call.args) < 2 or context.values.of(call.args[1]).kind is not Kind.NDARRAY)
        for call in context.index.calls.get("register_buffer", ())
    )


def run_by(context: Context, node: ast.AST, depth: int) -> Turning | None:
    """The loop that runs `node` at each turn, itself or by calls of functions of this file."""
    loop = context.loops.innermost(node)
    if loop is not None:
        return loop if isinstance(loop, ast.For | ast.AsyncFor) else None
    function = context.index.function(node)
    if function is None or not depth:
        return None
    around = (run_by(context, call, depth - 1) for call in called_by_name(context, function))
    return next((found for found in around if found is not None), None)


def prints(loop: Turning | ast.While) -> bool:
    return any(
        isinstance(item, ast.Call) and isinstance(item.func, ast.Name) and item.func.id == "print"
        for item in ast.walk(loop)
    )


def _place(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _reads(context: Context) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What asks for a number, with what it asks."""
    index = context.index
    for call in index.calls.get("item", ()):
        if isinstance(call.func, ast.Attribute) and not call.args:
            yield call, call.func.value
    for call in index.calls.get("tolist", ()):
        if isinstance(call.func, ast.Attribute):
            if isinstance(call.func.value, ast.Subscript | ast.Name):
                yield call, call.func.value
    for piece in index.of(ast.Slice):
        for bound in (piece.lower, piece.upper):
            if isinstance(bound, ast.Name | ast.Subscript):
                yield bound, bound
    for call in index.calls.get("range", ()):
        if isinstance(call.func, ast.Name):
            yield from ((item, item) for item in call.args if isinstance(item, ast.Subscript))
    for name in ("int", "float"):
        for call in index.calls.get(name, ()):
            if isinstance(call.func, ast.Name) and len(call.args) == 1:
                yield call, call.args[0]
    yield from places_in_arrays(context)
    for shown in index.of(ast.FormattedValue):
        if shown.format_spec is not None:
            yield shown.value, shown.value
    tests = [branch.test for branch in index.of(ast.If)]
    tests += [choice.test for choice in index.of(ast.IfExp)]
    tests += [test for part in index.of(ast.comprehension) for test in part.ifs]
    for test in tests:
        for part in test.values if isinstance(test, ast.BoolOp) else [test]:
            if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not):
                part = part.operand
            if isinstance(part, ast.Subscript):
                yield part, part  # `if done[i]:`
            if isinstance(part, ast.Compare) and len(part.comparators) == 1:
                if isinstance(part.ops[0], ast.Is | ast.IsNot):
                    continue
                yield part, part.left
                if isinstance(part.ops[0], ast.In | ast.NotIn):
                    continue  # What is looked through is no number.
                yield part, part.comparators[0]


def _walked(context: Context, name: ast.Name) -> tuple[ast.expr, Turning] | None:
    """The tensor that the loop goes through whose target `name` is: of `for x in t`, `for i, x in
    enumerate(t)` and `for a, x in zip(s, t)`."""
    bindings = context.flow.reaching(name)
    if len(bindings) != 1 or bindings[0].kind != "for":
        return None
    for parent in context.index.ancestors(name):
        if isinstance(parent, FUNCTIONS):
            return None
        heads: list[tuple[ast.expr, ast.expr]] = []
        if isinstance(parent, ast.For | ast.AsyncFor):
            heads = [(parent.target, parent.iter)]
        elif isinstance(parent, COMPREHENSIONS):
            heads = [(part.target, part.iter) for part in parent.generators]
        for target, iterable in heads:
            for place, tensor in _drawn_from(context, target, iterable):
                if isinstance(place, ast.Name) and place.id == name.id:
                    # A list of tensors may be walked through as well; it is not moved as a whole.
                    value = context.values.of(tensor).as_tensor
                    known = value.kind is Kind.TENSOR or (
                        value.kind is Kind.UNKNOWN
                        and (
                            _is_counted_row(context, tensor)
                            or (_is_row(context, tensor) and is_handed_over(context, tensor))
                            or is_of_rows(context, tensor)
                            or (is_told_a_metric(context, tensor) and _is_asked(context, name))
                        )
                    )
                    if isinstance(tensor, ast.Name) and may_be_a_table(context, tensor):
                        known = known and (
                            context.placement.on_accelerator(tensor)
                            or is_of_rows(context, tensor)
                            or (
                                is_of_a_trainer(context, tensor)
                                and is_device_tensor(context, tensor)
                            )
                            or is_told_a_metric(context, tensor)
                        )
                    there = known and _lies_there(context, tensor, parent)  # type: ignore[arg-type]
                    return (tensor, parent) if there else None  # type: ignore[return-value]
    return None


def _is_asked(context: Context, name: ast.Name) -> bool:
    """`t.item()`, which only tensors are asked."""
    asked = context.index.parents[name]
    return isinstance(asked, ast.Attribute) and asked.attr == "item"


def may_be_a_table(context: Context, name: ast.Name) -> bool:
    """Whether a model, or something else out of sight, hands back what `name` is: it may be a list
    or a dictionary of tensors."""
    return any(
        isinstance(made := binding.value, ast.Call)
        and not (context.resolve(made.func) or "").startswith("torch.")
        and not (
            isinstance(made.func, ast.Attribute)
            and context.values.of(made.func.value).kind is Kind.TENSOR
        )
        for binding in context.flow.reaching(name)
    )


def _is_row(context: Context, node: ast.expr) -> bool:
    """`row` of `for row in tokens`, where the function asks `tokens` what only tensors have. What
    models hand back may be a table, of which a loop goes through the keys."""
    bindings = context.flow.reaching(node) if isinstance(node, ast.Name) else []
    return bool(bindings) and all(
        item.kind == "for"
        and isinstance(item.value, ast.Name)
        and context.placement.is_asked_as_tensor(item.value)
        for item in bindings
    )


def _is_counted_row(context: Context, node: ast.expr) -> bool:
    """`ranks[i][j]`, by the counters of two loops: of a table, of which a loop draws numbers."""
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Subscript)
        and _counted(context, node) is not None
        and _counted(context, node.value) is not None
    )


def _drawn_from(
    context: Context, target: ast.expr, iterable: ast.expr
) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Parts of the target of a loop, with what each turn draws them from."""
    name = context.values.last_name(iterable.func) if isinstance(iterable, ast.Call) else None
    given = iterable.args if isinstance(iterable, ast.Call) else []
    if name == "enumerate" and isinstance(target, ast.Tuple) and len(target.elts) == 2 and given:
        yield from _drawn_from(context, target.elts[1], given[0])
    elif name == "zip" and isinstance(target, ast.Tuple):
        yield from zip(target.elts, given, strict=False)
    elif name == "reversed" and len(given) == 1:
        yield from _drawn_from(context, target, given[0])
    elif not isinstance(iterable, ast.Call):
        yield target, iterable
        if isinstance(target, ast.Tuple):  # `for *box, score, label in found`: of one row each
            yield from ((part, iterable) for part in target.elts)


def element_of(context: Context, node: ast.expr) -> tuple[ast.expr, Turning] | None:
    """The tensor of which `node` is made of one element, and the loop that goes through it."""
    return _element(context, node, _NAMES_FOLLOWED)


def _element(context: Context, node: ast.expr, names: int) -> tuple[ast.expr, Turning] | None:
    """The tensor of which `node` is made of one element, and the loop that goes through it."""
    if has_host_copy(node):
        return None
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if not all(map(_is_written_out, node.args)):
                return None
            node = node.func.value
        elif isinstance(node, ast.Subscript):
            loop = _counted(context, node)
            if loop is not None:
                return (node.value, loop) if _lies_there(context, node.value, loop) else None
            node = node.value
        elif isinstance(node, ast.Attribute) and node.attr == "data":
            node = node.value
        else:
            break
    if not isinstance(node, ast.Name) or not names:
        return None
    walked = _walked(context, node)
    if walked is not None:
        return walked
    bindings = context.flow.reaching(node)
    if len(bindings) != 1:
        return None
    given = bound_part(bindings[0], node.id)
    return _element(context, given, names - 1) if given is not None else None


def _is_written_out(node: ast.expr) -> bool:
    """`-1` of `row.argmax(-1)`: the same for each element, so that all of them could be asked."""
    return isinstance(node.operand if isinstance(node, ast.UnaryOp) else node, ast.Constant)


def _counted(context: Context, item: ast.Subscript) -> Turning | None:
    """The loop around whose counter is the index of `item`, or the first of a part (`t[i:i+1]`)."""
    at = item.slice.lower if isinstance(item.slice, ast.Slice) else item.slice
    if not isinstance(at, ast.Name):
        return None
    for parent in context.index.ancestors(item):
        if isinstance(parent, FUNCTIONS):
            return None
        if isinstance(parent, ast.For | ast.AsyncFor):
            heads = [(parent.target, parent.iter)]
        elif isinstance(parent, COMPREHENSIONS):
            heads = [(part.target, part.iter) for part in parent.generators]
        else:
            continue
        for target, iterable in heads:
            if at.id in _counters(context, target, iterable):
                return None if turns_once(parent) else parent
    return None


def _counters(context: Context, target: ast.expr, iterable: ast.expr) -> set[str]:
    """`i` of `for i in range(n)`, in whatever order, and of `for i, x in enumerate(xs)`."""
    name = context.values.last_name(iterable.func) if isinstance(iterable, ast.Call) else None
    if name in ("reversed", "tqdm") and isinstance(iterable, ast.Call) and iterable.args:
        return _counters(context, target, iterable.args[0])
    if name in ("range", "trange") and isinstance(target, ast.Name):
        return {target.id}
    if name == "enumerate" and isinstance(target, ast.Tuple):
        return {part.id for part in target.elts[:1] if isinstance(part, ast.Name)}
    return set()


def _lies_there(context: Context, whole: ast.expr, loop: Turning) -> bool:
    """Whether the tensor is on a device, and is made before the loop."""
    value = context.values.of(whole)
    if value.kind not in (Kind.TENSOR, Kind.UNKNOWN):
        return False
    root = root_of(whole)
    if not isinstance(root, ast.Name):
        return False
    if not context.placement.on_accelerator(whole):
        if not is_handed_over(context, whole) and not is_given_in_a_step(context, whole):
            if not is_computed_there(context, whole, root):
                return False
    bindings = context.flow.reaching(root)
    stored = [
        use
        for use in context.index.names.get(root.id, ())
        if isinstance(use.ctx, ast.Store) and context.index.within(use, loop)
    ]
    return bool(bindings) and not stored and not _is_filled(context, root, loop)


def is_handed_over(context: Context, node: ast.expr, depth: int = _CALLERS_FOLLOWED) -> bool:
    """Whether `node` is of a parameter for which a caller in this file gives what a kernel of a
    device fills."""
    if has_host_copy(node):
        return False
    node = root_of(node, ast.Subscript)
    if not isinstance(node, ast.Name):
        return False
    for binding in context.flow.reaching(node):
        part_of = binding.kind in ("assign", "for")  # `for row in tokens`
        if part_of and isinstance(binding.value, ast.Subscript | ast.Name):
            if depth and is_handed_over(context, binding.value, depth - 1):
                return True
        elif binding.kind == "parameter" and depth:
            function = context.index.parents[context.index.parents[binding.node]]
            if isinstance(function, FUNCTIONS) and any(
                not has_host_copy(item)
                and (
                    is_device_tensor(context, item)
                    or context.placement.on_accelerator(item)
                    or is_handed_over(context, item, depth - 1)
                )
                for item in _given_for(context, function, node.id)
            ):
                return True
    return False


def is_given_in_a_step(context: Context, node: ast.expr) -> bool:
    """Whether `node` is a parameter for which a step of training in another file gives a tensor of
    a device: not a list of such, since its function asks it for parts, or what tensors have."""
    node = root_of(node, ast.Subscript)
    if not isinstance(node, ast.Name) or has_host_copy(node):
        return False
    if any(binding.kind != "parameter" for binding in context.flow.reaching(node)):
        return False
    if not is_of_rows(context, node) and not context.placement.is_asked_as_tensor(node):
        return False
    return is_made_of_given(context, node)


def _given_for(context: Context, function: FunctionNode, name: str) -> Iterator[ast.expr]:
    """What the calls of `function` that can be of no other give the parameter `name`."""
    for call in called_by_name(context, function):
        given = given_for(function.args, call, name)
        if given is not None:
            yield given


def _is_filled(context: Context, root: ast.Name, loop: Turning) -> bool:
    """Whether the loop itself writes elements of the tensor, so that a copy would not do."""
    return any(
        isinstance(parent := context.index.parents[use], ast.Subscript)
        and isinstance(parent.ctx, ast.Store)
        and context.index.within(use, loop)
        for use in context.index.names.get(root.id, ())
    )
