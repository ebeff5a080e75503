"""Files that cast before they move, as long as others bring tensors to MPS: the cast that comes too
late there (`x.to(device).float()`) stands in another file than the choice of the device.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.porting.landed import is_opening
from mpslint.semantics.wide.late_casts import late_casts, may_cast_late

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from mpslint.fixing.fixer import Made
    from mpslint.project.project import Project


def casts_late(path: str, text: bytes, project: Project) -> bool:
    """Whether a file holds such a cast."""
    tree = project.modules.tree(os.path.abspath(path)) if may_cast_late(text) else None
    return tree is not None and bool(late_casts(tree))


def along(
    late: Iterable[str],
    made: Mapping[str, Made],
    programs: Callable[[], Iterable[frozenset[str]]],
) -> dict[str, bool]:
    """Whether each file with a `late` cast goes along with one that is `made` to bring tensors to
    MPS; `programs` gives the absolute paths of the files of each."""
    late = list(late)
    opening = {
        os.path.abspath(path) for path, one in made.items() if any(map(is_opening, one.applied))
    }
    beside: set[str] = set()
    for files in programs() if late and opening else ():
        if not opening.isdisjoint(files):
            beside |= files
    return {path: os.path.abspath(path) in beside - opening for path in late}


def led_by(paths: Iterable[str], project: Project) -> Iterator[frozenset[str]]:
    """The files of the programs that start with these."""
    for path in map(os.path.abspath, paths):
        text = project.modules.text(path) or b""
        yield frozenset((*project.led_to(path, text.decode("utf-8", "replace")), path))
