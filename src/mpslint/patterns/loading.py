"""`map_location` for checkpoints."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Edit, Fix, doubtful
from mpslint.patterns.in_use import follows_machine
from mpslint.patterns.kept_entries import named_at
from mpslint.patterns.loaded_beside import meets_unplaced
from mpslint.patterns.loaded_modules import computes, handed_out, is_module, modules_of
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.moved_modules import device_of_move, may_follow, move_of_module
from mpslint.patterns.only_copied import (
    is_plain_entry,
    kept_on_devices,
    may_be_moved,
    may_hold,
    meets_tensors,
)
from mpslint.patterns.read_to import is_read_to
from mpslint.patterns.references import Reference
from mpslint.patterns.selection import reference
from mpslint.patterns.text import (
    holds_comment,
    indent_unit,
    insert,
    line_limit,
    quote,
    replace,
    replace_span,
)
from mpslint.semantics.destinations.devices_in_use import device_in_use
from mpslint.semantics.purpose.settled_moves import settled
from mpslint.semantics.saved.checkpoints import storage_move
from mpslint.semantics.syntax.expressions import arguments_for, keyword
from mpslint.semantics.values.values import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

# Fact: Python's grammar, what may follow an argument on its line.
_LINE_END = re.compile(r"\s*,?[ \t]*(#.*)?[\r\n]+\Z")
_NUMBER = "torch.cuda.current_device"
_MOVES = ("to", "cuda", "cpu", "mps")
_RANDOM = b"rng_state"
_OF_DEVICES = (b"cuda", b"device", b"mps", b"accelerat")
_ON_HOST = "what a Mac has saved on MPS would be kept on the CPU"


def add_map_location(context: Context, call: ast.Call) -> Fix | None:
    """Add `map_location=` behind the last argument.

    A state dict goes to the CPU, from where it is copied into what is there: the same parameters
    on the same device, also with CUDA, where the way leads over the host; so does a module that is
    moved at once, and what a program loads that knows of no device. What is copied so in part goes
    to the device at hand, and what an object keeps goes where its class makes it. A module that
    nothing moves later goes to the very device that its inputs are moved to. Anything else stays
    where it was saved if there is CUDA, and goes to the CPU elsewhere; so does what meets something
    else that is loaded without a place.
    """
    mark, torch = quote(context.source), torch_name(context, call)
    last = max(
        [*call.args, *(k.value for k in call.keywords)],
        key=lambda n: context.source.span(n)[1],
        default=None,
    )
    place = _place(context, call, f"{mark}cpu{mark}", torch) if last is not None else None
    if last is None or place is None:
        return None
    added = _argument(context, call, last, f"map_location={place.text}")
    edits = (*place.edits, *added)
    return doubtful(Fix("Load where every machine can", edits, place.level), place.reason)


def _place(context: Context, call: ast.Call, host: str, torch: str | None) -> Reference | None:
    """Where a checkpoint is loaded to; `host` is the text for the CPU."""
    kept, beside = kept_on_devices(context, call), meets_unplaced(context, call)
    move = move_of_module(context, call)
    if move is not None and (device := device_of_move(context, call, move)) is not None:
        return device
    if move is not None and context.index.within(call, move):
        return Reference(host, True, ())
    if not beside and (kept == [] or _is_for_the_host(context, call)):
        return Reference(host, True, ())
    if torch is None:
        return None
    if kept:
        names = {named_at(context, call, device) for device in kept}
        name = names.pop() if len(names) == 1 else None
        if name is not None:
            return Reference(name, False, ())
    elif not beside and _goes_to_its_inputs(context, call):
        device = _of_inputs(context, call)
        if device is not None:
            return device
    at_hand = _of_checkpoint(context, call) if not beside else None
    text = at_hand or f"None if {torch}.cuda.is_available() else {host}"
    reason = _ON_HOST if at_hand is None and _is_kept(context, call) else ""
    return Reference(text, False, (), reason=reason)


def _is_for_the_host(context: Context, call: ast.Call) -> bool:
    """Whether a program that nobody imports and that knows of no device loads this, and computes
    with what else it has, which is all on the CPU."""
    if any(word in context.source.data for word in _OF_DEVICES):
        return False
    around = context.elsewhere
    return around is not None and not around.is_imported(context.source.path)


def _is_kept(context: Context, call: ast.Call) -> bool:
    """Whether an object keeps what is loaded, or an entry of it, in a class that is told its device
    by somebody else, or where MPS is known: a Mac may have saved that on MPS."""
    if b"mps" not in context.source.data and device_in_use(context, call) is None:
        return False
    parent = context.index.parents[call]
    targets = parent.targets if isinstance(parent, ast.Assign) else []
    if any(isinstance(target, ast.Attribute) for target in targets):
        return True
    uses = [
        use
        for target in targets
        if isinstance(target, ast.Name)
        for use in context.index.names[target.id]
        if context.index.function(use) is context.index.function(call)
        if isinstance(use.ctx, ast.Load) and may_hold(context, use, call)
    ]
    entries = [context.index.parents[use] for use in uses]
    return any(
        isinstance(entry, ast.Subscript)
        and isinstance(kept := context.index.parents[entry], ast.Assign)
        and any(isinstance(target, ast.Attribute) for target in kept.targets)
        and not is_plain_entry(context, entry)
        for entry in entries
    )


def _of_checkpoint(context: Context, call: ast.Call) -> str | None:
    """The device at hand, for what goes to the `load_state_dict` of something, or is moved to that
    device, if not all of it. A state of random numbers has to stay on the CPU, and what a data set
    holds is left alone."""
    statement = context.index.parents[call]
    if not isinstance(statement, ast.Assign) or _RANDOM in context.source.data:
        return None
    held = {
        item.id
        for target in statement.targets
        for item in ast.walk(target)
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
    }
    around = context.index.function(call)
    copied = any(
        isinstance(item, ast.Name) and item.id in held
        for other in context.index.calls.get("load_state_dict", ())
        if context.index.function(other) is around
        for given in other.args
        for item in ast.walk(given)
    )
    at_hand = context.devices.at_hand(call)
    if at_hand is None or not follows_machine(context, at_hand):
        return None
    if any(_is_made_an_array(context, name, around) for name in held):
        return None
    if not copied and not meets_tensors(context, call, held):
        if not _holds_a_module(context, call, held, at_hand.text):
            return None
    return at_hand.text


def _is_made_an_array(context: Context, name: str, around: ast.AST | None) -> bool:
    """`checkpoint["labels"].numpy()`, for which the tensor has to be on the CPU."""
    return any(
        isinstance(entry := context.index.parents[use], ast.Subscript)
        and isinstance(taken := context.index.parents[entry], ast.Attribute)
        and taken.attr == "numpy"
        for use in context.index.names.get(name, ())
        if context.index.function(use) is around
    )


def _holds_a_module(context: Context, call: ast.Call, held: set[str], device: str) -> bool:
    """`model = checkpoint["model"]`, which goes to the device later on, as what else there is of a
    run (an optimizer) has to, where nothing else is read of it that may have to be on the CPU."""
    around = context.index.function(call)
    models = {
        target.id
        for name in held
        for use in context.index.names.get(name, ())
        if context.index.function(use) is around
        if isinstance(entry := context.index.parents[use], ast.Subscript)
        if isinstance(kept := context.index.parents[entry], ast.Assign)
        for target in kept.targets
        if isinstance(target, ast.Name)
    }
    moved = {
        move.func.value.id
        for move in context.index.calls.get("to", ())
        if isinstance(move.func, ast.Attribute)
        and isinstance(move.func.value, ast.Name)
        and move.func.value.id in models
        and [ast.unparse(given) for given in move.args] == [device]
        and context.index.function(move) is around
        and move.lineno > call.lineno
        and may_follow(context, call, move)
    }
    return bool(moved) and may_be_moved(context, call, held, moved)


def _argument(context: Context, call: ast.Call, last: ast.expr, text: str) -> list[Edit]:
    """One more argument: on a line of its own where the last one has one, with its comment."""
    source, at = context.source, _behind(context, call, last)
    row, first = source.position(at)[0], source.span(last)[0]
    keyword = next((k for k in call.keywords if k.value is last), None)
    first = source.span(keyword)[0] if keyword is not None else first
    head_row = source.position(first)[0]
    head = source.text[source.starts[head_row - 1] : first]
    tail = source.text[at : source.starts[row]] if row < len(source.starts) else "?"
    if head.strip() or not _LINE_END.match(tail):
        return _broken(context, call, at, text) or [insert(at, f", {text}")]
    line = insert(source.starts[row], f"{source.indentation(head_row)}{text},{source.newline}")
    return [line] if tail.lstrip().startswith(",") else [insert(at, ","), line]


def _broken(context: Context, call: ast.Call, at: int, text: str) -> list[Edit]:
    """The arguments of the outermost call on lines of their own, where the line would get too
    long; else nothing."""
    source, outer = context.source, call
    for parent in context.index.ancestors(call):
        if isinstance(parent, ast.stmt):
            break
        if isinstance(parent, ast.Call) and source.span(parent.func)[1] < at:
            outer = parent  # Else it is what a method is called of: `make(torch.load(path)).to(x)`.
    start, end = source.span(outer.func)[1], source.span(outer)[1]
    row = source.position(start)[0]
    line = source.line(row).rstrip()
    limit = line_limit(source)
    if len(line) + len(text) + 2 <= limit or outer.end_lineno != outer.lineno or "#" in line:
        return []
    if source.text[start] != "(" or not start < at < end:
        return []
    newline, unit, indent = source.newline, indent_unit(source), source.indentation(row)
    inner = indent + unit
    given = f"{source.text[start + 1 : at]}, {text}{source.text[at : end - 1].rstrip(', ')}".strip()
    if len(inner) + len(given) > limit:
        first = source.span(call.func)[1] + 1
        if source.text[at : source.span(call)[1] - 1].strip():
            return []
        head, own = source.text[start + 1 : first].lstrip(), source.text[first:at].lstrip()
        if outer is call:
            given = f"{own},{newline}{inner}{text},"
        else:
            rest = source.text[at : end - 1]
            given = f"{head}{newline}{inner}{unit}{own}, {text}{newline}{inner}{rest}"
    return [replace_span(source, start + 1, end - 1, f"{newline}{inner}{given}{newline}{indent}")]


def _is_moved(context: Context, call: ast.Call) -> bool:
    """Whether what is loaded is moved to a device later on."""
    parent = context.index.parents[call]
    if isinstance(parent, ast.Attribute):
        return parent.attr in _MOVES
    if not isinstance(parent, ast.Assign):
        return False
    held = [*parent.targets, *modules_of(context, call)]
    return any(
        isinstance(move.func, ast.Attribute) and _moves_one(context, call, held, move)
        for name in _MOVES
        for move in context.index.calls.get(name, ())
    )


def _moves_one(context: Context, call: ast.Call, held: Sequence[ast.expr], move: ast.Call) -> bool:
    """Whether a move is of one of the names that hold what is loaded, or of what the function
    around the load gives back."""
    moved = move.func.value  # type: ignore[attr-defined]
    if isinstance(moved, ast.Call):
        return any(moved is given for given in handed_out(context, call))
    same = [kept for kept in held if ast.unparse(kept) == ast.unparse(moved)]
    around = context.index.function(move)
    if around is context.index.function(call):
        return bool(same) and may_follow(context, call, move)
    if isinstance(moved, ast.Attribute):
        return bool(same)
    return any(context.index.function(kept) is around for kept in same)


def stays_on_host(context: Context, call: ast.Call) -> ast.Call | None:
    """Where a module that `call` loads, and that a Mac's CPU keeps whatever is chosen, is given
    something; None: it goes along, or it is no such module."""
    place = keyword(call, "map_location")
    if place is None and _of_inputs(context, call) is not None:
        return None
    if place is not None and not (isinstance(place, ast.Constant) and place.value == "cpu"):
        return None
    return computes(context, call) if _goes_to_its_inputs(context, call) else None


def _goes_to_its_inputs(context: Context, call: ast.Call) -> bool:
    """Whether a module is loaded, itself or beside what may lie on any device, that nothing moves
    later."""
    if not is_module(context, call) or _is_moved(context, call):
        return False
    statement, around = context.index.parents[call], context.index.function(call)
    held = statement.targets if isinstance(statement, ast.Assign) else []
    return _RANDOM not in context.source.data and not any(
        _is_made_an_array(context, one.id, around) for one in held if isinstance(one, ast.Name)
    )


def _of_inputs(context: Context, call: ast.Call) -> Reference | None:
    """The device that the file moves tensors to where it calls what is loaded: the one at hand,
    or one that fixes select for `.cuda()`; None where there is no such, or another as well."""
    at_hand = context.devices.at_hand(call)
    moved_to = {
        ast.unparse(given)
        for move in context.index.calls.get("to", ())
        for given in arguments_for(move, 0, "device")
        if context.values.of(given).kind in (Kind.DEVICE, Kind.DEVICE_STRING)
    }
    if at_hand is not None:
        if moved_to != {at_hand.text}:
            return None
        return Reference(at_hand.text, at_hand.is_string, ())
    moves = [c for c in context.index.calls.get("cuda", ()) if isinstance(c.func, ast.Attribute)]
    moves = [move for move in moves if not context.resolve(move.func)]
    gated = any(settled(context, move) for move in moves)
    if not moves or gated or any("cuda" not in text for text in moved_to):
        return None
    return reference(context, call)


def _behind(context: Context, call: ast.Call, last: ast.expr) -> int:
    """The offset behind the last argument and the parentheses it may stand in."""
    source = context.source
    start, at = source.span(call.func)[1], source.span(last)[1]
    # The argument's own parentheses are closed inside its span; those around it are not.
    opened = source.text[start : source.span(last)[0]].rstrip(" \t\r\n")
    extra = 0
    while opened.endswith("("):
        opened, extra = opened[:-1].rstrip(" \t\r\n"), extra + 1
    if not opened:
        extra -= 1
    while extra > 0:
        at = source.text.index(")", at) + 1
        extra -= 1
    return at


def portable_map_location(context: Context, given: ast.expr) -> Fix | None:
    """Put the selected device in the place of a written-out CUDA one."""
    start, end = context.source.span(given)
    storage = storage_move(given)
    if storage is not None:
        return _instead_of_lambda(context, given, storage)
    literal = next(
        (x for x in context.devices.literals if context.index.within(x.node, given)), None
    )
    if literal is None or holds_comment(context.source, start, end):
        return None
    if literal.computed_index or literal.ordinal:
        return _from_host(context, given)
    found = reference(context, given, literal.ordinal)
    if found is None:
        return None
    edits: tuple[Edit, ...] = (*found.edits, replace(context.source, given, found.text))
    return doubtful(Fix("Load to the selected device", edits, found.level), found.reason)


def _from_host(context: Context, given: ast.expr) -> Fix | None:
    """The CPU, from where all is copied into what is there, in place of one of several GPUs."""
    if not is_read_to(context, given):
        return None
    while isinstance(around := context.index.parents[given], ast.IfExp):
        given = around
    if holds_comment(context.source, *context.source.span(given)):
        return None
    mark = quote(context.source)
    edit = replace(context.source, given, f"{mark}cpu{mark}")
    return Fix("Load where every machine can", (edit,), Applicability.SAFE)


def location_level(context: Context, given: ast.expr) -> Applicability | None:
    """None for `storage.cuda(1)` of what is more than copied: one of several GPUs has no
    counterpart."""
    storage = storage_move(given)
    if storage is None or _is_the_first(storage) or is_read_to(context, given):
        return Applicability.SAFE
    return None


def _is_the_first(storage: ast.Call) -> bool:
    index = storage.args[0] if storage.args else None
    first = index is None or (isinstance(index, ast.Constant) and index.value == 0)
    return first and not storage.keywords


def _instead_of_lambda(context: Context, given: ast.expr, storage: ast.Call) -> Fix | None:
    """The device itself for `lambda storage, location: storage.cuda()`; the CPU's for one of
    several GPUs, from where all is copied."""
    level = location_level(context, given)
    if level is None or holds_comment(context.source, *context.source.span(given)):
        return None
    if not _is_the_first(storage):
        mark = quote(context.source)
        here = replace(context.source, given, f"{mark}cpu{mark}")
        there = _without_its_number(context, storage)
        return Fix("Load where every machine can", (here, *there), level)
    found = reference(context, given)
    if found is None:
        return None
    edits = (*found.edits, replace(context.source, given, found.text))
    return doubtful(Fix("Load to the selected device", edits, found.level), found.reason)


def _without_its_number(context: Context, storage: ast.Call) -> list[Edit]:
    """Takes away the number of the current GPU, for which nobody asks any more."""
    index = storage.args[0] if storage.args else None
    bound = context.flow.reaching(index) if isinstance(index, ast.Name) else ()
    if len(bound) != 1 or _use_of_number(context, bound[0].value) is not index:
        return []
    statement = context.index.statement(bound[0].node)
    source, row = context.source, statement.lineno
    start, end = source.starts[row - 1], source.starts[statement.end_lineno or row]
    text = source.text[start:end].strip()
    return [replace_span(source, start, end, "")] if text == source.segment(statement) else []


def location_of_number(context: Context, call: ast.Call) -> ast.expr | None:
    """The `map_location` that goes with the fix of a load, for `torch.cuda.current_device()` of
    which nothing else asks: `lambda storage, location: storage.cuda(device)`."""
    use = _use_of_number(context, call)
    given = context.index.enclosing(use, ast.Lambda) if use is not None else None
    if not isinstance(given, ast.Lambda):
        return None
    storage = storage_move(given)
    if storage is None or use not in storage.args or not is_read_to(context, given):
        return None
    return given if _without_its_number(context, storage) else None


def _use_of_number(context: Context, value: ast.AST | None) -> ast.Name | None:
    """The one use in its function of a name that holds the number of the current GPU."""
    if not isinstance(value, ast.Call) or context.resolve(value.func) != _NUMBER:
        return None
    statement, function = context.index.parents[value], context.index.function(value)
    if function is None or not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    uses = [
        use
        for use in context.index.names.get(target.id if isinstance(target, ast.Name) else "", ())
        if context.index.function(use) is function and use is not target
    ]
    return uses[0] if len(uses) == 1 else None
