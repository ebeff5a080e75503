"""Check many files: from the cache where it knows them, else here or in other processes.

Results come in the order of the targets, whoever made them.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from mpslint.basics import collector
from mpslint.checking.checking import check_bytes, guarded
from mpslint.errors import BadSource
from mpslint.findings.results import FileResult, detached
from mpslint.settings.settings import Settings
from mpslint.sources.reading import read_bytes, too_large
from mpslint.sources.screening import speaks_of_torch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mpslint.checking.checking import Around
    from mpslint.folders.discovery import Target
    from mpslint.running.cache import Cache, Caches

_MOST_AROUND = 2
"""Of so many settings what is around their files is kept: a folder and one that lies within it."""
_POOL_FILES = 64
"""Of fewer files one or two are most of the work."""
_BYTES_EACH = 500_000
"""So much of text is worth a process of its own: it takes half a second to start, and some to find
out again what the others know of the project."""


_SELECTORS = (
    "select",
    "extend_select",
    "ignore",
    "fixable",
    "unfixable",
    "per_file_ignores",
    "extend_per_file_ignores",
)
"""Settings that name rules."""


class Job:
    """What a process gets."""

    __slots__ = ("data", "known", "target")

    def __init__(self, target: Target, known: str, data: bytes | BadSource | None = None) -> None:
        self.target = target
        self.known = known
        """Digest of the content whose findings are in the cache, empty for none."""
        self.data = data
        """The content, or why it cannot be read; None: the worker reads the file."""

    def read(self) -> bytes:
        """The content. Raises `BadSource`."""
        if isinstance(self.data, BadSource):
            raise self.data
        if self.data is not None:
            return self.data
        return read_bytes(self.target.path, self.target.settings.max_file_size)


class Done:
    """What comes back."""

    __slots__ = ("asked", "digest", "result")

    def __init__(self, digest: str, result: FileResult | None, *, asked: bool = False) -> None:
        self.digest = digest
        self.result = result
        """None: the content is the known one."""
        self.asked = asked
        """Whether nothing is known because it takes files that the worker cannot see."""


class _Pending:
    __slots__ = ("at", "job", "read_at", "status")

    def __init__(self, at: int, job: Job, status: os.stat_result, read_at: int) -> None:
        self.at = at
        self.job = job
        self.status = status
        self.read_at = read_at


Progress = Callable[[int, int], None]
"""Gets the number of files checked so far and that of all that must be."""


def check_all(
    targets: Iterable[Target],
    *,
    jobs: int = 0,
    cache: bool,
    with_fixes: bool,
    executor: str | None = None,
    progress: Progress | None = None,
    around: Around | None = None,
) -> list[FileResult]:
    """The result of each target, in order.

    `jobs`: processes, 0 for as many as pay; `executor`: where to work instead, such as
    `dask://HOST:PORT`. `with_fixes`: fixes will be asked for, so they are part of what the cache
    and other processes hand over. `around` gets what this process comes to know of the files around
    those that it checks. Raises `BadSettings`, and `NoCluster` for an executor that
    cannot be used.
    """
    with collector.off():
        own: Around = {}
        known = own if around is None else around
        results = _check_all(targets, Plan(jobs, executor, with_fixes, progress, known), cache)
        for one in own.values():
            one.release()
        return results


class Plan:
    """How the files that the cache does not know are checked."""

    __slots__ = ("around", "executor", "jobs", "progress", "with_fixes")

    def __init__(
        self,
        jobs: int,
        executor: str | None,
        with_fixes: bool,
        progress: Progress | None,
        around: Around,
    ) -> None:
        self.around = around
        self.jobs = jobs
        self.executor = executor
        self.with_fixes = with_fixes
        self.progress = progress


def _check_all(targets: Iterable[Target], plan: Plan, cache: bool) -> list[FileResult]:
    with_fixes = plan.with_fixes
    caches = _caches() if cache else None
    results: list[FileResult] = []
    pending: list[_Pending] = []
    trusted: dict[int, Settings] = {}
    for target in targets:
        if id(target.settings) not in trusted:
            trusted[id(target.settings)] = target.settings
            _require_known(target.settings, caches)
        result, status = _without_reading(target, caches, with_fixes)
        if result is None and status is not None:
            known = (
                caches.of(target.settings).digest(target, with_fixes=with_fixes) if caches else ""
            )
            pending.append(_Pending(len(results), Job(target, known), status, time.time_ns()))
            result = FileResult(target.path)
        results.append(result or _read_error(target))
    for entry, done in zip(pending, _run(pending, plan, caches is not None), strict=True):
        results[entry.at] = _settle(entry, done, caches, with_fixes)
        if plan.progress is not None:
            plan.progress(entry.at + 1, len(results))
    if caches is not None:
        caches.save()
    return results


def _require_known(settings: Settings, caches: Caches | None) -> None:
    """Refuse unknown rules, whether or not a file asks; a cache of these settings vouches."""
    if all(getattr(settings, name) == Settings._field_defaults[name] for name in _SELECTORS):
        return
    if caches is None or not caches.of(settings).used_before:
        from mpslint.settings.selectors import require_known

        require_known(settings)


def _caches() -> Caches:
    from mpslint.running.cache import Caches

    return Caches()


def _without_reading(
    target: Target, caches: Caches | None, with_fixes: bool
) -> tuple[FileResult | None, os.stat_result | None]:
    """What the file's status alone decides: too large, gone, or known to the cache."""
    path, settings, _ = target
    try:
        status = os.stat(path)
    except OSError:
        return None, None
    skipped = too_large(status.st_size, settings.max_file_size)
    if skipped:
        return FileResult(path, warning=f"{path}: {skipped}"), status
    if caches is None:
        return None, status
    return caches.of(settings).by_stat(target, status, with_fixes=with_fixes), status


