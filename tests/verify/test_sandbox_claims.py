"""Whatever a system forbids the sandbox to use: what the report claims is so, the rest is told."""

from __future__ import annotations

import errno
import json
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mpslint.verify.isolation import describe
from mpslint.verify.sandbox import calls, seccomp
from mpslint.verify.sandbox.policy import Rule, Where

from .conftest import Sandboxed, ended, linux

pytestmark = linux

_PR_SET_SECCOMP = 22
MEANS = {
    "namespaces": [Rule("unshare", errno.EPERM)],
    "Landlock": [Rule("landlock_create_ruleset", errno.ENOSYS)],
    "seccomp": [
        Rule("seccomp", errno.EPERM),
        Rule("prctl", errno.EPERM, (Where(0, (_PR_SET_SECCOMP,)),)),
    ],
    "a warden that answers": [Rule("pidfd_getfd", errno.EPERM)],
}
SYSTEMS = [
    (),
    ("namespaces",),
    ("namespaces", "a warden that answers"),
    ("namespaces", "Landlock"),
    ("namespaces", "seccomp"),
    ("namespaces", "Landlock", "seccomp"),
    ("seccomp",),
    ("Landlock", "a warden that answers"),
]

# Every try harms nobody: what it would change is the test's own.
TRIES = """
import json, os, socket
outside, user, process = {outside!r}, {user!r}, {process}
def network():
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); sock.connect(('192.0.2.1', 9))
def writes(): open(outside + '/new', 'w').close()
def metadata(): os.chmod(outside + "/thesis", 0o600)
def home(): open(user + '/token').close()
def sockets():
    folder = os.open(outside, os.O_RDONLY)
    socket.socket(socket.AF_UNIX).connect(f'/proc/self/fd/{{folder}}/daemon')
def signals(): os.kill(process, 0); open(f'/proc/{{process}}/stat').close()
def shared(): os.stat('/dev/shm/' + {shared!r})
done = []
for what in (network, writes, metadata, home, sockets, signals, shared):
    try: what(); done.append(what.__name__)
    except OSError: pass
print(json.dumps(done))
"""


def without(means: tuple[str, ...], run: Callable[[], Any]) -> Any:
    """What `run` gives in a process that may not use some means of isolation."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        rules = [rule for name in means for rule in MEANS[name]]
        if rules:
            architecture, numbers = calls.table()
            known = {**numbers, "landlock_create_ruleset": 444}
            calls._MACHINES[os.uname().machine] = (architecture, known)
            seccomp.install(rules)
        with os.fdopen(into, "w") as answer:
            json.dump(run(), answer)
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return json.loads(text)


@pytest.fixture
def neighbour(sandbox: Sandboxed) -> Iterator[socket.socket]:
    """A socket of another program, in a folder that the command may read."""
    folder = os.open(sandbox.outside, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as sock:
        sock.bind(f"/proc/self/fd/{folder}/daemon")
        sock.listen(8)
        yield sock
    os.close(folder)


@pytest.mark.parametrize("means", SYSTEMS, ids=lambda means: " and ".join(means) or "nothing")
def test_what_the_report_claims_is_so(
    sandbox: Sandboxed, neighbour: socket.socket, means: tuple[str, ...]
) -> None:
    (sandbox.outside / "thesis").write_text("years of work")
    (sandbox.user / "token").write_text("secret")
    shared = Path("/dev/shm", f"mpslint-claims-{os.getpid()}")
    shared.touch()
    code = TRIES.format(
        outside=str(sandbox.outside),
        user=str(sandbox.user),
        process=os.getpid(),
        shared=shared.name,
    )
    try:
        code_, text, errors, measured = without(means, lambda: _tried(sandbox, code))
    finally:
        shared.unlink()
    assert code_ == 0, errors
    reached = set(json.loads(text))
    claimed = {key for key in ("network", "writes", "metadata", "home", "sockets", "signals",
                               "shared") if measured[key]}  # fmt: skip
    assert not reached & claimed, f"claimed, but reached: {reached & claimed}"
    told = describe(measured, 1, 1, 1, 1)
    assert len(told.missing) == 7 - len(claimed) + (not measured["orphans"])
    if "namespaces" in means:
        assert all("Operation not permitted" in line for line in told.missing)


def _tried(sandbox: Sandboxed, code: str) -> tuple[int | None, str, str, dict[str, Any]]:
    run = sandbox.run(code)
    return run.code, run.stdout, f"{run.broken} {run.stderr}", run.isolation


def test_a_system_with_everything_lacks_nothing(sandbox: Sandboxed) -> None:
    run = sandbox.run("")
    if run.isolation["refused"]:
        pytest.skip("this system forbids namespaces")
    assert describe(run.isolation, 1, 1, 1, 1).missing == ()


def test_a_run_that_never_began_claims_nothing() -> None:
    assert describe(ended(isolation={}).isolation, 1, 1, 1, 1).in_force == ()
