"""The findings of what is open in the editor: those of `check`, from an analysis that stays warm.

What is known of the project's other files is kept from one keystroke to the next. What it rests on
is looked at again each time (not read), so that it never outlives a change on disk. Everything
here runs in one thread, which is not that of the protocol.
"""

from __future__ import annotations

import itertools
import os
import time
from contextlib import contextmanager
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from mpslint.basics import collector
from mpslint.checking.checking import internal_error
from mpslint.checking.linter import lint
from mpslint.errors import BadSettings, BadSource
from mpslint.fixing.fixer import fix_source
from mpslint.project.neighbours import Neighbours
from mpslint.project.project import Project
from mpslint.records import NamedTuple
from mpslint.rules.registry import all_rules
from mpslint.running.reported import place_of
from mpslint.server.baselines import Baselines
from mpslint.server.fixes import fixes_of
from mpslint.server.recalling import Recalled
from mpslint.server.reparsing import Tree
from mpslint.sources.notebook.source import NotebookSource
from mpslint.sources.opening import is_notebook, located, texts_by_cell
from mpslint.sources.reading import UNSURE, sign_of
from mpslint.sources.screening import speaks_of_torch
from mpslint.sources.source import SourceFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from mpslint.fixing.fixer import Hidden
    from mpslint.model import Finding
    from mpslint.server.documents import Snapshot
    from mpslint.server.fixes import Doubts, Fixes
    from mpslint.server.workspace import Signs, Workspace
    from mpslint.settings.settings import Settings

    Pause = Callable[[], None]
    """Raises to end an analysis that nobody waits for."""


_TREES = 8
"""Of so many texts the tree is kept from one keystroke to the next."""
_KEPT = 16
"""Of so many settings at a time the project's other files are remembered."""


class Problem(NamedTuple):
    """Why a file, or a cell of a notebook, could not be checked."""

    cell: int | None
    row: int
    column: int
    reason: str
    is_internal: bool = False
    """It is a fault of ours: the same text may be checked without it later."""


class Analysis(NamedTuple):
    """What is known of one snapshot."""

    snapshot: Snapshot
    settings: Settings | None = None
    """None: it is not to be checked, or its settings are not understood."""
    findings: tuple[Finding, ...] = ()
    problems: tuple[Problem, ...] = ()
    refused: str | None = None
    """Why the settings are not understood."""
    rests_on: Mapping[str, tuple[int, int]] = MappingProxyType({})
    """Other files of the project, absent ones as well, as they were."""
    configured: Signs = ()
    seconds: float = 0.0
    number: int = 0
    """Tells one analysis from every other one."""


class _Warm:
    """What is known of a project's other files, and what that rests on."""

    def __init__(self, neighbours: Neighbours) -> None:
        self.neighbours = neighbours
        self.rests_on: dict[str, tuple[int, int]] = {}

        self.heard: dict[str, tuple[int, int]] = {}
        """What the answers rest on that were given within the last `asking`."""

    def holds(self) -> bool:
        return _unchanged(self.rests_on)

    @contextmanager
    def asking(self, path: str) -> Iterator[Neighbours]:
        """Ask on behalf of a file; what was heard is noted even if the asking is broken off."""
        try:
            with collector.off():
                yield self.neighbours
        finally:
            asked = self.neighbours.consulted()
            self.heard = {one.path: (one.mtime_ns, one.size) for one in asked} | _packages(path)
            self.rests_on |= self.heard


class _Made(NamedTuple):
    """The fixes that were asked for last, and of what."""

    number: int
    warm: _Warm
    fixes: Fixes

    def is_for(self, analysis: Analysis, warm: _Warm) -> bool:
        return self.number == analysis.number and self.warm is warm


