"""Copies of the snapshot, put right after a run instead of made anew.

A run changes few files of a project, and in a large one the copying of all others for each run
takes longer than the run. What a run did to a file shows in the time of its last change, which no
program can set.
"""

from __future__ import annotations

import os
import shutil
import stat
import threading
import time
from collections.abc import Iterator

from mpslint.verify import temporary

_TICK = 0.002  # seconds

State = tuple[int, ...]
_States = dict[str, State]


class Copies:
    """Whole copies of `pristine` at places below the same folder, `spares` among them."""

    def __init__(self, pristine: str, spares: str) -> None:
        self._pristine, self._spares = pristine, spares
        self._known: dict[str, _States] = {}
        """Place -> the files of its copy, as they were before anything ran there."""
        self._idle: list[str] = []
        self._kept = 0
        self._source: _States = {}
        self._lock = threading.Lock()

    def fresh(self, place: str) -> bool:
        """Lay a whole copy at a place; False where what is there cannot be removed."""
        source = dict(_states(self._pristine))
        with self._lock:
            if source != self._source:  # the set-up command made another one: no copy is of use
                self._source = source
                self._known.clear()
                self._idle.clear()
            if place not in self._known and self._idle and not os.path.lexists(place):
                spare = self._idle.pop()
                os.rename(spare, place)
                self._known[place] = self._known.pop(spare)
            known = self._known.pop(place, None)
        if known is None or not self._put_right(place, known):
            if not temporary.remove(place):
                return False
            shutil.copytree(self._pristine, place, symlinks=True)
        states = dict(_states(place))
        _wait_for_a_later_time(states)
        with self._lock:
            self._known[place] = states
        return True

    def spare(self, place: str) -> None:
        """What ran at a place is over: its copy may be laid at another one."""
        with self._lock:
            if place not in self._known or not os.path.lexists(place):
                return
            self._kept += 1
            spare = os.path.join(self._spares, str(self._kept))
            os.makedirs(self._spares, exist_ok=True)
            os.rename(place, spare)
            self._known[spare] = self._known.pop(place)
            self._idle.append(spare)

    def _put_right(self, place: str, known: _States) -> bool:
        """Whether the copy is again what it was; not where folders are no longer the same."""
        try:
            now = dict(_states(place))
            if any(_is_folder(state) and now.get(path) != state for path, state in known.items()):
                return False
            changed = [path for path, state in now.items() if known.get(path) != state]
            for path in changed:
                if not temporary.remove(os.path.join(place, path)):
                    return False
            for path in known:
                if path in changed or path not in now:
                    one, other = os.path.join(self._pristine, path), os.path.join(place, path)
                    shutil.copy2(one, other, follow_symlinks=False)
        except OSError:
            return False
        return True


def _states(place: str) -> Iterator[tuple[str, State]]:
    """Relative path -> what changes when it is written to, of all that is at a place; no link is
    followed. Raises OSError where a folder cannot be listed.
    """
    yield "", _folder(os.lstat(place))
    pending = [place]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                info = entry.stat(follow_symlinks=False)
                path = os.path.relpath(entry.path, place)
                if stat.S_ISDIR(info.st_mode):
                    pending.append(entry.path)
                    yield path, _folder(info)
                else:
                    times = (info.st_mtime_ns, info.st_ctime_ns)
                    yield path, (info.st_mode, info.st_ino, info.st_size, *times)


def _folder(info: os.stat_result) -> State:
    """A folder's times tell what was put into it, which its list tells as well."""
    return (info.st_mode, info.st_ino)


def _is_folder(state: State) -> bool:
    return stat.S_ISDIR(state[0])


def _wait_for_a_later_time(states: _States) -> None:
    """A file that is written to in the tick of the clock in which it was made has the same time."""
    clock = getattr(time, "CLOCK_REALTIME_COARSE", None)
    if clock is None:
        return
    last = max((state[-1] for state in states.values() if not _is_folder(state)), default=0)
    for _ in range(20):
        if time.clock_gettime_ns(clock) > last:
            return
        time.sleep(_TICK)
