"""A fix that was made in a text, and what it lets come to MPS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.model import Applicability, Severity
from mpslint.porting.bringing import brings
from mpslint.records import NamedTuple

if TYPE_CHECKING:
    from mpslint.settings.settings import Settings

COMPANIONS = ("MPS413",)
"""Rules of which findings that are only likely are fixed as well beside what brings tensors to MPS:
a checkpoint that may come from CUDA is next in its way."""
CHANGED_BY_PORT = ("MPS402", "MPS407")
"""Rules that tell of more beside such fixes, in whatever way they are asked for."""
Key = tuple[str, int]
"""A finding by its code and its offset in the text as it was."""


class Applied(NamedTuple):
    """One fix that landed; the row is that of the finding in the original file.

    What a later pass fixes inside code that a fix wrote has the row where that was written.
    """

    code: str
    name: str
    row: int
    message: str
    applicability: Applicability
    cell: int | None = None
    """In a notebook, the cell in which the row is counted."""
    at: int = 0
    """The offset of the finding in the text as it was."""
    spans: tuple[tuple[int, int], ...] = ()
    """What its edits replaced there."""
    severity: Severity = Severity.SLOW
    follows: bool = False
    """As in `Fix.follows`."""

    @property
    def key(self) -> Key:
        return self.code, self.at

    def wrote_any(self, offsets: frozenset[int]) -> bool:
        """Whether it wrote what stands, or stood, at one of these places."""
        return any(start <= at <= end for start, end in self.spans for at in offsets)


def with_companions(settings: Settings, path: str) -> Settings:
    """The settings of a file that will come to MPS: what is only likely to raise is in its way."""
    on = tuple(code for code in COMPANIONS if code in settings.enabled(path))
    return settings._replace(extend_select=(*settings.extend_select, *on), beside_port=True)


def is_opening(one: Applied, *, is_far: bool = False) -> bool:
    """Whether a fix lets tensors come to MPS. What raises on a Mac today is not made worse by what
    raises in another file later."""
    if one.follows:
        return False
    worst = Severity.IGNORES if is_far else Severity.BREAKS
    return brings(one.code) and Severity.IGNORES <= one.severity <= worst
