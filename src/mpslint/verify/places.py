"""Which folders of the machine a run may see, and which it may not."""

from __future__ import annotations

import contextlib
import os
import pwd
from collections.abc import Callable, Iterable, Sequence

from mpslint.verify.interpreter import Interpreter
from mpslint.verify.sandbox import process
from mpslint.verify.sandbox.checks import holds

Needed = Callable[[str], Iterable[str]]


def lay_out(
    python: Interpreter,
    search: Sequence[str],
    modules: Sequence[str],
    own: Sequence[str],
    writable: Sequence[str],
    guarded: Sequence[str],
) -> process.Places:
    """The places of a run whose `own` folders it sees, its temporary folder being the last of
    `writable`.

    `search` and `modules` are the folders from which programs and modules come. The private
    folders are hidden whatever these say: of a folder that is as wide as a home, only what it is
    needed for stays visible.
    """
    private = _private_folders()
    hidden = [path for path in private if path not in ("/", *process.SHARED_SCRATCH)]
    covered = [*hidden, *process.SHARED_SCRATCH, "/dev/shm"]
    scratch = {path: writable[-1] for path in process.SHARED_SCRATCH if _is_own_folder(path)}
    keep = [*own]
    for paths, needed in (
        (python.prefixes, _of_a_prefix),
        ([*python.path, *modules], _modules),
        ([*python.program_folders, *search], _programs),
    ):
        for path in paths:
            if os.path.isabs(path) and os.path.isdir(path):
                keep += _shown(path, needed, covered)
    return process.Places(
        writable=writable,
        hidden=hidden,
        keep=list(dict.fromkeys(keep)),
        scratch=scratch,
        guarded=[path for path in guarded if os.path.isdir(path)],
        private=private,
    )


def _shown(path: str, needed: Needed, covered: Sequence[str]) -> list[str]:
    """What must be laid over the covered folders for a folder to be of use."""
    real = os.path.realpath(path)
    if any(holds(real, folder) for folder in covered):
        names = {os.path.join(real, name) for name in needed(real)}
        return sorted(name for name in names if not any(holds(name, f) for f in covered))
    return [
        way for way in dict.fromkeys((real, path)) if any(holds(folder, way) for folder in covered)
    ]


def _of_a_prefix(folder: str) -> Iterable[str]:
    """Where an environment of Python has its files."""
    names = ("bin", "lib", "lib64", "include", "pyvenv.cfg")
    return [name for name in names if os.path.exists(os.path.join(folder, name))]


def _modules(folder: str) -> Iterable[str]:
    """The modules and packages in a folder; not what is only a folder, as any could be."""
    for entry in _entries(folder):
        stem, ending = os.path.splitext(entry.name)
        named = stem.split(".")[0].isidentifier()
        file = ending in (".py", ".so") and entry.is_file()
        if named and (file or os.path.isfile(os.path.join(entry.path, "__init__.py"))):
            yield entry.name


def _programs(folder: str) -> Iterable[str]:
    for entry in _entries(folder):
        if not entry.name.startswith(".") and entry.is_file() and os.access(entry.path, os.X_OK):
            yield entry.name


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _is_own_folder(path: str) -> bool:
    return os.path.isdir(path) and os.path.realpath(path) == path


def _private_folders() -> list[str]:
    """Where people and systems keep what a script must not see: homes, sockets and run-time
    secrets.
    """
    homes = [os.path.expanduser("~")]
    with contextlib.suppress(KeyError):
        homes.append(pwd.getpwuid(os.getuid()).pw_dir)
    if os.getuid() == 0:
        homes += ["/root", "/home"]
    real = dict.fromkeys(os.path.realpath(path) for path in [*homes, "/run"])
    return [path for path in real if os.path.isdir(path)]
