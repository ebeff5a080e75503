"""Numbers that a script left in files, read without torch: enough to say whether two runs saved
the same.

The files are those of a program that may mean harm: only regular ones are opened, no link is
followed, and what they grow to when they are unpacked is counted.
"""

from __future__ import annotations

import itertools
import math
import os
import stat
from collections.abc import Collection, Mapping

from mpslint.sources.files import files_below, read_regular
from mpslint.verify import contents, numbers, pictures
from mpslint.verify.contents import (
    Part,
    Saved,
    Shown,
    Unknown,
    Unread,
    lines_of,
    parts_of,
    paths_of,
)
from mpslint.verify.numbers import Spot

_MOST_FILES = 500
_MOST_LISTED = 100_000
_MOST_BYTES = contents.MOST_BYTES
_MOST_ALL = 256 << 20  # of all files of a run, unpacked
_CLOSE = 1e-4


def read(path: str) -> Saved:
    """What one file holds."""
    try:
        data = read_regular(path, _MOST_BYTES, follow=False)
    except OSError as error:
        return Unread(error.strerror or "unreadable")
    return contents.read(data)


def collect(folder: str, before: Mapping[str, tuple[int, int]]) -> dict[str, Saved]:
    """Relative path -> what it holds, of the files that are new or changed since `before`."""
    found: dict[str, Saved] = {}
    read_so_far = 0
    for path, state in sorted(states(folder).items()):
        if before.get(path) == state or not state[0]:
            continue
        if len(found) >= _MOST_FILES:
            found[path] = Unread(f"and all after it: more than {_MOST_FILES} files")
            break
        if read_so_far > _MOST_ALL:
            found[path] = Unread(f"all together larger than {_MOST_ALL:,} bytes")
            continue
        saved = found[path] = read(os.path.join(folder, path))
        read_so_far += state[0] + sum(part.size for part in parts_of(saved).values())
    return found


def unread(files: Mapping[str, Saved]) -> list[str]:
    """The files that were not looked into, each with the reason."""
    return [f"{path} ({file.reason})" for path, file in files.items() if isinstance(file, Unread)]


def states(folder: str) -> dict[str, tuple[int, int]]:
    """Relative path -> (size, modification time in ns) of the regular files below a folder."""
    found = {}
    for path in itertools.islice(files_below(folder), _MOST_LISTED):
        try:
            info = os.lstat(path)
        except OSError:
            continue
        if stat.S_ISREG(info.st_mode):
            found[os.path.relpath(path, folder)] = (info.st_size, info.st_mtime_ns)
    return found


Unstable = Mapping[str, Collection[Spot] | None]
"""The files that a program writes anew each time: which of their numbers, or None for all."""


def difference(
    original: Mapping[str, Saved],
    patched: Mapping[str, Saved],
    tolerance: float,
    unstable: Unstable | None = None,
) -> str | None:
    """What differs first between the files of two runs, in words; what is `unstable` is left out.

    A tolerance of 0 asks for the same bytes of tensors and the same numbers in texts.
    """
    left_out = unstable or {}
    for path, one in original.items():
        spots = left_out.get(path, ())
        if spots is None:
            continue
        if path not in patched:
            return f"the original saves {path}, the patched script does not"
        if found := _differs(path, one, patched[path], tolerance, spots):
            return found
    return None


def unstable_files(one: Mapping[str, Saved], two: Mapping[str, Saved]) -> Unstable:
    """What two runs of one program on one device write differently."""
    found: dict[str, Collection[Spot] | None] = {}
    for path, first in one.items():
        if difference({path: first}, two, 0.0) is None:
            continue
        spots = numbers.unstable(lines_of(first), lines_of(two[path])) if path in two else None
        same = spots and difference({path: first}, two, 0.0, {path: spots}) is None
        found[path] = spots if same else None
    return found


def either(one: Unstable, two: Unstable) -> dict[str, Collection[Spot] | None]:
    """What is unstable by the one or by the other."""
    found = dict(one)
    for path, spots in two.items():
        before = found.get(path, ())
        found[path] = None if spots is None or before is None else {*before, *spots}
    return found


