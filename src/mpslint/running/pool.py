"""Check files elsewhere: in processes of this machine, or on a cluster (`mpslint.running.cluster`).

Whoever does the work is a `concurrent.futures.Executor`. Files go out in chunks, no more of them
at a time than keep the workers busy, and results come back in order. A worker that dies costs the
file it died on, not the run.
"""

from __future__ import annotations

import contextlib
import os
from collections import deque
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from typing import TYPE_CHECKING, Any

from mpslint.basics import collector
from mpslint.errors import BadSource
from mpslint.findings.results import Consulted, FileResult, from_record, to_record
from mpslint.running.runner import Done, Job, check_job
from mpslint.sources.reading import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mpslint.checking.checking import Around

_CHUNK = 16
_AHEAD = 4
"""Chunks that wait for each worker."""

Packed = tuple[
    str,
    "str | None",
    "str | None",
    "list[list[Any]] | None",
    "list[list[Any]]",
    bool,
    "tuple[int, ...]",
    "list[Any] | None",
]
"""(digest, error, warning, records, records of what is untold, whether that is all, rows that are
mended, consulted) of one file; without records the content is known, and without consulted files it
takes files that the worker cannot see."""
_around: Around = {}
"""Of a process that works for one run."""


class Processes:
    """Processes of this machine, and what any other kind of workers has to offer."""

    lost: tuple[type[BaseException], ...] = (BrokenExecutor,)
    """What a future raises whose worker died."""
    remote = False
    """They may not see our files, so that the bytes are sent along."""

    def __init__(self, count: int) -> None:
        self.count = count

    def start(self) -> Executor:
        return ProcessPoolExecutor(self.count, initializer=_begin)

    def one(self) -> Processes:
        """Workers of the same kind for a single file that may kill them."""
        return Processes(1)

    def end(self, executor: Executor) -> None:
        """End all work at once."""
        import multiprocessing

        for child in multiprocessing.active_children():
            child.kill()
        # Waits for the executor's own thread alone, which Python would stumble over at its exit.
        executor.shutdown(wait=True, cancel_futures=True)


def check_elsewhere(jobs: Sequence[Job], workers: Processes, *, with_fixes: bool) -> Iterator[Done]:
    """What `check_job` says of each job, in order. Interrupted, it ends all workers at once."""
    size = max(1, min(_CHUNK, len(jobs) // workers.count))
    chunks = [list(jobs[at : at + size]) for at in range(0, len(jobs), size)]
    around: Around = {}
    at = 0
    while at < len(chunks):
        for answers in _answers(chunks[at:], workers, with_fixes):
            for job, packed in zip(chunks[at], answers, strict=True):
                done = _unpack(job, packed)
                yield _here(job, with_fixes, around) if done.asked else done
            at += 1
        # A worker died on one of the chunks that were being checked, which are the next ones.
        for chunk in chunks[at : at + workers.count]:
            for job in chunk:
                yield _alone(job, workers.one(), with_fixes)
            at += 1


def _here(job: Job, with_fixes: bool, around: Around) -> Done:
    """One file that takes others which only this machine can see."""
    return check_job(job, digest=True, with_fixes=with_fixes, around=around)


def _alone(job: Job, workers: Processes, with_fixes: bool) -> Done:
    """One file on its own, so that the one that kills its worker is known."""
    for (answer,) in _answers([[job]], workers, with_fixes):
        done = _unpack(job, answer)
        return _here(job, with_fixes, {}) if done.asked else done
    path = job.target.path
    reason = f"{path}: the process that checked it died; exclude this file and report it"
    return Done("", FileResult(path, error=reason))


def _answers(
    chunks: list[list[Job]], workers: Processes, with_fixes: bool
) -> Iterator[list[Packed]]:
    """The answers to each chunk in order, up to the first that is lost with its worker."""
    executor = workers.start()
    waiting: deque[Future[list[Packed]]] = deque()
    rest = iter(chunks)
    try:
        while True:
            while len(waiting) < _AHEAD * workers.count:
                chunk = next(rest, None)
                if chunk is None:
                    break
                sent = [_with_content(job) for job in chunk] if workers.remote else chunk
                with _interrupts_held():
                    waiting.append(executor.submit(check_chunk, sent, with_fixes))
            if not waiting:
                break
            yield waiting.popleft().result()
        executor.shutdown()
    except workers.lost:
        workers.end(executor)
    except BaseException:
        workers.end(executor)
        raise


def _with_content(job: Job) -> Job:
    """The job for a machine that has neither our files nor our current folder."""
    path = job.target.path
    try:
        data: bytes | BadSource = read_bytes(path, job.target.settings.max_file_size)
    except BadSource as error:
        data = error
    return Job(job.target._replace(path=os.path.abspath(path)), job.known, data)


@contextlib.contextmanager
def _interrupts_held() -> Iterator[None]:
    """Keep Ctrl-C waiting while processes start: they inherit this until they ignore it."""
    import signal

    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _begin() -> None:
    """In a worker, before its work: Ctrl-C reaches the whole group, and the parent ends its
    children, quietly. A parent that is killed cannot, so they watch it."""
    import signal
    import threading

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    import multiprocessing

    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def check_chunk(jobs: list[Job], with_fixes: bool) -> list[Packed]:
    """Runs in a worker: check files and pack what is found as plain data."""
    with collector.off():
        return [_pack(_checked(job, with_fixes)) for job in jobs]


def _checked(job: Job, with_fixes: bool) -> Done:
    around = _around
    if job.data is not None:
        from mpslint.project.layout.out_of_reach import OutOfReach

        around = {job.target.settings: OutOfReach()}
    return check_job(job, digest=True, with_fixes=with_fixes, around=around)


def _pack(done: Done) -> Packed:
    if done.result is None:
        return (done.digest, None, None, None, [], True, (), None if done.asked else [])
    result = done.result
    records = [to_record(finding, with_fix=True) for finding in result.findings]
    untold = [to_record(finding, with_fix=False) for finding in result.untold]
    said = (done.digest, result.error, result.warning, records, untold, result.is_whole)
    return (*said, result.mended, list(result.consulted))


def _unpack(job: Job, packed: Packed) -> Done:
    digest, error, warning, records, untold, is_whole, mended, consulted = packed
    if records is None:
        return Done(digest, None, asked=consulted is None)
    path = job.target.path
    findings = tuple(from_record(record) for record in records)
    return Done(
        digest,
        FileResult(
            path,
            findings,
            _about(path, error),
            _about(path, warning),
            tuple(Consulted(*entry) for entry in consulted or ()),
            tuple(from_record(record) for record in untold),
            is_whole,
            mended,
        ),
    )


def _about(path: str, line: str | None) -> str | None:
    """A line about a file with the path that it has here."""
    full = os.path.abspath(path)
    return path + line[len(full) :] if line is not None and line.startswith(full) else line
