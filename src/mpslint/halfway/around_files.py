"""What is asked of the other files of a project about one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple

if TYPE_CHECKING:
    from mpslint.halfway.foreign_flow import Flow


class Around(NamedTuple):
    """What the other files of a project say."""

    is_taken: Callable[[str], bool]
    """Whether another file may use a name of the module."""
    is_read: Callable[[str], bool]
    """Whether another file holds a name at all."""
    is_given: Callable[[str], bool]
    """Whether another file may give an object a member of this name, or put something into it."""
    own: Callable[[str], Flow | None]
    """What a module of the project does, by the name that the file has for it."""
