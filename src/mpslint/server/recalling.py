"""The last few texts of a file with what was found in them: who takes back a change, or a letter,
has been told already."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.server.analysis import Analysis
    from mpslint.server.documents import Snapshot
    from mpslint.settings.settings import Settings

_KEPT = 12
"""So many texts are kept, of all files together."""


class Recalled:
    """Analyses by path and text, the last ones. Whether one still holds, its reader asks."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str], Analysis] = OrderedDict()

    def of(self, snapshot: Snapshot, settings: Settings | None) -> Analysis | None:
        """What was found in this text with these settings, said of the snapshot as it is now."""
        now = snapshot.parts.get(None)
        if now is None:
            return None  # A notebook: what it holds is no one text.
        known = self._known.get((snapshot.path, now.text.content))
        if known is None or known.settings != settings:
            return None
        if known.snapshot.parts[None].language != now.language:
            return None
        return known._replace(snapshot=snapshot)

    def keep(self, analysis: Analysis) -> None:
        """Note an analysis, but for one that a fault of ours ended: nothing was found out."""
        plain = analysis.snapshot.parts.get(None)
        if plain is None or any(problem.is_internal for problem in analysis.problems):
            return
        key = analysis.snapshot.path, plain.text.content
        self._known[key] = analysis
        self._known.move_to_end(key)
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)

    def forget(self) -> None:
        self._known.clear()
