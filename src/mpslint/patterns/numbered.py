"""`.cuda(args.gpu)`: the GPU whose number somebody gave stays that on CUDA, and elsewhere the one
device that there is takes its place.

The device is selected once for all that goes to the same number: beside it where a class keeps the
number (`self.gpu = gpu`), else where the function or the script that has it first needs it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeGuard

from mpslint.facts.priors import names_device
from mpslint.model import Applicability, Edit, Fix, doubtful
from mpslint.patterns.asking_order import asking_order
from mpslint.patterns.availability import cuda_available, mps_available, opening_level
from mpslint.patterns.calls import overrides_cuda, rewrite_call
from mpslint.patterns.device_of_number import device_selected
from mpslint.patterns.flat import statement_of
from mpslint.patterns.in_function import first_in_need
from mpslint.patterns.insertion import insert_after, insert_before
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.place import behind_imports, settles_too_early
from mpslint.patterns.references import Reference
from mpslint.patterns.text import indent_unit, insert, missing_gap, quote, replace
from mpslint.records import NamedTuple
from mpslint.semantics.gpus.named_numbers import numbers_named
from mpslint.semantics.gpus.negative_numbers import may_be_negative
from mpslint.semantics.gpus.numbers_given import Given, Key, classes, given_to, number_of
from mpslint.semantics.gpus.objects_changed import defines, derived, sets
from mpslint.semantics.gpus.whole_numbers import is_whole_number
from mpslint.semantics.purpose.arm_tests import tests_around
from mpslint.semantics.purpose.settled_moves import settled
from mpslint.semantics.syntax.expressions import last_name, names_in
from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.semantics.context import Context
    from mpslint.semantics.devices.devices_at_hand import DeviceName

_KEY = "devices for the numbers of GPUs"
_AROUND = "functions that move to the GPU of a number"
_OFTEN = "several functions need the device of a number"
_MOVES = "moves by the number of their GPU"
_HELPER = "a function that gives the device for a number"
_HELPERS = ("get_device", "device_of", "device_of_gpu")
_OWN_NAMES = ("device", "torch_device", "gpu_device")
_MESSAGE = "Move to the device of this number"
_CURRENT = "the current GPU may be another than that of {}"
_CHANGED = "objects of {} may get another {} from elsewhere"
_UNSURE = "{} may be something else than the number of a GPU, which torch.device would not take"


class Selected(NamedTuple):
    """A device that takes the place of a number, and the edit that selects it."""

    text: str
    edits: tuple[Edit, ...]
    beside: ast.stmt | None = None
    """The statement in front of which, or behind which, the edit stands."""
    doubt: str = ""
    """Why it may not be there for each object, or be that of another number."""


def move_numbered(context: Context, call: ast.Call) -> Fix | None:
    """`.to(device)` for `.cuda(number)`; None where a number is written out, or where no place for
    the selection is found that all who go to this GPU come by."""
    number = _number(context, given_to(context, call))
    selected = _selected(context, number) if number is not None else None
    if number is None or selected is None:
        return None
    edits = rewrite_call(context, call, Reference(selected.text, False, ()), replaces=True)
    if edits is None or overrides_cuda(context, call):
        return None
    fix = Fix(_MESSAGE, (*selected.edits, *edits), opening_level(context))
    fix = doubtful(fix, selected.doubt) if selected.doubt else fix
    is_sure = is_whole_number(context, number.value)
    return fix if is_sure else doubtful(fix, _UNSURE.format(ast.unparse(number.value)))


def place_numbered(context: Context, values: Sequence[ast.expr]) -> Fix | None:
    """The device for each `.to(number)` and `torch.device(number)` of the numbers that `values`
    stand for, where these are numbers for certain."""
    edits: dict[Edit, None] = {}
    doubt = ""
    for value in values:
        number = _number(context, value)
        selected = _selected(context, number) if number is not None else None
        if number is None or selected is None or not is_whole_number(context, value):
            return None
        doubt = doubt or selected.doubt
        edits |= dict.fromkeys(selected.edits)
        going = [one for one in _going(context, number) if not _is_moved(context, one)]
        if value not in going:
            return None
        for one in going:
            call = context.index.parents[one]
            is_made = isinstance(call, ast.Call) and context.resolve(call.func) == "torch.device"
            edits[replace(context.source, call if is_made else one, selected.text)] = None
    fix = Fix(_MESSAGE, tuple(edits), opening_level(context))
    return doubtful(fix, doubt) if doubt else fix


def _is_moved(context: Context, value: ast.expr) -> bool:
    """Whether it is what a `.cuda()` is given, which is told by itself."""
    call = context.index.parents[value]
    call = context.index.parents[call] if isinstance(call, ast.keyword) else call
    return call in context.index.calls.get("cuda", ())


def is_numbered(context: Context, call: ast.Call) -> bool:
    """Whether a move to the GPU of a number can become one to a device."""
    number = _number(context, given_to(context, call))
    return number is not None and _selected(context, number) is not None


def _number(context: Context, value: ast.expr | None) -> Given | None:
    """A value that is a number, or may be: one that is called a device is one for certain only."""
    number = number_of(context, value) if value is not None else None
    if number is None or value is None:
        return None
    named = value.value if isinstance(value, ast.Subscript) else value
    if names_device(last_name(named) or "") and not is_whole_number(context, number.value):
        return None
    return number


def about_to_be_selected(
    context: Context, node: ast.AST, *, type_only: bool = False
) -> Reference | None:
    """The device of the number that other things around `node` go to, for what is made or moved on
    the current GPU there: whatever the fix of the others brings along, this can use. None where it
    is not there yet."""
    if _AROUND not in context.memo:
        around: dict[ast.AST | None, tuple[Given, Selected]] = {}
        for call in context.index.calls.get("cuda", ()):
            number = _number(context, given_to(context, call))
            selected = _selected(context, number) if number is not None else None
            if number is not None and selected is not None and selected.edits:
                is_for_all = isinstance(number.owner, ast.Module)
                function = None if is_for_all else context.index.function(call)
                around.setdefault(function, (number, selected))
        context.memo[_AROUND] = around
    known = context.memo[_AROUND]
    assert isinstance(known, dict)
    found = known.get(context.index.function(node)) or known.get(None)
    if found is None:
        return None
    number, selected = found
    if not _is_behind(context, selected, node):
        return None
    level = opening_level(context)
    if not selected.doubt and (type_only or _is_current(context, ast.unparse(number.value))):
        return Reference(selected.text, False, selected.edits, level)
    reason = selected.doubt or _CURRENT.format(ast.unparse(number.value))
    return Reference(selected.text, False, selected.edits, Applicability.UNSAFE, reason=reason)


def of_another_gpu(context: Context, device: DeviceName) -> str:
    """Why a device at hand may be another GPU than the current one: it is that of a number which
    the file does not make the current one's; empty: it is none."""
    values = [one.value for one in device.bindings]
    if device.attribute is not None:
        values += context.guards.assigned(device.attribute)
    for value in values:
        for number in numbers_named(context, value) if value is not None else ():
            if not _is_current(context, number):
                return _CURRENT.format(number)
    return ""


