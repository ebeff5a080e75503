"""The script's own switch (`--ngpu 0`, `--cuda`), which a selection that a fix adds has to keep.

Where a module reads its options at its top and moves things only `if args.ngpu > 0:`, a device that
asks the machine alone would be MPS for who asks for the CPU, and meet there what stayed behind.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.patterns.place import comes_before, device_places
from mpslint.patterns.text import quote
from mpslint.records import NamedTuple
from mpslint.semantics.destinations.cuda_machine import outcome
from mpslint.semantics.destinations.selected_devices import picks_cuda
from mpslint.semantics.devices.gpu_numbers import type_given
from mpslint.semantics.purpose.settled_moves import settled
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.terms.value import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.patterns.place import Place
    from mpslint.patterns.styles import Selection
    from mpslint.semantics.context import Context
    from mpslint.semantics.devices.devices_at_hand import DeviceName
    from mpslint.semantics.names.names import Binding

_SWITCH = "the switch of the options that decides what is moved"


class Switch(NamedTuple):
    """A test of an option, and the statement of the module behind which it can be asked."""

    test: ast.expr
    text: str
    after: ast.stmt


def switch_of(context: Context) -> Switch | None:
    """The switch behind which the file moves things; None: there is none, or none that says as much
    for all of them."""
    if _SWITCH not in context.memo:
        context.memo[_SWITCH] = _find(context)
    found = context.memo[_SWITCH]
    return found if isinstance(found, Switch) else None


def keeps_switch(context: Context, device: DeviceName) -> bool:
    """Whether a device at hand is CUDA where both the machine and the switch of the file say so,
    and nothing else is asked."""
    switch = switch_of(context)
    if switch is None or not any(_asks(switch, one) for one in _selecting(context, device)):
        return False
    last: Binding | None = None
    for binding in sorted(device.bindings, key=lambda one: getattr(one.node, "lineno", 0)):
        is_run = _is_run(context, switch, binding.node)
        if is_run is None:
            return False
        last = binding if is_run else last
    if last is None or last.value is None or last.kind not in ("assign", "annotate", "walrus"):
        return False
    return _gives_cuda(context, switch, last.value)


def _selecting(context: Context, device: DeviceName) -> Iterator[ast.AST]:
    """The values of a device, and the tests around them."""
    for binding in device.bindings:
        if binding.value is not None:
            yield binding.value
        yield from (
            one.test for one in context.index.ancestors(binding.node) if isinstance(one, ast.If)
        )


def _asks(switch: Switch, selecting: ast.AST) -> bool:
    return any(_is_switch(switch, one) for one in ast.walk(selecting))


def _is_switch(switch: Switch, node: ast.AST) -> bool:
    return isinstance(node, ast.expr) and ast.dump(node) == ast.dump(switch.test)


def _is_run(context: Context, switch: Switch, node: ast.AST) -> bool | None:
    """Whether a statement runs where CUDA is and the switch is on; None: something else says."""
    child = context.index.statement(node)
    for parent in context.index.ancestors(child):
        if isinstance(parent, (ast.Module, *FUNCTIONS)):
            return True
        if not isinstance(parent, ast.If):
            return None
        taken = _outcome(context, switch, parent.test)
        if taken is None:
            return None
        if taken != (child in parent.body):
            return False
        child = parent
    return True


def _outcome(context: Context, switch: Switch, test: ast.expr) -> bool | None:
    """How a test comes out where CUDA is and the switch is on; None: that does not settle it."""
    if _is_switch(switch, test):
        return True
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _outcome(context, switch, test.operand)
        return None if inner is None else not inner
    if isinstance(test, ast.BoolOp):
        parts = [_outcome(context, switch, one) for one in test.values]
        settling = isinstance(test.op, ast.Or)
        if settling in parts:
            return settling
        return None if None in parts else not settling
    return outcome(context, test)


def _gives_cuda(context: Context, switch: Switch, value: ast.expr) -> bool:
    if isinstance(value, ast.IfExp):
        taken = _outcome(context, switch, value.test)
        if taken is None:
            return False
        return _gives_cuda(context, switch, value.body if taken else value.orelse)
    if isinstance(value, ast.Call) and context.resolve(value.func) == "torch.device":
        given = type_given(value)
        return given is not None and _gives_cuda(context, switch, given)
    return picks_cuda(context, value)


def place_behind(context: Context, node: ast.AST, place: Place) -> tuple[Switch, Place] | None:
    """The switch, and `place` or the one behind the options, whichever comes later; None where
    something needs the device before that."""
    switch = switch_of(context)
    if switch is None or place.scope is not context.tree or place.needs_import:
        return None
    source = context.source
    row = switch.after.end_lineno or switch.after.lineno
    if row >= len(source.starts) or ";" in source.line(row):
        return None
    if source.starts[row] > place.offset:
        place = place._replace(offset=source.starts[row], after=switch.after)
    needing = (node, *device_places(context))
    return (switch, place) if all(comes_before(context, place, one) for one in needing) else None


def in_style(context: Context, switch: Switch, torch: str, styled: Selection) -> str:
    """The selection that the project's style has, behind the switch, as one expression."""
    mark = quote(context.source)
    other = f"{mark}cpu{mark}" if styled.is_string else f"{torch}.device({mark}cpu{mark})"
    held = f"({styled.expression})" if styled.compound else styled.expression
    return f"{held} if {switch.text} else {other}"


