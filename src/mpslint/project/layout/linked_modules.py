"""Modules of a project that other folders of it hold by symbolic links.

Who starts in such a folder (`notebooks/util -> ../util`) imports by the links, and finds what they
lead to. A new module beside the folder that is linked is not there.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST_FOLDERS = 5000


def linked_below(top: str) -> frozenset[str]:
    """The folders and modules below `top` that links below it lead to."""
    found: set[str] = set()
    left, folders = _MOST_FOLDERS, [top]
    while folders and left:
        left -= 1
        try:
            entries = list(os.scandir(folders.pop()))
        except OSError:
            continue
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_symlink():
                target = os.path.realpath(entry.path)
                if os.path.isdir(target) or target.endswith(".py"):
                    found.add(target)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
    inside = os.path.realpath(top)
    return frozenset(one for one in found if _holds(inside, one) and one != inside)


def is_cut_off(path: str, helper: str, linked: Iterable[str]) -> bool:
    """Whether the module at `path` is also imported by a link that does not bring `helper`."""
    path = os.path.realpath(path)
    helper = os.path.join(os.path.realpath(os.path.dirname(helper)), os.path.basename(helper))
    return any(_holds(one, path) and not _holds(one, helper) for one in linked)


def _holds(folder: str, path: str) -> bool:
    return path == folder or path.startswith(os.path.join(folder, ""))