def _is_current(context: Context, text: str) -> bool:
    """Whether the file makes the GPU of this number the current one, and no other."""
    made = list(context.calls_of("torch.cuda.set_device", "torch.cuda.device"))
    return bool(made) and all(
        len(call.args) == 1
        and ast.unparse(call.args[0]) == text
        and context.resolve(call.func) == "torch.cuda.set_device"
        for call in made
    )


def _is_behind(context: Context, selected: Selected, node: ast.AST) -> bool:
    """Whether a selection has run when `node` does; of what an object keeps that is so in each
    method but the one that selects."""
    assert selected.beside is not None
    here, there = context.index.function(node), context.index.function(selected.beside)
    if here is not there:
        return True
    block = context.index.block(selected.beside)
    inside = any(context.index.within(node, one) for one in block)
    return inside and context.source.span(node)[0] >= selected.edits[0].start


def _selected(context: Context, number: Given) -> Selected | None:
    """One for all that goes to the same number in what keeps it. `number.value` is as it stands
    there, or as the object keeps it."""
    known = context.memo.setdefault(_KEY, {})
    assert isinstance(known, dict)
    key = number.key
    if key not in known:
        found = _select(context, number, _going(context, number))
        doubt = _changed_yet(context, number, found) if found is not None else ""
        known[key] = found._replace(doubt=doubt) if found is not None and doubt else found
    result: Selected | None = known[key]
    return result


