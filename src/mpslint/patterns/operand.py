"""What goes where an operand is: `if x.is_cuda: mask = mask.cuda()` says `mask.to(x.device)`.

The operand knows its device, on every machine and whoever chose it, so nothing is selected and
nothing of the rest of the file has to go along. So does a device that is asked whether it is CUDA:
`if device.type == "cuda": mask = mask.cuda()` says `mask.to(device)`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Edit, Fix
from mpslint.patterns.asked_device import asked_device
from mpslint.patterns.calls import rewrite_call
from mpslint.patterns.gate_idiom import Gate, is_idiom, keep_arm, stands_in
from mpslint.patterns.references import Reference
from mpslint.patterns.statements import can_dedent, dedent_body
from mpslint.patterns.text import holds_comment, replace_span
from mpslint.records import NamedTuple
from mpslint.semantics.destinations.sure_devices import surely_device
from mpslint.semantics.devices.gpu_numbers import number_beside
from mpslint.semantics.operands.look_alikes import may_be_packed, own_names
from mpslint.semantics.purpose.settled_moves import settled
from mpslint.semantics.syntax.expressions import root_of
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.terms.legacy_types import CUDA_TYPES

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_GATES, _FIXES = "gates that ask an operand", "fixes by the device of an operand"


def operand_gate(context: Context, call: ast.Call) -> Gate | None:
    """The choice around a move that asks a tensor whether it is on CUDA."""
    known: dict[ast.Call, Gate | None] = context.memo.setdefault(_GATES, {})  # type: ignore[assignment]
    if call not in known:
        gate = _find_gate(context, call)
        for move in gate.moves if gate is not None else ():
            known[move] = gate
        known[call] = gate
    return known[call]


def follow_operand(context: Context, gate: Gate, *, laid_out: bool = True) -> Fix | None:
    """The moves of such a choice without it; not `laid_out`, only as far as that costs little."""
    known: dict[tuple[ast.AST, bool], Fix | None] = context.memo.setdefault(_FIXES, {})  # type: ignore[assignment]
    key = gate.node, laid_out
    if key not in known:
        known[key] = _follow(context, gate, laid_out)
    return known[key]


def by_operand(context: Context, test: ast.expr, *, laid_out: bool = True) -> Fix | None:
    """The fix for a test that asks an operand: of what it moves, or of the device it chooses."""
    gate = _gate_of_test(context, test)
    if gate is not None:
        return follow_operand(context, gate, laid_out=laid_out)
    return _read_operand(context, test)


def _gate_of_test(context: Context, test: ast.expr) -> Gate | None:
    """The choice that this test decides."""
    for node in context.index.ancestors(test):
        if isinstance(node, ast.If | ast.IfExp):
            calls = (
                call
                for call in context.index.calls.get("cuda", ())
                if context.index.within(call, node)
            )
            found = next((operand_gate(context, call) for call in calls), None)
            return found if found is not None and found.node is node else None
        if isinstance(node, ast.stmt):
            return None
    return None


def _read_operand(context: Context, test: ast.expr) -> Fix | None:
    """`torch.device("cuda") if x.is_cuda else torch.device("cpu")` is `x.device`."""
    choice, operand = context.index.parents[test], operand_of(context, test)
    if not isinstance(choice, ast.IfExp) or choice.test is not test or operand is None:
        return None
    arms, parent = [choice.body, choice.orelse], context.index.parents[choice]
    node: ast.expr = choice
    if all(isinstance(arm, ast.Constant) for arm in arms):
        if not isinstance(parent, ast.Call) or context.resolve(parent.func) != "torch.device":
            return None
        if number_beside(context.names, parent) is not None:
            return None
        node, named = parent, [getattr(arm, "value", None) for arm in arms]
    else:
        named = [_device(context, arm) for arm in arms]
    start, end = context.source.span(node)
    text = context.source.segment(operand)
    if named != ["cuda", "cpu"] or "\n" in text or holds_comment(context.source, start, end):
        return None
    if context.source.text[:start].rstrip(" \t\r\n").endswith("("):
        outer = in_own_parentheses(context, node)
        start, end = outer if outer is not None else (start, end)
    edit = replace_span(context.source, start, end, f"{text}.device")
    return Fix(f"Use the device of {text}", (edit,), Applicability.SAFE, follows=True)


def _device(context: Context, node: ast.expr) -> object:
    """The name that `torch.device(...)` is given."""
    if not isinstance(node, ast.Call) or context.resolve(node.func) != "torch.device":
        return None
    given = node.args[0] if len(node.args) == 1 and not node.keywords else None
    return given.value if isinstance(given, ast.Constant) else None


def in_own_parentheses(context: Context, node: ast.expr) -> tuple[int, int] | None:
    """The span with the parentheses around a value that is assigned."""
    statement = context.index.parents[node]
    if not isinstance(statement, ast.Assign) or statement.value is not node:
        return None
    start, end = context.source.span(node)
    text = context.source.text
    first = text.rindex("(", 0, start)
    last = text.find(")", end)
    if last < 0 or text[first + 1 : start].strip() or text[end:last].strip():
        return None
    return first, last + 1


def _find_gate(context: Context, call: ast.Call) -> Gate | None:
    if not isinstance(call.func, ast.Attribute) or context.resolve(call.func):
        return None
    for node in context.index.ancestors(call):
        if isinstance(node, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            return None
        if not isinstance(node, ast.If | ast.IfExp) or _place(context, node.test) is None:
            continue
        moves = tuple(
            move
            for move in context.index.calls.get("cuda", ())
            if context.index.within(move, node) and not context.resolve(move.func)
        )
        sides = {stands_in(context, move, node) for move in moves}
        inverted = isinstance(node.test, ast.UnaryOp)
        gate = Gate(node, moves, inverted)
        if sides != {not inverted} or not is_idiom(context, gate):
            return None
        return None if _shares_function(context, gate) else gate
    return None


def _shares_function(context: Context, gate: Gate) -> bool:
    """Whether the function moves other things where CUDA is, and asks no operand for it: what is
    left of the choice then would be opened alone."""
    function = context.index.function(gate.node)
    return any(
        context.index.function(call) is function
        and not context.resolve(call.func)
        and settled(context, call)
        and not any(
            isinstance(parent, ast.If | ast.IfExp) and _place(context, parent.test) is not None
            for parent in context.index.ancestors(call)
        )
        for call in context.index.calls.get("cuda", ())
        if call not in gate.moves
    )


class _Place(NamedTuple):
    """What a test asks whether it is on CUDA, or is CUDA."""

    spoken: str
    device: Reference
    level: Applicability


def _place(context: Context, test: ast.expr) -> _Place | None:
    operand = operand_of(context, test)
    if operand is not None:
        text = context.source.segment(operand)
        device = Reference(f"{text}.device", False, ())
        return _Place(f"the device of {text}", device, Applicability.SAFE)
    asked = asked_device(context, test)
    if asked is None:
        return None
    text = context.source.segment(asked.node)
    device = Reference(text, not surely_device(context, asked.node), ())
    return _Place(text, device, Applicability.SAFE if asked.is_sure else Applicability.UNSAFE)


def operand_of(context: Context, test: ast.expr) -> ast.expr | None:
    """`x` of `x.is_cuda` and of `isinstance(x.data, torch.cuda.FloatTensor)`, where to ask it again
    costs nothing and changes nothing."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    if isinstance(test, ast.Call):
        return _of_cuda_type(context, test)
    if not isinstance(test, ast.Attribute) or test.attr != "is_cuda":
        return None
    if any(isinstance(use.ctx, ast.Store) for use in context.index.attributes.get("is_cuda", ())):
        return None  # a flag of the file's own
    if "is_cuda" in own_names(context):
        return None
    value = _tensor(test.value)
    first = value.args[0] if isinstance(value, ast.Call) and len(value.args) == 1 else None
    if first is not None and ast.unparse(value.func) == "next":  # type: ignore[attr-defined]
        # `next(model.parameters())`
        if not isinstance(first, ast.Call) or first.args or first.keywords:
            return None
        held = first.func
    else:
        held = value
    held = root_of(held, ast.Attribute, ast.Subscript)
    if not isinstance(held, ast.Name) or not _is_asked_for_nothing(value):
        return None
    if value is held and may_be_packed(context, context.index.function(held), held.id):
        return None
    return None if isinstance(value, ast.Name) and value.id == "self" else value


