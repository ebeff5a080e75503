"""What is asked of a name that another file of the project defines."""

from __future__ import annotations

from mpslint.records import NamedTuple


class Sought(NamedTuple):
    """Which definitions are of interest, besides those that speak of machines or dtypes."""

    classes: bool = False
    """Those of classes are, too."""
    moving: bool = False
    """Those are, too, that move what they are given to wherever they are told."""
    empty: bool = False
    """Only those are of classes whose objects may hold nothing that could be moved."""


PLAIN = Sought()
CLASSES = Sought(classes=True)
MOVING = Sought(classes=True, moving=True)
EMPTY = Sought(classes=True, empty=True)
