"""Replace a written-out CUDA device by a selection."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Edit, Fix, doubtful
from mpslint.patterns.asking_order import asking_order
from mpslint.patterns.availability import cuda_available, mps_available, opening_level
from mpslint.patterns.by_index import BY_INDEX, leaves_index
from mpslint.patterns.chosen_beside import widened_beside
from mpslint.patterns.compared import asked_for_by_name, compared_with_cuda
from mpslint.patterns.else_arm import arm_before
from mpslint.patterns.flat import flat, of_chain
from mpslint.patterns.late_default import resolved_inside
from mpslint.patterns.layout import wrapped_chain
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.met import default_of_met, device_of_met
from mpslint.patterns.named_gpus import several_gpus
from mpslint.patterns.place import device_places, settles_too_early
from mpslint.patterns.references import Reference
from mpslint.patterns.repeated_chain import shared_device
from mpslint.patterns.selection import chain, does_nothing_itself, in_style, reference
from mpslint.patterns.styles import has_busy_helper, is_inline
from mpslint.patterns.switches import asked, joined
from mpslint.patterns.text import holds_comment, insert, needs_parentheses, replace
from mpslint.semantics.devices.gpu_numbers import number_beside
from mpslint.semantics.packages.consumers import foreign_consumer
from mpslint.semantics.syntax.parameters import positional_parameters

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.devices.devices import Literal, Slot

_IN_PLACE = ("assignment", "return")
_DEFAULTS = ("parameter", "option", "field", "item")
_TOO_EARLY = "that would ask for CUDA before CUDA_VISIBLE_DEVICES is set, or the process forks"
_AT_IMPORT = "that would ask the machine for its device while the module is imported"
_OWN_HELPER = "the file selects the device in a function of its own, when that is called"
_SELECTING = "devices that functions write out for names of their own"
_WRAPPED = 2
"""Lines that a selection on one line of its own takes more than one without parentheses."""
_TORCH_SLOTS = ("factory", "to", "device", "generator", "default-device", "map-location")
"""Slots where torch takes a string as well as a device."""


def replace_literal(context: Context, literal: Literal, slot: Slot) -> Fix | None:
    """The fix for a CUDA literal in a device slot; None where a human must choose."""
    if foreign_consumer(context, literal.node) is not None:
        return None
    if literal.computed_index:
        from mpslint.patterns.numbered_by_tensor import with_tensor

        beside = with_tensor(context, literal)
        if beside is not None:
            return beside
    if slot.kind in _IN_PLACE or _assigned(context, literal, slot):
        met = device_of_met(context, literal.node) if not several_gpus(context) else None
        if met is not None:
            return met
        edits = arm_before(context, literal.node) or select_in_place(context, literal.node)
        edits = (*edits, *widened_beside(context, literal.node)) if edits else None
        level = opening_level(context)
        reason = _TOO_EARLY if settles_too_early(context, literal.node) else ""
        if not reason and leaves_index(context):
            reason = BY_INDEX
        return doubtful(Fix("Select the device", edits, level), reason) if edits else None
    if several_gpus(context) or literal.computed_index:
        return None
    if slot.kind == "parameter":
        met = default_of_met(context, literal.node, slot.node)
        if met is not None:
            return met
    found = reference(context, literal.node, literal.ordinal)
    if found is None:
        return None
    if slot.kind == "option" and _is_written_for_it_alone(context, literal.node, found):
        edits = select_in_place(context, literal.node)
        tall = edits is not None and edits[-1].text.count("\n") > _WRAPPED + 2
        if edits is not None and not (tall and _is_only_place(context, literal.node)):
            edits = (*edits, *_more_choices(context, slot))
            reason = BY_INDEX if leaves_index(context) else ""
            fix = Fix("Select the device", edits, opening_level(context))
            return doubtful(fix, reason or asked_for_by_name(context, slot))
    write = name_default if slot.kind in _DEFAULTS else name_device
    edits = write(context, literal, slot, found)
    if edits is None:
        return None
    reason = BY_INDEX if leaves_index(context) else found.reason
    if slot.kind == "parameter" and found.asks:
        text = _as_default(context, slot, found)
        late = resolved_inside(context, literal.node, slot.node, text)
        if late is None:
            reason = _AT_IMPORT
        edits = late or edits
    elif slot.kind == "field" and found.edits and context.elsewhere is not None:
        if context.elsewhere.is_imported(
            context.source.path, is_module=does_nothing_itself(context)
        ):
            reason = _AT_IMPORT
    if slot.kind in _DEFAULTS and found.edits and has_busy_helper(context):
        reason = _OWN_HELPER
    fix = Fix("Use the selected device", (*found.edits, *edits), found.level)
    reason = reason or asked_for_by_name(context, slot)
    return doubtful(fix, reason or compared_with_cuda(context, literal.node))


def _is_only_place(context: Context, node: ast.AST) -> bool:
    """Whether nothing else of the file needs a device: one behind the imports is its only one."""
    return all(place is node for place in device_places(context))


def _is_written_for_it_alone(context: Context, node: ast.AST, found: Reference) -> bool:
    """Whether a selection behind the imports would serve this default and nothing else: all that
    needs a device besides selects one where it gets its name, or comes after that."""
    if not found.edits or found.asks or found.is_string or settles_too_early(context, node):
        return False
    if context.index.function(node) is not None or not is_inline(context):
        return False
    selecting = [
        literal.node
        for literal in context.devices.literals
        if (slot := context.devices.slot(literal.node)) is not None
        and literal.backend == "cuda"
        and (slot.kind in _IN_PLACE or _assigned(context, literal, slot))
        and context.index.function(literal.node) is None
    ]
    first = min((item.lineno for item in selecting), default=None)
    return all(
        place is node
        or place in selecting
        or context.devices.at_hand(place) is not None
        or (first is not None and getattr(place, "lineno", 0) > first)
        for place in device_places(context)
    )


def name_default(
    context: Context, literal: Literal, slot: Slot, device: Reference
) -> tuple[Edit, ...] | None:
    """A default value becomes the selected device: a string, unless only devices are wanted."""
    text = _as_default(context, slot, device)
    return (replace(context.source, literal.node, text), *_more_choices(context, slot))


def _as_default(context: Context, slot: Slot, device: Reference) -> str:
    if device.is_string or takes_device(context, slot.node):
        return device.text
    return f"str({device.text})"


def takes_device(context: Context, place: ast.AST | None) -> bool:
    """Whether a parameter or field may as well hold a `torch.device`: it is annotated as one, or
    all that is done with it is to make and to move tensors."""
    if isinstance(place, ast.AnnAssign):
        return "device" in context.source.segment(place.annotation).lower()
    if not isinstance(place, ast.arg):
        return False
    if place.annotation is not None:
        return "device" in context.source.segment(place.annotation).lower()
    scope = context.names.own_scope(context.index.parents[context.index.parents[place]])
    uses = [
        use
        for use in context.index.names.get(place.arg, ())
        if context.names.owner(place.arg, use) is scope
    ]
    slots = [context.devices.slot(use) for use in uses]
    return bool(slots) and all(slot is not None and slot.kind in _TORCH_SLOTS for slot in slots)


def _more_choices(context: Context, slot: Slot) -> list[Edit]:
    """`"mps"` for `choices=["cpu", "cuda"]` of an option, behind `"cuda"`."""
    if slot.kind != "option":
        return []
    lists = [item for item in ast.walk(slot.node) if isinstance(item, ast.List | ast.Tuple)]
    for choices in lists:
        words = {item.value: item for item in choices.elts if isinstance(item, ast.Constant)}
        if "cuda" in words and "mps" not in words and len(words) == len(choices.elts):
            mark = context.source.segment(words["cuda"])[-1]
            return [insert(context.source.span(words["cuda"])[1], f", {mark}mps{mark}")]
    return []


def _assigned(context: Context, literal: Literal, slot: Slot) -> bool:
    """`device = torch.device("cuda")`: the call stands where a variable gets its value."""
    if slot.kind != "device" or not isinstance(slot.node, ast.Call):
        return False
    if context.resolve(slot.node.func) != "torch.device" or len(slot.node.args) != 1:
        return False
    if number_beside(context.names, slot.node) is not None:
        return False
    outer = context.devices.slot(slot.node)
    parent = context.index.parents[slot.node]
    if isinstance(parent, ast.Assign | ast.AnnAssign):
        return True
    return outer is not None and outer.kind in _IN_PLACE


def select_in_place(context: Context, node: ast.expr) -> tuple[Edit, ...] | None:
    """The literal becomes a conditional expression, itself as the CUDA arm."""
    source = context.source
    torch = torch_name(context, node)
    start, end = source.span(node)
    if torch is None or holds_comment(source, start, end) or "\n" in source.text[start:end]:
        return None
    styled = _in_style(context, node)
    if styled is not None:
        return styled
    switched = _with_its_switch(context, node, torch)
    if switched is not None:
        return (switched,)
    text = source.segment(node)
    mark = '"' if '"' in text else "'"
    selected = chain(context, torch, mark, cuda=text)
    row, column = source.position(start)
    tail = len(source.line(row)) - (column - 1) - len(text)
    parent = context.index.parents[node]
    laid_out = wrapped_chain(context, selected, source.indentation(row), column - 1 + tail)
    if laid_out.count("\n") > _WRAPPED:
        shared = shared_device(context, node, _selecting(context))
        if shared is not None:
            return shared
        stated = flat(context, node, of_chain(selected))
        if stated is not None:
            return (stated,)
    if not laid_out.startswith("(") and needs_parentheses(node, parent):
        laid_out = f"({laid_out})"
    elif laid_out.startswith("(") and _only_argument(parent, node):
        laid_out = laid_out[1:-1]
    return (replace(source, node, laid_out),)


def _selecting(context: Context) -> list[ast.AST]:
    """The devices that functions of the file write out for a name of their own, and that are no
    operand's."""
    if _SELECTING not in context.memo:
        context.memo[_SELECTING] = [
            slot.node
            for literal in context.devices.literals
            if literal.backend == "cuda" and not literal.computed_index
            if (slot := context.devices.slot(literal.node)) is not None
            if context.index.function(literal.node) is not None
            if _assigned(context, literal, slot) and device_of_met(context, literal.node) is None
        ]
    found = context.memo[_SELECTING]
    assert isinstance(found, list)
    return found