def uncomparable(one: Mapping[str, Saved], two: Mapping[str, Saved]) -> list[str]:
    """The files of a kind that is not known and that are not the same in both, with the reason."""
    found = []
    for path, first in one.items():
        second = two.get(path)
        if isinstance(first, Unknown) and isinstance(second, Unknown) and first != second:
            found.append(f"{path} (an unknown kind of file)")
    return found


def has_numbers(files: Mapping[str, Saved], unstable: Unstable | None = None) -> bool:
    """Whether there is a number in any of the files, but for the unstable ones."""
    left_out = unstable or {}
    for path, file in files.items():
        spots = left_out.get(path, ())
        if spots is not None and _has_numbers(file, spots):
            return True
    return False


def _has_numbers(file: Saved, spots: Collection[Spot]) -> bool:
    if isinstance(file, Shown) or numbers.spared(lines_of(file), spots):
        return True
    return any(part.values.is_known for part in parts_of(file).values())


def _differs(
    path: str, one: Saved, two: Saved, tolerance: float, spots: Collection[Spot]
) -> str | None:
    if isinstance(one, Unread | Unknown):
        return None
    if isinstance(two, Unread | Unknown):
        reason = two.reason if isinstance(two, Unread) else "another kind of file"
        return f"{path} cannot be compared with the original's: {reason}"
    if isinstance(one, Shown) or isinstance(two, Shown):
        same = one == two
        if not same and tolerance and isinstance(one, Shown) and isinstance(two, Shown):
            same = pictures.close(one.picture, two.picture)
        return None if same else f"{path} is another picture than the original's"
    if numbers.different_line(lines_of(one), lines_of(two), tolerance, spots) is not None:
        return f"{path} holds other numbers than the original's"
    if found := called_otherwise(one, two, tolerance):
        return f"{path} {found}"
    return _other_tensors(path, parts_of(one), parts_of(two), tolerance)


_WRAPPED = ("module.", "_orig_mod.")  # by DataParallel and its like, and by torch.compile


def called_otherwise(one: Saved, two: Saved, tolerance: float) -> str | None:
    """Whoever loads a checkpoint asks for its tensors by name. On another device, by the tolerance,
    a model need not be wrapped.
    """
    before, after = set(paths_of(one)), set(paths_of(two))
    if tolerance > numbers.SAME_DEVICE:
        before, after = _unwrapped(before), _unwrapped(after)
    if lost := sorted(before - after):
        return f"holds no {lost[0]}, as the original's does"
    if new := sorted(after - before):
        return f"holds {new[0]}, which the original's does not"
    return None


def _unwrapped(paths: Collection[str]) -> set[str]:
    bare = set()
    for path in paths:
        while path.startswith(_WRAPPED):
            path = path.partition(".")[2]
        bare.add(path)
    return {path for path in bare if "." in path}


def _other_tensors(
    path: str, one: Mapping[str, Part], two: Mapping[str, Part], tolerance: float
) -> str | None:
    sizes = {name: (two[name].size if name in two else 0, part.size) for name, part in one.items()}
    if other := next((name for name, (here, there) in sizes.items() if here != there), None):
        here, there = sizes[other]
        which = f" ({other}: {here} bytes for {there})" if here else ""
        return f"{path} holds tensors of other sizes than the original's{which}"
    if len(two) > len(one):
        return f"{path} holds tensors of other sizes than the original's"
    for name, part in one.items():
        same = part.digest == two[name].digest
        if not same and (tolerance == 0 or not _close(part, two[name])):
            return f"{path} holds other tensors than the original's"
    return None


def _close(one: Part, two: Part) -> bool:
    first, second = one.values, two.values
    if not (first.is_known and second.is_known):
        return True
    if first.not_finite != second.not_finite:
        return False
    # Terms of both signs cancel in a sum: it is held against the norm.
    near = abs(first.total - second.total) <= 10 * _CLOSE * max(first.norm, second.norm)
    near = near or first.total == second.total
    return near and math.isclose(first.norm, second.norm, rel_tol=_CLOSE)