def _find(context: Context) -> Switch | None:
    found: dict[str, Switch] = {}
    roots: set[str] = set()
    literals = (one for one in context.devices.literals if one.backend == "cuda")
    if any(context.devices.slot(one.node) is not None for one in literals):
        return None  # What is moved by name may be a model, and is moved whatever the switch says.
    for call in context.index.calls.get("cuda", ()):
        if not isinstance(call.func, ast.Attribute) or context.resolve(call.func):
            continue
        branch, inside = _branch(context, call)
        if branch is None and (_is_settled(context, call) or not _moves_tensor(context, call)):
            return None
        if branch is None:
            continue
        switch = _switch(context, branch) if inside else None
        if switch is None or any(_moves(context, item) for item in branch.orelse):
            return None
        found.setdefault(switch.text, switch)
        roots.update(ast.dump(n) for n in ast.walk(switch.test) if isinstance(n, ast.Attribute))
    return next(iter(found.values())) if found and len(roots) == 1 else None


def _is_settled(context: Context, call: ast.Call) -> bool:
    """Whether something else decides about a move as well."""
    return bool(settled(context, call))


def _moves_tensor(context: Context, call: ast.Call) -> bool:
    """What moves whatever the switch says has to be data for what moves by it: a model of its own
    would be left on the CPU, with CUDA, by who does not give `--gpu-eval`."""
    assert isinstance(call.func, ast.Attribute)
    return context.values.of(call.func.value).kind is Kind.TENSOR


def _branch(context: Context, call: ast.Call) -> tuple[ast.If | None, bool]:
    """The nearest test around a move that asks an option for CUDA, and whether the move is in its
    first arm."""
    child: ast.AST = call
    for parent in context.index.ancestors(call):
        if isinstance(parent, ast.If) and child is not parent.test:
            if any(_is_about_gpus(node) for node in ast.walk(parent.test)):
                return parent, child in parent.body
        child = parent
    return None, False


def _is_about_gpus(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and (
        matches("requests", node.attr) or matches("cuda-switches", node.attr)
    )


def _moves(context: Context, item: ast.stmt) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "cuda"
        for node in ast.walk(item)
    )


def _switch(context: Context, branch: ast.If) -> Switch | None:
    """A test of one option that the module has read at its top, and that nobody has set since."""
    test, text = branch.test, context.source.segment(branch.test)
    options = [node for node in ast.walk(test) if isinstance(node, ast.Attribute)]
    if len(options) != 1 or not isinstance(options[0].value, ast.Name) or "\n" in text:
        return None
    option, name = options[0], options[0].value
    if not _tells_some_from_none(test, option) or context.guards.assigned(option):
        return None
    bindings = context.names.bindings(name.id, test)
    if len(bindings) != 1 or context.names.owner(name.id, test) is not context.names.module:
        return None
    statement = context.index.statement(bindings[0].node)
    value = bindings[0].value
    read = value.func if isinstance(value, ast.Call) else None
    if bindings[0].kind != "assign" or context.index.parents[statement] is not context.tree:
        return None
    if not isinstance(read, ast.Attribute) or read.attr != "parse_args":
        return None
    return Switch(test, text, statement) if not isinstance(statement, FUNCTIONS) else None


def _tells_some_from_none(test: ast.expr, option: ast.Attribute) -> bool:
    """`args.cuda`, `not args.no_cuda`, `args.ngpu > 0`, `len(opt.gpus) >= 1`: not `> 1`, which is a
    question for several, and not `is not None`, behind whose other arm are all GPUs."""
    if test is option:
        return True
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand is option
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    least = test.comparators[0].value if isinstance(test.comparators[0], ast.Constant) else None
    counted = test.left
    if isinstance(counted, ast.Call) and len(counted.args) == 1:
        is_length = isinstance(counted.func, ast.Name) and counted.func.id == "len"
        counted = counted.args[0] if is_length else counted
    if counted is not option:
        return False
    above = isinstance(test.ops[0], ast.Gt) and least == 0
    return above or (isinstance(test.ops[0], ast.GtE) and least in (0, 1))