def _with_its_switch(context: Context, node: ast.expr, torch: str) -> Edit | None:
    """`"cuda" if args.gpu else "cpu"` with an arm for each device, rather than one choice within
    another; None where it is more than what a name gets."""
    choice, source = context.index.parents[node], context.source
    if not isinstance(choice, ast.IfExp) or node not in (choice.body, choice.orelse):
        return None
    other = choice.orelse if node is choice.body else choice.body
    parts = asked(context, choice.test, node is choice.body)
    if parts is None or not isinstance(other, ast.Constant) or other.value != "cpu":
        return None
    text = source.segment(node)
    mark = '"' if '"' in text else "'"
    values = {"cuda": text, "mps": f"{mark}mps{mark}"}
    tests = {"cuda": cuda_available(torch), "mps": mps_available(context, torch)}
    arms = [
        (values[backend], joined([*parts, tests[backend]]))
        for backend in asking_order(context)
        if backend in tests
    ]
    return flat(context, choice, [*arms, (source.segment(other), "")])


def _in_style(context: Context, node: ast.expr) -> tuple[Edit, ...] | None:
    """The literal, or the `torch.device(...)` around it, as the project selects its device."""
    source = context.source
    if source.segment(node)[1:-1] != "cuda":
        return None
    found = in_style(context, node)
    if found is None:
        return None
    parent = context.index.parents[node]
    if _only_argument(parent, node) and not found[0].is_string:
        assert isinstance(parent, ast.Call)
        if context.resolve(parent.func) == "torch.device":
            around = context.index.parents[parent]
            text = found[0].expression
            if found[0].compound and needs_parentheses(parent, around):
                text = f"({text})"
            return (*found[1], replace(source, parent, text))
    return (*found[1], replace(source, node, found[0].as_string()))


