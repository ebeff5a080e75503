"""Devices that a Mac does not have where it needs one, and choices that leave its GPU out."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from mpslint.facts.priors import names_device
from mpslint.records import NamedTuple
from mpslint.semantics.worlds.events import Event, Kind
from mpslint.semantics.worlds.joining import parted
from mpslint.semantics.worlds.machines import CUDA, MAC, MACS, PORTED, mac_of_cuda, mac_of_ported
from mpslint.semantics.worlds.made_beside import serves_mps_beside
from mpslint.semantics.worlds.program_options import ON_UNLESS_SAID
from mpslint.semantics.worlds.refused import needless_refusals, refusal_before
from mpslint.semantics.worlds.runners import is_test
from mpslint.semantics.worlds.state import Function
from mpslint.semantics.worlds.uncopied import uncopied_reads
from mpslint.semantics.worlds.values import (
    CONST,
    DEVICE,
    SEQUENCE,
    UNKNOWN,
    Atom,
    Cases,
    Tests,
    cases_of,
    places,
    truth,
)

if TYPE_CHECKING:
    from mpslint.semantics.worlds.file import Worlds


class Written(NamedTuple):
    """A CUDA device that is written out, and is what a Mac gets."""

    node: ast.expr
    use: ast.AST | None
    """What places something with it; None: it goes where it cannot be followed."""
    event: Event
    default: bool
    """Somebody may choose another."""


class Behind(NamedTuple):
    """A CUDA device that is written out where only CUDA comes."""

    node: ast.expr
    event: Event
    refusal: ast.expr | None
    """What ends a run without CUDA before; None: an arm keeps others away."""


class Choice(NamedTuple):
    """A choice between CUDA and something else than MPS."""

    tests: tuple[ast.expr, ...]
    """What decides it, in source order."""
    devices: tuple[ast.expr, ...]
    """Where the CUDA device is written that it chooses."""
    use: ast.AST
    is_flag: bool = False
    """It is no device: what will be done where the flag is true is not seen."""
    casts: bool = False
    """It is the device of an `autocast`, and of nothing else."""


def written(
    worlds: Worlds, followed: Callable[[Event], bool] = lambda _: False
) -> Iterator[Written]:
    """CUDA devices that a Mac is given, each once. What becomes of what is kept by `followed`
    events is told where it is read."""
    seen: set[ast.expr] = set()
    told = (*worlds.events(Kind.PLACED, Kind.KEPT), *worlds.events(Kind.LOADED))
    for event in told:
        if event.caught or not event.on_mac or event.name == "choices":
            continue
        for mask, atom in cases_of(event.value, event.worlds & MAC):
            if not mask or atom.kind != DEVICE or atom.v != "cuda":
                continue
            if worlds.run.is_script and isinstance(event.use, ast.Module):
                continue  # Nobody reads it.
            if event.kind is Kind.KEPT and not _goes_somewhere(worlds, event, atom):
                continue
            if event.kind is Kind.KEPT and followed(event):
                continue
            for node in places(atom):
                if event.kind is Kind.KEPT and atom.maybe and _is_insisted_on(worlds, node):
                    continue  # Who may choose another is told by the program itself.
                if event.kind is Kind.LOADED and _within(node, event.node):
                    continue  # The finding of load-map-location.
                if node not in seen and not worlds.lacks_objects(node):
                    seen.add(node)
                    use = event.use if event.kind is Kind.PLACED else None
                    yield Written(node, use, event, atom.maybe)


def behind_cuda(worlds: Worlds) -> Iterator[Behind]:
    """CUDA devices to which a Mac comes once what keeps it away asks for MPS, each once."""
    seen: set[ast.expr] = set()
    for event in (*worlds.without_twin, *worlds.events(Kind.KEPT)):
        if event.kind not in (Kind.PLACED, Kind.KEPT) or event.on_mac:
            continue
        refusal = refusal_before(worlds, event)
        if event.kind is Kind.KEPT and (refusal is None or event.function is None):
            continue  # Who reads the names of a program that refuses as a whole is not known.
        if refusal is None and not event.arm:
            continue  # Behind an early exit that exit is what is wrong.
        if event.kind is Kind.KEPT and not _is_handed_on(worlds, event):
            continue
        for node in devices_of(event):
            if node not in seen:
                seen.add(node)
                yield Behind(node, event, refusal)


def _is_handed_on(worlds: Worlds, event: Event) -> bool:
    """Whether what is kept will place something, in this file or in another."""
    if event.caught or event.name == "choices":
        return False
    if worlds.run.is_script and isinstance(event.use, ast.Module):
        return False
    return any(
        atom.kind == DEVICE and atom.v == "cuda" and _goes_somewhere(worlds, event, atom)
        for _, atom in cases_of(event.value, event.worlds)
    )


def _is_insisted_on(worlds: Worlds, node: ast.expr) -> bool:
    """Whether a program turns every Mac away, and by the device that was chosen, before it places
    anything on it: `if device.type != "cuda" or not torch.cuda.is_available(): raise`."""
    used = [
        event
        for event in worlds.events(Kind.PLACED, Kind.LOADED)
        if any(node in places(atom) for _, atom in cases_of(event.value, event.worlds))
    ]
    return bool(used) and all(
        event.cuda_alone
        and not MAC & ~event.refused
        and not event.tests.isdisjoint(worlds.run.device_tests)
        for event in used
    )


def _within(node: ast.expr, call: ast.AST) -> bool:
    return any(item is node for item in ast.walk(call))


def devices_of(event: Event) -> list[ast.expr]:
    """Where the CUDA devices of an event are written."""
    found: dict[ast.expr, None] = {}
    for _, atom in cases_of(event.value, event.worlds):
        if atom.kind == DEVICE and atom.v == "cuda":
            found.update(dict.fromkeys(places(atom)))
    ported = event.worlds & PORTED
    if ported:
        # What a Mac gets there in another place has been chosen for it.
        theirs = {node for _, atom in cases_of(event.value, ported) for node in places(atom)}
        return [node for node in found if node in theirs]
    return list(found)


def _goes_somewhere(worlds: Worlds, event: Event, atom: Atom) -> bool:
    """Whether a device that is only kept will place something: under the name of a device, it is
    what others read who place things. What nobody reads raises nothing."""
    if event.likely and worlds.names_torch:
        return False  # An attribute: what becomes of it is told where it is read.
    if event.function is not None and atom.made:
        return True
    if not names_device(event.name):
        return False
    run = worlds.run
    if event.function is not None or run.seen.isdisjoint(places(atom)):
        return True
    # One that is only compared here is placed by who takes it from here.
    return run.is_left_to_others(event.name, places(atom))


def choices(worlds: Worlds, idle: Callable[[Event], bool] = lambda _: False) -> Iterator[Choice]:
    """Selections that leave a Mac's GPU out, each once. `idle` events take a device that decides
    nothing there."""
    run = worlds.run
    seen: set[ast.expr] = {*needless_refusals(worlds), *run.decided}
    told = worlds.events(Kind.PLACED, Kind.KEPT, Kind.LOADED)
    # Where a Mac moves the same in another arm, nothing is left that only CUDA moves.
    told = [event for event in told if not _is_left(event)]
    # Flags come last: what they decide in this file says more; and before them what only says for
    # which device numbers are cast, where nothing is placed by the same choice.
    last = (*worlds.events(Kind.AUTOCAST), *worlds.events(Kind.DECIDED))
    for event in (*told, *worlds.without_twin, *uncopied_reads(worlds), *last):
        if worlds.run.is_script and isinstance(event.use, ast.Module):
            continue  # Nobody reads it.
        if idle(event):
            continue
        if event.kind is Kind.KEPT and _is_number(event):
            continue  # Nothing is placed with it here.
        tests, devices = _deciding(event)
        if not tests.isdisjoint(run.mps_tests):
            continue  # Somebody asks for MPS, and has decided.
        function = event.function
        if isinstance(function, Function) and not is_test(function):
            if event.cuda_alone and tests.isdisjoint(run.device_tests):
                continue  # Several GPUs, a package: CUDA's own.
            tests = {test for test in tests if worlds.comes_to(test) & MACS}
        tests &= run.cuda_tests
        if not devices:
            tests -= run.kept_answers  # It was decided, and is told, in another file.
        if not tests and event.worlds & MAC and _refused(event):
            # Another function has refused who asks for CUDA on a Mac.
            tests = set(devices)
        new = sorted(tests - seen, key=_place)
        if not new or any(serves_mps_beside(run, test) for test in new):
            continue
        seen |= tests
        casts = event.kind is Kind.AUTOCAST
        yield Choice(tuple(new), tuple(devices), event.node, _is_flag(event), casts)


def _is_number(event: Event) -> bool:
    """The number of the current GPU, or another number (or none) where there is no CUDA."""
    atoms = [atom for _, atom in cases_of(event.value, event.worlds)]
    numbers = [atom for atom in atoms if atom.kind == CONST and not isinstance(atom.v, str)]
    return bool(numbers) and any(
        atom.kind == DEVICE and atom.node is None and not atom.made for atom in atoms
    )


def _deciding(event: Event) -> tuple[set[ast.expr], list[ast.expr]]:
    """The tests that give CUDA what a Mac does not get, and the devices that they choose."""
    value = event.value
    if event.kind is Kind.READ or _is_left(event):
        return set(event.tests), []
    if event.name == "choices" or value.__class__ is not Cases:
        return set(), []
    if _is_flag(event):
        return _flag(event), []
    away = parted(value, event.worlds)
    refused = _refused(event)
    if not away and not refused:
        return set(), []
    tests: set[ast.expr] = set(event.tests) if refused else set()
    away |= refused
    devices: list[ast.expr] = []
    for mask, atom in cases_of(value, event.worlds):
        if atom.kind == DEVICE and atom.v == "cuda" and mac_of_cuda(mask & CUDA) & away:
            tests |= atom.tests
            devices += [node for node in places(atom) if node not in devices]
        elif mask & away:
            tests |= atom.tests
    return tests, devices


def _is_flag(event: Event) -> bool:
    if event.kind is Kind.READ or _is_left(event):
        return False
    return event.kind is Kind.DECIDED or not any(
        atom.kind == DEVICE for _, atom in cases_of(event.value)
    )


def _refused(event: Event) -> int:
    """The Mac's worlds that were turned away for asking for CUDA (`if args.cuda and not
    torch.cuda.is_available(): raise`), where others get something else."""
    on_cuda = 0
    for mask, atom in cases_of(event.value, event.worlds):
        if atom.kind == DEVICE and atom.v == "cuda":
            on_cuda |= mask
    asked = mac_of_cuda(on_cuda) & mac_of_ported(on_cuda)
    return asked & ~event.worlds if event.worlds & MAC else 0


def _is_left(event: Event) -> bool:
    """A move that only CUDA makes."""
    return event.kind in (Kind.MOVED, Kind.TYPED, Kind.PLACED) and not event.on_mac


def _flag(event: Event) -> set[ast.expr]:
    """A flag that is true with CUDA and false on a Mac, and goes where it cannot be followed."""
    yes = no = 0
    tests: Tests = frozenset()
    for mask, atom in cases_of(event.value, event.worlds):
        by_default = atom.kind == UNKNOWN and atom.v == ON_UNLESS_SAID
        if not (atom.kind == CONST or by_default) or not atom.tests:
            continue
        if by_default or truth(atom) is True:
            yes |= mask
        elif truth(atom) is False:
            no |= mask & MAC
        tests |= atom.tests
    return set(tests) if mac_of_cuda(yes & CUDA) & no else set()


def offered(worlds: Worlds) -> Iterator[ast.expr]:
    """Lists of devices to choose from that name CUDA and leave MPS out."""
    for event in worlds.events(Kind.KEPT):
        if event.name != "choices" or not event.on_mac or not isinstance(event.node, ast.Call):
            continue
        for _, atom in cases_of(event.value, event.worlds & MAC):
            if atom.kind != SEQUENCE:
                continue
            named = {
                item.v
                for value in atom.v
                for _, item in cases_of(value, MAC)
                if item.kind == DEVICE
            }
            if "cuda" in named and "mps" not in named:
                for keyword in event.node.keywords:
                    if keyword.arg == "choices":
                        yield keyword.value


def _place(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset
