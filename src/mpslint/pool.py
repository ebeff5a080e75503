"""Check files in other processes; a process that dies costs one file, not the run."""

from __future__ import annotations

import contextlib
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any

from mpslint import collector
from mpslint.results import FileResult, from_record, to_record
from mpslint.runner import Done, Job, check_job

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CHUNK = 16

Packed = tuple[str, "str | None", "str | None", "list[list[Any]] | None"]
"""(digest, error, warning, records) of one file; records None: the content is known."""


def check_in_processes(jobs: Sequence[Job], workers: int, *, with_fixes: bool) -> list[Done]:
    """What `check_job` says of each job, in order. Interrupted, it ends all children at once."""
    chunk = max(1, min(_CHUNK, len(jobs) // workers))
    chunks = [list(jobs[at : at + chunk]) for at in range(0, len(jobs), chunk)]
    packed = _map(chunks, workers, with_fixes)
    done: list[Done] = []
    for chunk_jobs, answers in zip(chunks, packed, strict=True):
        if answers is None:
            answers = _one_by_one(chunk_jobs, with_fixes)
        done += [_unpack(job, answer) for job, answer in zip(chunk_jobs, answers, strict=True)]
    return done


def _map(chunks: list[list[Job]], workers: int, with_fixes: bool) -> list[list[Packed] | None]:
    """The answers of each chunk; None for those that were not done when a process died."""
    executor = _executor(workers)
    try:
        with _interrupts_held():
            futures = [executor.submit(check_chunk, chunk, with_fixes) for chunk in chunks]
        answers = [_answer(future) for future in futures]
        executor.shutdown()
        return answers
    except BaseException:
        _end(executor)
        raise


def _answer(future: Future[list[Packed]]) -> list[Packed] | None:
    try:
        return future.result()
    except BrokenProcessPool:
        return None


def _one_by_one(jobs: list[Job], with_fixes: bool) -> list[Packed]:
    """Each file in a process of its own, so that the one that kills it is known."""
    answers: list[Packed] = []
    for job in jobs:
        (answer,) = _map([[job]], 1, with_fixes)
        if answer is None:
            path = job.target.path
            reason = f"{path}: the process that checked it died; exclude this file and report it"
            answers.append(("", reason, None, []))
        else:
            answers += answer
    return answers


def _executor(workers: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(workers, initializer=_ignore_interrupts)


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


def _ignore_interrupts() -> None:
    """Ctrl-C reaches the whole group; the parent ends its children, quietly."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end(executor: Executor) -> None:
    import multiprocessing

    executor.shutdown(wait=False, cancel_futures=True)
    for child in multiprocessing.active_children():
        child.kill()


def check_chunk(jobs: list[Job], with_fixes: bool) -> list[Packed]:
    """Runs in a worker: check files and pack what is found as plain data."""
    with collector.off():
        return [_pack(check_job(job, digest=True, with_fixes=with_fixes)) for job in jobs]


def _pack(done: Done) -> Packed:
    if done.result is None:
        return (done.digest, None, None, None)
    records = [to_record(finding, with_fix=True) for finding in done.result.findings]
    return (done.digest, done.result.error, done.result.warning, records)


def _unpack(job: Job, packed: Packed) -> Done:
    digest, error, warning, records = packed
    if records is None:
        return Done(digest, None)
    findings = tuple(from_record(record) for record in records)
    return Done(digest, FileResult(job.target.path, findings, error, warning))