def _only_argument(parent: ast.AST, node: ast.expr) -> bool:
    return isinstance(parent, ast.Call) and parent.args == [node] and not parent.keywords


def name_device(
    context: Context, literal: Literal, slot: Slot, device: Reference
) -> tuple[Edit, ...] | None:
    """The literal, or the `torch.device(...)` around it, becomes the name of the device."""
    node: ast.expr = literal.node
    call = slot.node
    text = device.text
    if isinstance(call, ast.Call) and context.resolve(call.func) == "torch.device":
        if len(call.args) + len(call.keywords) != 1:
            return None
        outer = context.devices.slot(call)
        if not device.is_string or (outer is not None and outer.kind in _TORCH_SLOTS):
            node = call
    elif slot.kind == "argument" and not device.is_string:
        if not _passed_to_device(context, literal.node, call):
            text = f"str({text})"
    start, end = context.source.span(node)
    if holds_comment(context.source, start, end):
        return None
    return (replace(context.source, node, text),)


def _passed_to_device(context: Context, node: ast.expr, call: ast.AST) -> bool:
    """Whether what is called takes a `torch.device` as well: torch, or a function of this file."""
    if not isinstance(call, ast.Call):
        return False
    if (context.resolve(call.func) or "").startswith("torch."):
        return True
    if not isinstance(call.func, ast.Name):
        return False
    bindings = context.names.bindings(call.func.id, call.func)
    function = bindings[0].node if len(bindings) == 1 else None
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    arguments = positional_parameters(function.args)
    if node in call.args:
        position = call.args.index(node)
        return position < len(arguments) and takes_device(context, arguments[position])
    word = next((item.arg for item in call.keywords if item.value is node), None)
    named = [item for item in (*arguments, *function.args.kwonlyargs) if item.arg == word]
    return bool(named) and takes_device(context, named[0])
