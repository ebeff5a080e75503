"""What was found in the texts of one file on its way to the fixed point: a file is brought there
again where some of its fixes are barred, from a text that was looked at before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.checking.linter import Linted, Screen, counts
from mpslint.porting.landed import CHANGED_BY_PORT, COMPANIONS
from mpslint.sources.opening import is_notebook

if TYPE_CHECKING:
    from collections.abc import Callable

    from mpslint.model import Finding
    from mpslint.semantics.elsewhere.elsewhere import Elsewhere
    from mpslint.settings.settings import Settings
    from mpslint.sources.source import SourceFile

_Found = dict[tuple[bytes, bool], Linted]
"""By the text, and whether it is looked at beside a port."""
_screens: dict[tuple[str, ...], Screen] = {}


class Looks:
    """Looks at the texts of one file. What they find holds among the same other files: it is kept
    of the project as it is, and of the one that was asked last."""

    def __init__(self, project: Elsewhere | None) -> None:
        self._project = project
        self._as_it_is: _Found = {}
        self._around = project
        self._found = self._as_it_is

    def found(
        self,
        source: SourceFile,
        around: Elsewhere | None,
        look: Callable[[bool], Linted],
        *,
        beside: bool,
    ) -> Linted:
        """What a look finds, or one at the same text has found before."""
        if is_notebook(source.path):  # The same text may be cells of another kind.
            return look(beside)
        if around is not self._around:
            self._around = around
            self._found = self._as_it_is if around is self._project else {}
        key = source.data, beside
        if key not in self._found:
            self._found[key] = look(beside)
        return _twin(self._found[key])

    def found_for_port(
        self,
        source: SourceFile,
        around: Elsewhere | None,
        look: Callable[[bool], Linted],
        settings: Settings,
    ) -> Linted:
        """The same of a text that will be looked at beside a port as well, and by one look where
        both find the same."""
        if not is_notebook(source.path) and not _may_differ(source, CHANGED_BY_PORT):
            ported = self.found(source, around, look, beside=True)
            told = (*ported.told, *ported.alike)
            if not _may_differ(source, COMPANIONS) or not any(
                _is_new(one, settings) for one in told
            ):
                self._found[source.data, False] = self._found[source.data, True]
        return self.found(source, around, look, beside=False)


def _may_differ(source: SourceFile, codes: tuple[str, ...]) -> bool:
    """Whether one of these rules has something to look at in a text."""
    if codes not in _screens:
        _screens[codes] = Screen(frozenset(codes))
    return bool(_screens[codes].select(source.data))


def _is_new(finding: Finding, settings: Settings) -> bool:
    return finding.code in COMPANIONS and not counts(finding, settings)


def _twin(found: Linted) -> Linted:
    """The same findings, for one who offers other fixes for them."""
    twins = {id(one): one.twin() for one in (*found.told, *found.untold, *found.alike)}
    told, untold, alike = (
        [twins[id(one)] for one in some] for some in (found.told, found.untold, found.alike)
    )
    return Linted(told, untold, found.is_whole, alike)