class Analyst:
    """Checks snapshots, and makes the fixes of their findings."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._around: dict[Settings, _Warm] = {}
        self._projects: dict[Settings, _Warm] = {}
        self._baselines = Baselines()
        self._trees: dict[str, Tree] = {}
        self._recalled = Recalled()
        self._made: _Made | None = None
        self._numbers = itertools.count(1)

    @staticmethod
    def warm_up() -> Iterator[Callable[[], object]]:
        """Steps that import the rules before a file asks for them."""
        from importlib import import_module

        return (partial(import_module, rule.module) for rule in all_rules())

    def forget(self) -> None:
        """Something was saved: what fixes take from the project as a whole is read anew."""
        self._projects = {}
        self._baselines.forget()
        self._recalled.forget()

    def holds(self, analysis: Analysis) -> bool:
        """Whether nothing on disk that an analysis rests on has changed."""
        configured = self._workspace.sources(analysis.snapshot.path)
        same = configured == analysis.configured and UNSURE not in configured
        return same and _unchanged(analysis.rests_on)

    def check(self, snapshot: Snapshot, pause: Pause) -> Analysis:
        """The findings of a snapshot; what goes wrong with it is part of the answer."""
        began, path = time.perf_counter(), snapshot.path
        try:
            settings = self._workspace.settings(path)
            recalled = self._recalled.of(snapshot, settings)
            if recalled is not None and self.holds(recalled):
                return recalled._replace(number=next(self._numbers))
            result = Analysis(snapshot, settings, configured=self._workspace.sources(path))
            if settings is not None and _ours(snapshot):
                result = self._checked(result, settings, pause)
        except BadSettings as error:
            configured = self._workspace.sources(path)
            return Analysis(snapshot, refused=str(error), configured=configured)
        seconds = time.perf_counter() - began
        result = result._replace(seconds=seconds, number=next(self._numbers))
        self._recalled.keep(result)
        return result

    def _checked(self, blank: Analysis, settings: Settings, pause: Pause) -> Analysis:
        path = blank.snapshot.path
        try:
            source = blank.snapshot.source()
            collector.checked(len(source.data))
            if 0 < settings.max_file_size < len(source.data) or not _about_torch(blank.snapshot):
                return blank
            warm = _warm(self._around, settings, Neighbours)
            try:
                with warm.asking(path) as neighbours:
                    tree = self._tree(path).index if type(source) is SourceFile else None
                    findings = lint(
                        source, settings, tree, elsewhere=neighbours, levels=False, pause=pause
                    )
                for finding in findings:
                    finding.drop_fix()  # It would be made from a tree that the next edit changes.
            finally:
                rests_on = warm.heard | self._baselines.rests_on(settings)
                blank = blank._replace(rests_on=rests_on)
            left_out = _left_out(source)
            found = self._baselines.unknown(settings, path, located(source, findings), source)
            return blank._replace(findings=tuple(found), problems=left_out)
        except BadSource as error:
            problem = Problem(None, error.row or 1, error.column or 1, error.reason)
        except RecursionError:
            problem = Problem(None, 1, 1, "nested too deeply to check; exclude this file")
        except (BadSettings, ImportError):
            raise
        except Exception as error:
            self._trees.pop(path, None)  # It may be half brought up to date.
            problem = Problem(None, 1, 1, internal_error(path, error), is_internal=True)
        return blank._replace(problems=(problem,))

    def _tree(self, path: str) -> Tree:
        """The tree of a text that is being typed; those of the last few texts are kept."""
        tree = self._trees.pop(path, None) or Tree()
        if len(self._trees) >= _TREES:
            del self._trees[next(iter(self._trees))]
        self._trees[path] = tree
        return tree

    def fixes(self, analysis: Analysis, pause: Pause) -> Fixes | None:
        """The findings of an analysis with their fixes, as `mpslint fix` would make them; None
        where there is nothing to do. Raises `BadSettings` for a helper module that cannot serve."""
        settings, snapshot = analysis.settings, analysis.snapshot
        if settings is None or not analysis.findings:
            return None
        warm = self._project(settings)
        # An editor asks with each step of the cursor.
        if self._made is not None and self._made.is_for(analysis, warm):
            return self._made.fixes
        with warm.asking(snapshot.path) as project:
            assert isinstance(project, Project)
            source = snapshot.source()
            hidden = self._hidden(snapshot.path, settings, source, project, pause)
            fixes = fixes_of(snapshot, settings, hidden, project, pause)
        self._made = _Made(analysis.number, warm, fixes)
        return fixes

    def fix_all(
        self,
        snapshot: Snapshot,
        settings: Settings,
        code: str | None,
        pause: Pause,
        *,
        unsafe: bool,
        doubts: Doubts | None = None,
    ) -> tuple[SourceFile, SourceFile] | None:
        """A text before and after all fixes, or those of one rule; None where nothing changes.
        What there are `doubts` of is unsafe."""
        if code is not None:
            # Whether a comment is of use, the other rules tell: they stay on.
            settings = settings._replace(fixable=(code,))
        source = snapshot.source()
        with self._project(settings).asking(snapshot.path) as project:
            hidden = self._hidden(snapshot.path, settings, source, project, pause)
            result = fix_source(
                source,
                settings,
                unsafe=unsafe,
                elsewhere=project,
                hidden=hidden,
                pause=pause,
                doubts=doubts,
            )
        if texts_by_cell(result.source) == texts_by_cell(source):
            return None
        return source, result.source

    def _hidden(
        self,
        path: str,
        settings: Settings,
        source: SourceFile,
        project: Neighbours,
        pause: Pause,
    ) -> Hidden:
        """What the baseline knows, so that it is left as it is."""
        if settings.baseline is None:
            return frozenset()
        found = located(source, lint(source, settings, elsewhere=project, pause=pause))
        left = set(map(id, self._baselines.unknown(settings, path, found, source)))
        return frozenset(place_of(one, source) for one in found if id(one) not in left)

    def new_helper(self, settings: Settings, after: SourceFile) -> tuple[str, str] | None:
        """Path and text of the project's helper module, where a fixed file imports it and it is
        not there yet."""
        project = self._project(settings).neighbours
        assert isinstance(project, Project)
        path = project.new_helper
        if path is None or not project.uses_helper(after):
            return None
        return path, project.helper_source

    def makes_helper(self, settings: Settings) -> bool:
        """Whether a fix may import a helper module that is not there yet."""
        project = self._project(settings).neighbours
        return isinstance(project, Project) and project.new_helper is not None

    def _project(self, settings: Settings) -> _Warm:
        # Which rules are on is nothing that the project's other files know of.
        everything = settings._replace(
            select=None, extend_select=(), ignore=(), fixable=("ALL",), unfixable=(), baseline=None
        )
        return _warm(self._projects, everything, Project)


def _warm(
    known: dict[Settings, _Warm], settings: Settings, make: Callable[[Settings], Neighbours]
) -> _Warm:
    warm = known.get(settings)
    if warm is None or not warm.holds():
        if len(known) >= _KEPT:
            known.clear()
        warm = known[settings] = _Warm(make(settings))
    return warm


def _ours(snapshot: Snapshot) -> bool:
    """Whether it is Python: a file of that language, or the cells of a notebook."""
    plain = snapshot.parts.get(None)
    if plain is None:
        return True
    # The JSON of a notebook that is edited as it stands is no Python; some clients name languages
    # in their own way.
    named = plain.language.lower() == "python" or snapshot.path.endswith(".py")
    return named and not is_notebook(snapshot.path)


def _about_torch(snapshot: Snapshot) -> bool:
    texts = (part.text.content for part in snapshot.parts.values())
    return any(speaks_of_torch(text.encode("utf-8", "surrogatepass")) for text in texts)


def _left_out(source: SourceFile) -> tuple[Problem, ...]:
    unread = source.unread if isinstance(source, NotebookSource) else []
    return tuple(Problem(number, 1, 1, f"this cell is left out: {why}") for number, why in unread)


def _unchanged(files: Mapping[str, tuple[int, int]]) -> bool:
    return all(sign != UNSURE and sign_of(path) == sign for path, sign in files.items())


def _packages(path: str) -> dict[str, tuple[int, int]]:
    """The files that say from which folder a file is imported."""
    signs: dict[str, tuple[int, int]] = {}
    folder = os.path.dirname(os.path.abspath(path))
    while True:
        init = os.path.join(folder, "__init__.py")
        signs[init] = sign_of(init)
        above = os.path.dirname(folder)
        if above == folder or not os.path.isfile(init):
            return signs
        folder = above
