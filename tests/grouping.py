"""Which tests have to run in one process, and which of them first, for pytest-xdist.

A file marked with `xdist_group` has something dear that all its tests share: a program that runs
for ten seconds. `--dist loadgroup` is meant for that, but xdist 3.8 writes a group into
`item._nodeid`, which pytest reads no more since 9.2: its tests were spread, and each worker made
all of it once more. It also looks through all tests whenever one of them has ended, and for the
place of each that it hands out: of twenty thousand that costs more than many a folder of them.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from pathlib import Path
from typing import Any

from xdist.scheduler import LoadScopeScheduling

_GROUP = re.compile(r"\bxdist_group\(\"(\w+)\"\)")
_MOST = 200
"""So many tests of a file are handed out together."""
_DEAR = (
    "tests/server/test_diagnostics.py",
    "tests/flake8",
    "tests/verify",
    "tests/harness",
    "tests/docs",
    "tests/bad_input",
)
"""Single tests of these take long: at the end one worker would wait for the other."""


class ByGroup(LoadScopeScheduling):
    """Hands out the tests of a group together, and those of a file, but for very large ones."""

    def __init__(self, config: Any, log: Any) -> None:
        config.option.loadscopereorder = False  # They come in the order of `dear_first`.
        super().__init__(config, log)
        self._root = Path(config.rootpath)
        self._units: dict[str, str] = {}
        self._places: dict[Any, dict[str, int]] = {}

    def schedule(self) -> None:
        if self.collection is None:
            self._units = units(next(iter(self.registered_collections.values())), self._root)
        super().schedule()

    def _split_scope(self, nodeid: str) -> str:
        return self._units[nodeid]

    def _assign_work_unit(self, node: Any) -> None:
        unit, tests = self.workqueue.popitem(last=False)
        self.assigned_work[node][unit] = tests
        places = self._places.setdefault(node, {})
        if not places:
            tests_of_node = self.registered_collections[node]
            places.update((nodeid, place) for place, nodeid in enumerate(tests_of_node))
        node.send_runtest_some([places[nodeid] for nodeid, done in tests.items() if not done])

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        nodeid = self.registered_collections[node][item_index]
        unit = self._split_scope(nodeid)
        tests = self.assigned_work[node][unit]
        tests[nodeid] = True
        if all(tests.values()):
            del self.assigned_work[node][unit]
        self._reschedule(node)


def units(collected: list[str], root: Path) -> dict[str, str]:
    """By test: the name of the group or of the part of a file that it is handed out with."""
    seen: Counter[str] = Counter()
    found = {}
    for nodeid in collected:
        file = nodeid.partition("::")[0]
        group = group_of(root / file)
        found[nodeid] = f"@{group}" if group else f"{file} {seen[file] // _MOST}"
        seen[file] += 1
    return found


def dear_first(items: list[Any]) -> None:
    """Puts what takes long in front; otherwise the order is kept."""
    items.sort(key=lambda item: not (_is_dear(item.nodeid) or group_of(Path(item.path))))


def _is_dear(nodeid: str) -> bool:
    return nodeid.startswith(_DEAR)


@functools.cache
def group_of(file: Path) -> str | None:
    """The group that a file of tests is marked with."""
    marked = _GROUP.search(file.read_text(encoding="utf-8"))
    return marked[1] if marked else None
