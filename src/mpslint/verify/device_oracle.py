"""What two programs ask of a device, call by call: the original and the patched script on the same
simulated CUDA machine.

Where tensors are moved to and how often is a matter of style, as long as the same devices are used:
what is then computed elsewhere shows in the numbers and in the work that is left for the device.
What acts on the device is held against the original, in its order.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from mpslint.verify.launch import Launch

_MOST_RECORDED = 4000  # calls of a run, as the harness keeps them
_MOVE = "move"
_HOST = "cpu"
_CHOICE = "torch.cuda.set_device"
# One device has two names for it; torch's own calls of the accelerator are those of CUDA there.
_SAME = {"torch.accelerator.set_device_index": _CHOICE}
_WAIT = "torch.cuda.synchronize"
_HINT = "torch.cuda.empty_cache"  # changes nothing but how much memory others have
# Draws are the same or they are not: the numbers tell.
_SEEDS = ("torch.cuda.manual_seed", "torch.cuda.manual_seed_all")
# What a machine is called chooses nothing.
_NAMES = (
    "torch.cuda.get_device_name", "torch.cuda.get_device_properties",
    "torch.cuda.get_device_capability", "torch.cuda.current_device", "torch.cuda.current_stream",
    "torch.cuda.default_stream", "torch.cuda.get_rng_state", "torch.cuda.get_rng_state_all",
)  # fmt: skip
# Nor does what is told of its memory, and from when on its peak is told.
_REPORTS = (
    "torch.cuda.memory_allocated", "torch.cuda.max_memory_allocated", "torch.cuda.memory_reserved",
    "torch.cuda.max_memory_reserved", "torch.cuda.memory_stats", "torch.cuda.mem_get_info",
    "torch.cuda.memory_summary", "torch.cuda.reset_peak_memory_stats",
    "torch.cuda.reset_max_memory_allocated", "torch.cuda.reset_accumulated_memory_stats",
)  # fmt: skip
_LEFT_OUT = {_MOVE, *_SEEDS, *_NAMES, *_REPORTS}


class Call(NamedTuple):
    """One call of a device function, by the name that CUDA has for it."""

    name: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        text = ", ".join(self.arguments)
        return f"{self.name}({text})" if text else self.name


def unlike(reference: Launch, patched: Launch) -> tuple[str | None, str | None]:
    """What the one does to the device and the other does not, in words; and what is only told."""
    one, two = _recorded(reference), _recorded(patched)
    if moved := _moved_elsewhere(one, two):
        return moved, None
    first_only = _chooses_first_only([*one, *two])
    before, after = (_actions(calls, first_only) for calls in (one, two))
    if max(len(one), len(two)) >= _MOST_RECORDED:  # not all were kept, of the one or the other
        length = min(len(before), len(after))
        before, after = before[:length], after[:length]
    if before == after:
        return None, _copied_more(one, two)
    if is_part(before, after):
        return _added(before, after)
    calls = _but(_WAIT, before), _but(_WAIT, after)
    if _waits_all_the_same(reference, patched) and is_part(*calls):
        held, _ = _added(*calls)
        return held, None if held else "the patched script waits for the device in other ways"
    calls = _but(_HINT, before), _but(_HINT, after)
    if len(calls[0]) < len(before) and is_part(*calls):
        held, _ = _added(*calls)
        return held, None if held else "the patched script frees cached memory less often"
    pairs = itertools.zip_longest(before, after, fillvalue="nothing")
    number, (left, right) = next((i, p) for i, p in enumerate(pairs, 1) if p[0] != p[1])
    return f"device call {number} is {right}, the original's {left}", None


def _recorded(launch: Launch) -> list[Call]:
    return [_call(row) for row in launch.value("device_calls", [])]


def _call(row: Sequence[str]) -> Call:
    name, *arguments = row
    name = _SAME.get(name, name).replace("torch.accelerator.", "torch.cuda.")
    if name != _MOVE:
        arguments = [_as_index(text) for text in arguments]
    return Call(name, tuple(text for text in arguments if text))


def _as_index(argument: str) -> str:
    """`device=cuda:1` and `1` are one GPU, and no argument at all means the first."""
    index = argument.removeprefix("device=").removeprefix("cuda").removeprefix(":")
    return "" if index == "0" else index


def _actions(calls: list[Call], first_only: bool) -> list[Call]:
    """What acts on the device; first_only: choosing the first GPU, which is chosen anyway, does
    nothing.
    """
    left_out = {*_LEFT_OUT, _CHOICE} if first_only else _LEFT_OUT
    return [call for call in calls if call.name not in left_out]


def _chooses_first_only(calls: list[Call]) -> bool:
    return not any(call.name == _CHOICE and call.arguments for call in calls)


def _but(name: str, calls: list[Call]) -> list[Call]:
    return [call for call in calls if call.name != name]


def _moved_elsewhere(one: list[Call], two: list[Call]) -> str | None:
    """A device that only one of them uses."""
    before, after = _targets(one), _targets(two)
    if new := sorted(after - before - {_HOST}):
        return f"it makes a device call that the original does not: {_MOVE}({new[0]})"
    if lost := sorted(before - after - {_HOST}):
        return f"it never makes a device call of the original's: {_MOVE}({lost[0]})"
    return None


def _targets(calls: list[Call]) -> set[str]:
    return {target for call in calls if call.name == _MOVE for target in call.arguments}


def _copied_more(one: list[Call], two: list[Call]) -> str | None:
    back = Call(_MOVE, (_HOST,))
    more = two.count(back) - one.count(back)
    return f"the patched script copies {more} more tensors to the host" if more > 0 else None


def is_part(one: list[Call], two: list[Call]) -> bool:
    """Whether all calls of the one are made by the other, in their order."""
    rest = iter(two)
    return all(call in rest for call in one)


def _added(one: list[Call], two: list[Call]) -> tuple[str | None, str | None]:
    """Additional waits are told: a clock that now reads after the device is done."""
    added, position = [], 0
    for call in two:
        if position < len(one) and one[position] == call:
            position += 1
        else:
            added.append(call)
    held = [call for call in added if not call.name.endswith("synchronize")]
    if held:
        return f"it makes a device call that the original does not: {held[0]}", None
    waits = sum(call.name.endswith("synchronize") for call in added)
    return None, f"the patched script waits for the device {waits} more times" if waits else None


def draws_elsewhere(reference: Launch, patched: Launch) -> str | None:
    """Random numbers that the one draws on the device and the other on the host. On the simulated
    device both come from one generator, so that devices can be compared; a CUDA machine has two.
    """
    one, two = (int(run.value("drawn", 0)) for run in (reference, patched))
    if one == two:
        return None
    places = ("host", "device") if two < one else ("device", "host")
    said = f"draws {abs(one - two)} random numbers on the {places[0]}"
    return f"{said}, which the original draws on the {places[1]}: they are others there"


class Reading(NamedTuple):
    """A clock that the script read: operations so far, how many of them the device had yet to do,
    and whether the script itself waited for it before.
    """

    operations: int
    pending: int
    on_purpose: bool


def _readings(launch: Launch) -> list[Reading]:
    rows = launch.value("clocks", [])
    return [
        Reading(int(done), int(done) - int(waited), bool(asked) and done == waited)
        for done, waited, asked in rows
    ]


_TENTH = 0.1


def _early(readings: list[Reading]) -> list[bool]:
    """Which of them measure something else: a good part of the work between this reading and the
    one before it, or after it, was still to be done.
    """
    found = []
    for at, reading in enumerate(readings):
        around = readings[max(at - 1, 0) : at + 2]
        work = max(abs(other.operations - reading.operations) for other in around)
        found.append(reading.pending > _TENTH * work)
    return found


def _waits_all_the_same(reference: Launch, patched: Launch) -> bool:
    """The original waits for its clocks, and these read no earlier now; or it has the device take
    the time, and clocks that take its place read none too early.
    """
    before, after = _readings(reference), _readings(patched)
    if not before:
        return bool(after) and not any(_early(after))
    on_purpose = any(reading.on_purpose for reading in before)
    return on_purpose and reads_early(reference, patched) is None


def reads_early(reference: Launch, patched: Launch) -> str | None:
    """Clocks that are read while the device still works, though the original waits for it."""
    before, after = _readings(reference), _readings(patched)
    if not any(reading.on_purpose for reading in before):
        return None
    one, two = _early(before), _early(after)
    if len(one) == len(two):
        early = sum(b and not a for a, b in zip(one, two, strict=True))
    else:
        early = 0 if any(one) else sum(two)
    if not early:
        return None
    times = f"{early} of {len(two)} times"
    return f"it reads the clock while the device still works ({times}), where the original waits"


def early_on(launches: Mapping[str, Launch], launch: Launch) -> str | None:
    """The same for a script that waits for its clocks on a CUDA machine alone."""
    known = launches.get("cuda")
    early = reads_early(known, launch) if known is not None else None
    return early.replace("the original waits", "on a CUDA machine it waits") if early else None