def _changed_yet(context: Context, number: Given, selected: Selected) -> str:
    """Why an object may have another number, or no place for its device: a class that is derived
    from this one, or who has the object, sets that."""
    owner, around = number.owner, context.elsewhere
    target = number.kept_by.targets[0] if isinstance(number.kept_by, ast.Assign) else None
    if not isinstance(owner, ast.ClassDef) or not isinstance(target, ast.Attribute):
        return ""
    given = frozenset({target.attr, selected.text.rpartition(".")[2]})
    is_changed = (
        sets(context, frozenset({owner.name}), given)
        or any(defines(context, one, given) for one in derived(context, owner.name))
        or (around is not None and around.changes_objects(context.source.path, owner.name, given))
    )
    return _CHANGED.format(owner.name, " or ".join(sorted(given))) if is_changed else ""


def _going(context: Context, number: Given) -> list[ast.expr]:
    """What stands for the number wherever something goes there."""
    if _MOVES not in context.memo:
        calls = context.index.calls
        moved = [(given_to(context, call), True) for call in calls.get("cuda", ())]
        placed = [
            (call.args[0], False)
            for name in ("to", "device")
            for call in calls.get(name, ())
            if len(call.args) == (1 if name == "device" else len(call.args)) > 0
        ]
        by_number: dict[Key, list[tuple[ast.expr, bool]]] = {}
        for value, is_moved in (*moved, *placed):
            other = number_of(context, value) if value is not None else None
            if value is not None and other is not None:
                by_number.setdefault(other.key, []).append((value, is_moved))
        context.memo[_MOVES] = by_number
    known = context.memo[_MOVES]
    assert isinstance(known, dict)
    found: list[tuple[ast.expr, bool]] = known.get(number.key, [])
    return [value for value, is_moved in found if is_moved or is_whole_number(context, value)]


def _asks_first(context: Context, value: ast.expr, number: Given) -> bool:
    """Whether what goes there stands behind a test for CUDA, or hangs on its number."""
    if settled(context, value):
        return True
    texts = {ast.unparse(number.value), ast.unparse(value)}
    texts |= {ast.unparse(one.value) for one in (number.value, value) if _is_listed(one)}
    tests = [test for test, _, _ in tests_around(context, value)]
    if _is_listed(value) and tests:
        return True  # `args.gpus[0]`, where the list may be empty.
    return any(
        ast.unparse(part) in texts
        for test in tests
        for part in ast.walk(test)
        if isinstance(part, ast.Name | ast.Attribute)
    )


def _is_listed(value: ast.expr) -> TypeGuard[ast.Subscript]:
    return isinstance(value, ast.Subscript)


def _select(context: Context, number: Given, moves: Sequence[ast.expr]) -> Selected | None:
    if not moves or any(_asks_first(context, one, number) for one in moves):
        return None
    if may_be_negative(context, number.value):
        return None  # A negative one says that nothing goes to a GPU.
    torch = torch_name(context, moves[0])
    if torch is None:
        return None
    there = device_selected(context, number, moves)
    if there is not None:
        return Selected(there, ())
    if number.owner is None:
        return None
    if isinstance(number.owner, ast.ClassDef):
        return _beside(context, number, number.owner, torch)
    return _in_front(context, number, moves, torch)


def _lines(context: Context, name: str, torch: str, number: str) -> list[str]:
    arms = _arms(context, torch, number)
    return statement_of(
        [(f"{name} = {device}", test) for device, test in arms], indent_unit(context.source)
    )


def _arms(context: Context, torch: str, number: str) -> list[tuple[str, str]]:
    """The devices in the order in which they are asked for, each with its test; the last has
    none."""
    mark = quote(context.source)
    arms = {
        "cuda": (f"{mark}cuda{mark}, {number}", cuda_available(torch)),
        "mps": (f"{mark}mps{mark}", mps_available(context, torch)),
    }
    chosen = [arms[backend] for backend in asking_order(context) if backend in arms]
    given = [*chosen, (f"{mark}cpu{mark}", "")]
    return [(f"{torch}.device({one})", test) for one, test in given]


def _beside(context: Context, number: Given, owner: ast.ClassDef, torch: str) -> Selected | None:
    """`self.device` behind the statement that keeps the number."""
    statement = number.kept_by
    if statement is None or settles_too_early(context, statement):
        return None
    taken = {one for one in _OWN_NAMES if one in context.index.attributes}
    if not _knows_bases(context, owner):
        taken.add("device")  # Lightning's modules have one that cannot be set.
    name = next((one for one in _OWN_NAMES if one not in taken), None)
    if name is None:
        return None
    lines = _lines(context, f"self.{name}", torch, ast.unparse(number.value))
    edit = insert_after(context, statement, lines)
    return Selected(f"self.{name}", (edit,), statement) if edit is not None else None


