"""The projects of files that are fixed together, with the texts that these have come to so far.

What is known of a file that stays as it is, and asks nothing of those that change, is the same from
one text to the next: it is handed on, and only the rest is found out anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from mpslint.project.project import Project
    from mpslint.settings.settings import Settings

    ProjectOf = Callable[[Settings, dict[str, bytes]], Project]


class Becoming:
    def __init__(self, project_of: ProjectOf) -> None:
        """`project_of` gives the project of settings with these texts in place of files."""
        self._project_of = project_of
        self._projects: dict[Settings, Project] = {}
        self._texts: dict[str, bytes] = {}

    def around(
        self, texts: dict[str, bytes], used: Iterable[Settings], lasting: Iterable[object]
    ) -> Mapping[Settings, Project]:
        """The projects of the settings that are `used`, with these texts. Those of other texts that
        were given before are taken apart, but for those that are `lasting`."""
        before, known = self._texts, self._projects
        if texts != before:
            self._texts, self._projects = texts, {}
        for settings in used:
            if settings not in self._projects:
                self._projects[settings] = self._made(settings, texts, before, known.get(settings))
        if texts != before:
            self._let_go_of(known, lasting)
        return dict(self._projects)

    def _made(
        self,
        settings: Settings,
        texts: dict[str, bytes],
        before: dict[str, bytes],
        known: Project | None,
    ) -> Project:
        project = self._project_of(settings, texts)
        if known is None:
            known, before = self._project_of(settings, {}), {}
        if known is not project:
            both = {*before, *texts}
            changed = frozenset(path for path in both if before.get(path) != texts.get(path))
            project.take_over(known, changed)
        return project

    def _let_go_of(self, projects: Mapping[Settings, Project], lasting: Iterable[object]) -> None:
        asked = [*lasting, *(self._project_of(settings, {}) for settings in projects)]
        for project in projects.values():
            if not any(project is one for one in asked):
                project.release()
