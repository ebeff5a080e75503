"""Check files on a Dask cluster: `--executor dask://HOST:PORT`.

The files are read here and sent, so the machines of the cluster need mpslint of this version and
nothing else: no shared disk, no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from mpslint import __version__
from mpslint.errors import MpslintError
from mpslint.running.pool import Processes, check_elsewhere

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from concurrent.futures import Executor

    from mpslint.running.runner import Done, Job

SCHEME = "dask://"
_PATIENCE = 10
"""Seconds to wait for the scheduler."""


class NoCluster(MpslintError):
    """The cluster cannot be used; says why."""


class Cluster(Processes):
    """The workers of a Dask cluster that runs already."""

    remote = True

    def __init__(self, address: str) -> None:
        """`address`: `dask://HOST:PORT` of the scheduler. Raises `NoCluster`."""
        try:
            distributed = import_module("distributed")
        except ImportError as error:
            raise NoCluster(
                f"{address}: {error}; install the extra: pip install 'mpslint[dask]'"
            ) from None
        self.lost = (distributed.scheduler.KilledWorker,)
        place = address.removeprefix(SCHEME)
        try:
            self._client = distributed.Client(
                f"tcp://{place}", timeout=_PATIENCE, set_as_default=False
            )
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise NoCluster(f"{address}: no Dask scheduler answers there ({reason})") from None
        super().__init__(sum(self._client.nthreads().values()))
        self._require_ours(address)

    def _require_ours(self, address: str) -> None:
        if not self.count:
            raise NoCluster(f"{address}: the cluster has no workers; start some")
        try:
            versions = set(self._client.run(version).values())
        except ImportError as error:
            raise NoCluster(f"{address}: the workers lack mpslint ({error})") from None
        if versions != {__version__}:
            others = ", ".join(sorted(versions))
            raise NoCluster(f"{address}: the workers have mpslint {others}, here is {__version__}")

    def start(self) -> Executor:
        executor: Executor = self._client.get_executor(pure=False)
        return executor

    def one(self) -> Processes:
        return self

    def end(self, executor: Executor) -> None:
        executor.shutdown(wait=False)

    def close(self) -> None:
        self._client.close()


def check_on_cluster(jobs: Sequence[Job], address: str, *, with_fixes: bool) -> Iterator[Done]:
    """What `check_job` says of each job, in order. Raises `NoCluster`."""
    cluster = Cluster(address)
    try:
        yield from check_elsewhere(jobs, cluster, with_fixes=with_fixes)
    finally:
        cluster.close()


def version() -> str:
    """Runs on a worker."""
    return __version__