def _read_error(target: Target) -> FileResult:
    """The result of a file without status: gone since it was listed, or a broken link."""
    path = target.path
    if not target.named and not os.path.lexists(path):
        return FileResult(path)
    return FileResult(path, error=f"{path}: cannot be read: no such file")


def _run(pending: Sequence[_Pending], plan: Plan, cache: bool) -> Iterator[Done]:
    work = [entry.job for entry in pending]
    if plan.executor and work:
        from mpslint.running.cluster import check_on_cluster

        return check_on_cluster(work, plan.executor, with_fixes=plan.with_fixes)
    size = sum(entry.status.st_size for entry in pending)
    few = len(work) < _POOL_FILES
    workers = plan.jobs or (1 if few else min(_cores(), size // _BYTES_EACH))
    if min(workers, len(work)) > 1:
        from mpslint.running.pool import Processes, check_elsewhere

        return check_elsewhere(work, Processes(workers), with_fixes=plan.with_fixes)
    return _checked_here(work, plan, digest=cache)


def _checked_here(work: Iterable[Job], plan: Plan, *, digest: bool) -> Iterator[Done]:
    for job in work:
        yield check_job(job, digest=digest, with_fixes=plan.with_fixes, around=plan.around)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_job(job: Job, *, digest: bool, with_fixes: bool, around: Around | None) -> Done:
    """Check one file; its content's digest is taken where it can save work later. `around` is as
    in `checking.check_bytes`."""
    path, settings, named = job.target
    content = ""

    def check() -> FileResult | None:
        nonlocal content
        data = job.read()
        if digest and speaks_of_torch(data):
            from mpslint.running.cache import digest_of

            content = digest_of(data)
            if content == job.known:
                return None
        collector.checked(len(data))
        found = check_bytes(path, data, settings, named=named, around=around)
        # Fixes that are handed over are made here, and may ask around as well.
        return detached(found, with_fixes=with_fixes) if found.all_findings else found

    result = guarded(path, check)
    if around is not None and settings in around and result is not None:
        neighbours = around[settings]
        if neighbours.asked:
            return Done(content, None, asked=True)
        result = result._replace(consulted=neighbours.consulted())
        if neighbours.is_full:
            around[settings] = neighbours.renewed()
            neighbours.release()
        _let_go_of_others(around, settings)
    return Done(content, result)


def _let_go_of_others(around: Around, settings: Settings) -> None:
    """Files come folder by folder: what was known below other settings is hardly asked again, and
    a collection of projects has as many of them."""
    around[settings] = around.pop(settings)  # the latest one comes last
    for old in list(around)[:-_MOST_AROUND]:
        around.pop(old).release()


def _settle(entry: _Pending, done: Done, caches: Caches | None, with_fixes: bool) -> FileResult:
    target = entry.job.target
    if caches is None:
        return done.result or FileResult(target.path)
    cache: Cache = caches.of(target.settings)
    if done.result is None:
        return cache.touch(target, entry.status, entry.read_at)
    cache.store(
        target, entry.status, entry.read_at, done.digest, done.result, with_fixes=with_fixes
    )
    return done.result