def _is_asked_for_nothing(value: ast.expr) -> bool:
    """Whether the items that are read on the way are named by constants and variables."""
    return all(
        isinstance(one.slice, ast.Constant | ast.Name | ast.UnaryOp)
        for one in ast.walk(value)
        if isinstance(one, ast.Subscript)
    )


def _tensor(value: ast.expr) -> ast.expr:
    """The tensor itself, of one without its history: that lies where it does. The `.data` of what
    may be a sequence is kept, which has no device by itself."""
    while (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr == "detach"
        and not value.args
    ):
        value = value.func.value
    is_data = isinstance(value, ast.Attribute) and value.attr == "data"
    return value.value if is_data and isinstance(value.value, ast.Call) else value  # type: ignore[attr-defined]


def _of_cuda_type(context: Context, test: ast.Call) -> ast.Name | None:
    """The tensor that is asked whether it is of a type of old torch that only CUDA has."""
    if not isinstance(test.func, ast.Name) or test.func.id != "isinstance" or len(test.args) != 2:
        return None
    value, kind = test.args
    holder, _, last = (context.resolve(kind) or "").rpartition(".")
    if holder != "torch.cuda" or last not in CUDA_TYPES:
        return None
    if isinstance(value, ast.Attribute) and value.attr == "data":
        value = value.value
    return value if isinstance(value, ast.Name) else None


def _follow(context: Context, gate: Gate, laid_out: bool) -> Fix | None:
    place = _place(context, gate.node.test)
    assert place is not None
    if "\n" in place.spoken:
        return None
    inner: list[Edit] = []
    for call in gate.moves:
        edits = rewrite_call(context, call, place.device)
        if edits is None:
            return None
        inner += edits
    node = gate.node
    if isinstance(node, ast.IfExp):
        found = keep_arm(context, node, node.orelse if gate.inverted else node.body, inner)
    elif laid_out:
        edit = dedent_body(context, node, inner, other_arm=gate.inverted)
        found = [edit] if edit is not None else None
    else:
        found = inner if can_dedent(context, node, other_arm=gate.inverted) else None
    if found is None:
        return None
    return Fix(f"Move to {place.spoken}", tuple(found), place.level, follows=True)
