"""What the CUDA device is told and the MPS device is not, function by function."""

from __future__ import annotations

import ast

from mpslint.facts import machines as facts
from mpslint.semantics.worlds.events import Event, Kind
from mpslint.semantics.worlds.interpreter import Interpreter
from mpslint.semantics.worlds.machines import CUDA, MACS, PORTED
from mpslint.semantics.worlds.state import Function
from mpslint.semantics.worlds.values import DEVICE, TENSOR, Tests, cases_of, where

TOLD = (
    Kind.EFFECT,
    Kind.CHOSEN,
    Kind.AUTOCAST,
    Kind.UNCAST,
    Kind.SCALED,
    Kind.MOVED,
    Kind.TYPED,
    Kind.PLACED,
)
CASTING = frozenset({Kind.AUTOCAST, Kind.UNCAST, Kind.SCALED})
"""Mixed precision."""
_LEFT_OPEN = ("wait", "release", "state", "kept state")
"""What a program that chooses MPS has not thereby decided."""
_BY_NAME = (Kind.EFFECT, Kind.CHOSEN)


def unmatched(run: Interpreter) -> list[Event]:
    """Events that CUDA has and no Mac, ported or not, has in the same function."""
    by_function: dict[object, list[Event]] = {}
    for event in run.log:
        if event.kind in TOLD:
            by_function.setdefault(event.function, []).append(event)
    found: list[Event] = []
    refused = frozenset(
        test for event in run.log if event.kind is Kind.REFUSED for test in event.tests
    ).union(run.refusing)
    for function, events in by_function.items():
        ends = run.ends.get(function)  # type: ignore[call-overload]
        entered = max((event.worlds & MACS for event in events), default=0)
        if ends and not ends & MACS and not entered:
            continue  # No Mac ever gets through here: a package, a comparison with "cuda".
        left = _left_alone(events, run.device_tests, refused, _had_before(function, by_function))
        other = {
            event.arm
            for event in events
            if event.kind is Kind.EFFECT and event.worlds & MACS and _serves_mps(event)
        }
        found += [
            event
            for event in left
            if event.tests.isdisjoint(run.own_tests)
            and not _has_arm_for_mps(event, run)
            and not (event.kind in _BY_NAME and _is_decided(event, run, other))
        ]
    return found


def _is_decided(event: Event, run: Interpreter, other: set[int]) -> bool:
    """Whether MPS is asked for in the same conditional, or before this: what it gets there is
    meant; `other`: conditionals in which it gets something else."""
    if event.arm and (event.function, event.arm) in run.asking_mps:
        return event.arm not in other
    before = event.tests & run.mps_tests
    if effect_of(event) in _LEFT_OPEN and not event.tests.isdisjoint(run.device_tests):
        # What has chosen the device has not said who waits for it, or lets go of its memory.
        before &= run.device_tests
    return bool(before)


def _has_arm_for_mps(event: Event, run: Interpreter) -> bool:
    """Whether something is made on CUDA in an arm for CUDA's device, and MPS's has another, in
    which more is done than to say so."""
    return event.kind is Kind.PLACED and any(
        not run.told_only.get(other, False)
        for test in event.tests
        if isinstance(test, ast.Compare)
        for other in run.compared_with_mps.get((event.function, ast.unparse(test.left)), ())
    )


def _had_before(function: object, by_function: dict[object, list[Event]]) -> set[str]:
    """What a Mac's device is told in all functions that call this one."""
    callers = function.callers if isinstance(function, Function) else set()
    told = [
        {
            facts.EFFECTS[event.name]
            for event in by_function.get(caller, ())
            if event.kind is Kind.EFFECT and event.worlds & MACS and _serves_mps(event)
        }
        for caller in callers
    ]
    return set.intersection(*told) if told else set()


