"""Which files a run fixes, and what becomes of them: in memory, before anything is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.cli.checking import check_files
from mpslint.cli.options import find_settings, warn
from mpslint.errors import MpslintError
from mpslint.findings.results import FileResult
from mpslint.records import NamedTuple

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from mpslint.fixing.blame import Barred
    from mpslint.fixing.fixer import Hidden
    from mpslint.fixing.fixing import Planned
    from mpslint.folders.discovery import Target
    from mpslint.model import Finding
    from mpslint.project.project import Project
    from mpslint.settings.settings import Settings
    from mpslint.together.together import Together


_TREES = 4
"""So many times as many trees are kept as a check needs: files that are fixed together are looked
at again and again."""


class Work(NamedTuple):
    """What a run has found and made, before anything is written."""

    results: list[FileResult]
    """Of the files as they are."""
    planned: dict[str, Planned]
    """By path, the files that would change."""
    texts: dict[str, str]
    settings: dict[str, Settings]
    """By path."""

    def suppressed(self, path: str, done: dict[str, Planned]) -> list[Finding]:
        """What comments silence in a file as it is now."""
        from mpslint.checking.linter import suppressed
        from mpslint.sources.opening import located, open_source
        from mpslint.sources.reading import read_bytes

        if path not in self.settings:
            return []
        try:
            source = done[path].result.source if path in done else None
            source = source or open_source(path, read_bytes(path))
            return list(located(source, suppressed(source, self.settings[path])))
        except MpslintError:
            return []


def plan_files(options: argparse.Namespace, rejected: Mapping[str, Hidden] | None = None) -> Work:
    """Fixes the files that are named, together, but for what is `rejected` in each."""
    from mpslint.basics import collector

    with collector.off():
        return _plan_files(options, rejected)


def _plan_files(options: argparse.Namespace, rejected: Mapping[str, Hidden] | None) -> Work:
    from mpslint.fixing.fixing import may_become_safe, worth_fixing
    from mpslint.folders.discovery import leads_out, targets
    from mpslint.output import SHOW_FIXES
    from mpslint.porting.in_the_way import is_narrow
    from mpslint.running.reported import Reported
    from mpslint.sources.reading import read_bytes
    from mpslint.together.shared_helper import shared
    from mpslint.together.together import Job, Together

    paths = options.paths or ["."]
    finder = find_settings(options)
    reported = Reported(finder, options.diff_base)
    found = list(targets(paths, finder, warn))
    projects = _Projects()
    shown = not options.diff and (options.output_format in SHOW_FIXES or options.report)
    checked = check_files(options, found, with_fixes=bool(shown), to_fix=projects.known)
    settings = {target.path: target.settings for target in found}
    named = {target.path: target.named for target in found}
    jobs: list[Job] = []
    further: dict[str, Hidden] = {}
    untouched: list[FileResult] = []
    tried: list[tuple[int, FileResult]] = []
    work = Work([], {}, {}, settings)
    for whole in checked:
        result, hidden = reported.narrow(whole, settings[whole.path])
        path = result.path
        is_fixed = worth_fixing(result, unsafe=options.unsafe_fixes) or may_become_safe(result)
        if not is_fixed and not result.mended:
            untouched.append(result)
            if not options.diff_base:
                further[path] = hidden | (rejected or {}).get(path, frozenset())
            work.results.append(result)
            continue
        if not named[path] and (why := leads_out(path, paths)):
            warn(f"{path}: not changed: {why}")
            work.results.append(result)
            continue
        data = read_bytes(path, settings[path].max_file_size)
        hidden |= (rejected or {}).get(path, frozenset())
        jobs.append(Job(path, data, settings[path], hidden))
        tried.append((len(work.results), result))
        work.results.append(result)

    together = Together(projects.of)
    for one in untouched:
        together.leaves(one)
    for job in jobs:
        together.add(job)
    told = {result.path: result for result in checked if not result.error}
    fixed = frozenset(before.path for _, before in tried)
    may_change = {
        path: hidden
        for path, hidden in further.items()
        if path in told and (named[path] or not leads_out(path, paths))
    }
    _watch(together, found, told, fixed, may_change)
    if options.diff_base or any(is_narrow(job.settings, job.path) for job in jobs):
        together.doubt(_unsafe_beside_all(found, told, projects.of))
    plans = together.planned(
        unsafe=options.unsafe_fixes, sharing=lambda files: shared(files, projects.of)
    )
    places = {result.path: place for place, result in enumerate(work.results)}
    taken_up = (places[path] for path in plans if path not in fixed and path in may_change)
    for at, before in [*tried, *((place, work.results[place]) for place in taken_up)]:
        result, path = before, before.path
        planned = plans[path]
        error = planned if isinstance(planned, str) else planned.result.error
        if error is not None:
            where = "" if isinstance(planned, str) else f"{path}: nothing was changed: "
            result = result._replace(error=f"{where}{error}")
        elif not isinstance(planned, str):
            for misfit in planned.result.misfits:
                warn(f"{path}: a fix was left out: {misfit}; please report it")
            if planned.changed:
                work.planned[path] = planned
            else:
                # What was tried is known: no fix is on offer that was not applied.
                result = result._replace(findings=planned.result.remaining)
        work.results[at] = result
    helpers = projects.helpers(work.planned.values())
    work.planned.update(helpers)
    work.results.extend(FileResult(path) for path in helpers)
    return work


def _unsafe_beside_all(
    found: Sequence[Target],
    told: Mapping[str, FileResult],
    project_of: Callable[[Settings, dict[str, bytes]], Project],
) -> dict[str, Barred]:
    """By file the fixes that are not safe where all are made that are on without being asked for:
    to make some of them changes nothing about that."""
    from mpslint.errors import BadSource
    from mpslint.model import Applicability
    from mpslint.sources.reading import read_bytes
    from mpslint.together.together import Job, Together

    together = Together(project_of)
    fixed = set()
    for path, settings, _ in found:
        result = told.get(path)
        if result is None:
            continue
        levels = {one.applicability for one in result.all_findings}
        if Applicability.SAFE not in levels and not result.mended:
            together.leaves(result)
            continue
        try:
            data = read_bytes(path, settings.max_file_size)
        except BadSource:
            continue
        together.add(Job(path, data, settings.with_all_told()))
        fixed.add(path)
    _watch(together, found, told, frozenset(fixed))
    return together.settle()


def _watch(
    together: Together,
    found: Iterable[Target],
    told: Mapping[str, FileResult],
    fixed: frozenset[str],
    may_change: Mapping[str, Hidden] | None = None,
) -> None:
    """Judges with the others the files that use what changes. Those that `may_change` are fixed
    where that brings something about in them, but for what is hidden there."""
    from mpslint.errors import BadSource
    from mpslint.sources.reading import read_bytes
    from mpslint.sources.screening import names_in, speaks_of_torch
    from mpslint.together.together import Job

    modules = together.modules
    for target in found if modules else ():
        if target.path in fixed or target.path not in told:
            continue
        try:
            data = read_bytes(target.path, target.settings.max_file_size)
        except BadSource:
            continue
        if modules.isdisjoint(names_in(data)):
            continue
        fixable = target.path in (may_change or ())
        hidden = (may_change or {}).get(target.path, frozenset())
        job = Job(target.path, data, target.settings, hidden)
        if speaks_of_torch(data):
            together.watch(job, told[target.path], fixable=fixable)
        else:
            together.starts(job)


class _Projects:
    """The project of each settings object, and those with other texts."""

    def __init__(self) -> None:
        from mpslint.together.withheld import Projects

        self.known = Projects(_TREES)

    def of(self, settings: Settings, planned: dict[str, bytes]) -> Project:
        """The project; with `planned` texts in place of files, one that is not kept."""
        from mpslint.project.project import Project

        return Project(settings, planned) if planned else self.known.of(settings)

    def helpers(self, planned: Iterable[Planned]) -> dict[str, Planned]:
        """The helper modules that must be created, by path."""
        from mpslint.fixing.fixing import plan_helper

        files = list(planned)
        made = [plan_helper(project, files) for project in self.known.made]
        return {helper.path: helper for helper in made if helper is not None}