def _knows_bases(context: Context, owner: ast.ClassDef) -> bool:
    """Whether a class has nothing from classes that are not seen here, but for torch's modules."""
    looked_at = [owner]
    for one in looked_at:
        for base in one.bases:
            name = context.resolve(base) or ""
            if name.startswith("torch.nn.") or "object" in (name, ast.unparse(base)):
                continue
            found = classes(context, base.id) if isinstance(base, ast.Name) else []
            if len(found) != 1 or found[0] is one:
                return False
            if found[0] not in looked_at:
                looked_at.append(found[0])
    return True


def _in_front(
    context: Context, number: Given, moves: Sequence[ast.expr], torch: str
) -> Selected | None:
    """A name of the function, or the script, that has the number."""
    owner = number.owner
    assert isinstance(owner, (*FUNCTIONS, ast.Module))
    name = _free(context, owner)
    if name is None:
        return None
    scope = None if isinstance(owner, ast.Module) else owner
    inside = all(context.index.function(one) is scope for one in moves)
    beside = first_in_need(context, number.block, list(moves)) if inside else number.kept_by
    if beside is None or isinstance(beside, (*FUNCTIONS, ast.ClassDef)):
        return None
    if inside and number.kept_by is not None and beside.lineno <= number.kept_by.lineno:
        return None
    if settles_too_early(context, beside):
        return None
    helper = _helper(context) if _is_asked_often(context) else None
    text, added = ast.unparse(number.value), helper[1] if helper is not None else ()
    lines = (
        [f"{name} = {helper[0]}({text})"]
        if helper is not None
        else _lines(context, name, torch, text)
    )
    edit = (
        insert_before(context, beside, lines, above_comments=True)
        if inside
        else insert_after(context, beside, lines)
    )
    return Selected(name, (*added, edit), beside) if edit is not None else None


def _is_asked_often(context: Context) -> bool:
    """Whether several functions would each get the same selection for a number of their own."""
    if _OFTEN not in context.memo:
        numbers = [
            number_of(context, given)
            for call in context.index.calls.get("cuda", ())
            if (given := given_to(context, call)) is not None
        ]
        owners = {one.owner for one in numbers if one and isinstance(one.owner, FUNCTIONS)}
        context.memo[_OFTEN] = len(owners) > 1
    return bool(context.memo[_OFTEN])


def _helper(context: Context) -> tuple[str, tuple[Edit, ...]] | None:
    """A function behind the imports that gives the device for a number, by its name, and what adds
    it where it is not there yet."""
    if _HELPER not in context.memo:
        context.memo[_HELPER] = _find_helper(context)
    found = context.memo[_HELPER]
    assert found is None or isinstance(found, tuple)
    return found


def _find_helper(context: Context) -> tuple[str, tuple[Edit, ...]] | None:
    place = behind_imports(context)
    if place is None:
        return None
    source, newline, unit = context.source, context.source.newline, indent_unit(context.source)
    arms = _arms(context, place.torch, "gpu")
    body = [
        line
        for device, test in arms
        for line in ([f"if {test}:", f"{unit}return {device}"] if test else [f"return {device}"])
    ]
    for name in _HELPERS:
        lines = [f"def {name}(gpu):", *(f"{unit}{line}" for line in body)]
        spelled = ast.unparse(ast.parse("\n".join(lines)))
        there = [one for one in context.tree.body if getattr(one, "name", "") == name]
        if any(ast.unparse(one) == spelled for one in there):
            return name, ()
        if not there and name not in context.index.names:
            gap = newline * missing_gap(source.text[place.offset :])
            text = f"{newline * 2}{newline.join(lines)}{newline}{gap}"
            return name, (insert(place.offset, text),)
    return None


def _free(context: Context, owner: ast.AST) -> str | None:
    """A name that nothing in the owner reads or binds."""
    taken = names_in(owner)
    taken |= {one.arg for one in ast.walk(owner) if isinstance(one, ast.arg)}
    names = (context.settings.device_name, *_OWN_NAMES)
    return next((one for one in names if one not in taken), None)