def _left_alone(
    events: list[Event], device_tests: set[ast.expr], refused: Tests, before: set[str]
) -> list[Event]:
    """`refused`: the tests of refusals to run; `before`: what a Mac was told before."""
    have = {(effect, 0) for effect in before}
    for event in events:
        effect = effect_of(event)
        if effect is not None and event.worlds & MACS and _serves_mps(event):
            have.add((effect, event.arm))
            if effect != "move":
                have.add((effect, 0))
    left = []
    for event in events:
        effect = effect_of(event)
        if event.kind is Kind.EFFECT and event.use is not None:
            continue  # That is told where it was chosen.
        if effect is None or not event.worlds & CUDA or not _is_for_cuda(event):
            continue
        if event.kind in (Kind.MOVED, Kind.TYPED, Kind.PLACED):
            if event.on_mac or event.moves_nothing or _is_there(event):
                continue
            if event.caught and event.kind is not Kind.MOVED:
                continue  # Whether a GPU works at all is tried. Moves that are tried are meant.
            if _is_moved_next(event):
                continue
            if not event.once_ported and not any(test in device_tests for test in event.tests):
                continue  # Several GPUs, a package: CUDA's own.
            if event.arm and (effect, event.arm) in have:
                continue
        elif (effect, 0) in have:
            continue
        elif not event.worlds & MACS and event.tests.isdisjoint(device_tests):
            continue  # NCCL, a package: CUDA's own.
        elif event.kind in CASTING and not event.on_mac:
            # Mixed precision that is switched on for CUDA alone is meant so, but not where the
            # program refuses to run without.
            if event.arm or not event.once_ported or event.tests.isdisjoint(refused):
                continue
        left.append(event)
    return left


def effect_of(event: Event) -> str | None:
    """What is told: wait, release, seed, state, fraction, move, cast, scale."""
    if event.kind in _BY_NAME:
        return facts.EFFECTS[event.name]
    if event.kind is Kind.AUTOCAST:
        return "cast"
    if event.kind is Kind.UNCAST:
        return None if event.likely else "uncast"  # Whether one is on around others may say.
    if event.kind is Kind.SCALED:
        return "scale"
    if event.kind in (Kind.MOVED, Kind.TYPED, Kind.PLACED):
        return "move"
    return None


def _is_for_cuda(event: Event) -> bool:
    if event.kind in _BY_NAME:
        return event.name.startswith("torch.cuda.")
    if event.kind in (Kind.MOVED, Kind.TYPED):
        return True
    return any(
        atom.kind == DEVICE and atom.v == "cuda" for _, atom in cases_of(event.value, event.worlds)
    )


def _serves_mps(event: Event) -> bool:
    """Whether a Mac's device is told by this."""
    if event.kind in _BY_NAME:
        return not event.name.startswith("torch.cuda.")
    if event.kind in (Kind.MOVED, Kind.TYPED):
        return False
    return any(
        where(atom) in ("mps", "?") for _, atom in cases_of(event.value, event.worlds & MACS)
    )


def _is_there(event: Event) -> bool:
    """Whether a move moves nothing: the tensor was made of what is on the GPU already, on a machine
    with CUDA and on a ported Mac. One that was itself moved before is repaired move by move."""
    if event.kind is not Kind.MOVED or _is_moved_before(event):
        return False
    return all(
        atom.kind == TENSOR and where(atom) == place
        for machine, place in ((CUDA, "cuda"), (PORTED, "mps"))
        for _, atom in cases_of(event.value, event.worlds & machine)
    )


def _is_moved_before(event: Event) -> bool:
    """Whether the same name is moved elsewhere in the function."""
    base = event.call.func.value if isinstance(event.call.func, ast.Attribute) else None
    if not isinstance(base, ast.Name) or not isinstance(event.function, Function):
        return True
    return any(
        isinstance(item, ast.Attribute)
        and item is not event.call.func
        and item.attr in ("cuda", "to")
        and isinstance(item.value, ast.Name)
        and item.value.id == base.id
        for item in ast.walk(event.function.node)
    )


def _is_moved_next(event: Event) -> bool:
    """Whether the next use of what is moved takes it to where another tensor is, on any machine:
    `if x.is_cuda: w = w.cuda()` and then `w = w.type_as(x)`."""
    base = event.call.func.value if isinstance(event.call.func, ast.Attribute) else None
    if event.kind is not Kind.MOVED or not isinstance(base, ast.Name):
        return False
    if not isinstance(event.function, Function):
        return False
    end = event.call.end_lineno or event.call.lineno
    uses = [
        item
        for item in ast.walk(event.function.node)
        if isinstance(item, ast.Name) and item.id == base.id and isinstance(item.ctx, ast.Load)
    ]
    first = min((item for item in uses if item.lineno > end), key=_place, default=None)
    return first is not None and any(
        isinstance(item, ast.Attribute) and item.value is first and item.attr == "type_as"
        for item in ast.walk(event.function.node)
    )


def _place(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset
