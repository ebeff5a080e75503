"""Which tests have to run in one process, for pytest-xdist.

A file marked with `xdist_group` has something dear that all its tests share: a program that runs
for ten seconds. `--dist loadgroup` is meant for that, but xdist 3.8 writes a group into
`item._nodeid`, which pytest reads no more since 9.2: its tests were spread, and each worker made
all of it once more.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path
from typing import Any

from xdist.scheduler import LoadScopeScheduling

_GROUP = re.compile(r"\bxdist_group\(\"(\w+)\"\)")


class ByGroup(LoadScopeScheduling):
    """Hands out the tests of a group together, all others one by one."""

    def __init__(self, config: Any, log: Any) -> None:
        super().__init__(config, log)
        self._root = Path(config.rootpath)

    def _split_scope(self, nodeid: str) -> str:
        return group_of(self._root / nodeid.partition("::")[0]) or nodeid


@functools.cache
def group_of(file: Path) -> str | None:
    """The group that a file of tests is marked with."""
    marked = _GROUP.search(file.read_text(encoding="utf-8"))
    return marked[1] if marked else None
