"""A copy of the project: what a run needs, and nothing that it could spoil.

In a git work tree these are the tracked files and the new ones that git does not ignore, and of
the ignored ones those that the script or its arguments name; elsewhere the script's folder.
"""

from __future__ import annotations

import ast
import itertools
import os
import re
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from mpslint.verify.sandbox.process import SHARED_SCRATCH

SIZE_CAP = 2 << 30
_COUNT_CAP = 50_000
_NEVER = {
    ".git", ".hg", ".svn", "__pycache__", ".venv", "venv", "env", "node_modules", ".tox", ".nox",
    ".mypy_cache", ".ruff_cache", ".pytest_cache", ".cache", "wandb", "mlruns", ".idea", ".vscode",
}  # fmt: skip


class Snapshot(NamedTuple):
    """The copied folder's real path, and the files that were left out, each with the reason."""

    root: str
    left_out: tuple[str, ...]


def find_root(script: str, python_path: Sequence[str] = ()) -> str:
    """The folder to copy for a script: its git work tree if it lies in one, else the outermost
    folder of `python_path` around it, from which it may import its own project, or that it names by
    `../`, else its folder.
    """
    folder = os.path.dirname(os.path.realpath(script))
    top = _git(folder, "rev-parse", "--show-toplevel").strip()
    if not top:
        around = [os.path.realpath(path) for path in python_path] + [_reached_from(script)]
        around = [path for path in around if (folder + os.sep).startswith(path + os.sep)]
        return min({*around} - _wide_folders(), key=len, default=folder)
    top = os.path.realpath(top)
    ignored = _git(folder, "check-ignore", "--", os.path.realpath(script))
    return folder if ignored or top in _wide_folders() else top


def _reached_from(script: str) -> str:
    """The outermost folder that a script names by `../` in its texts; its own where it does not."""
    folder = os.path.dirname(os.path.realpath(script))
    try:
        with open(script, encoding="utf-8", errors="replace") as file:
            texts = re.findall(r"""["']((?:\.\./)+)""", file.read())
    except OSError:
        return folder
    up = max((text.count("../") for text in texts), default=0)
    return os.path.realpath(os.path.join(folder, *[os.pardir] * up))


def _wide_folders() -> set[str]:
    """Folders that are no project, even when a script lies in one."""
    wide = {
        "/",
        os.path.expanduser("~"),
        tempfile.gettempdir(),
        *SHARED_SCRATCH,
        "/home",
        "/root",
    }
    return {os.path.realpath(path) for path in wide}


def take(root: str, script: str, args: Sequence[str], target: str) -> Snapshot:
    """Copy what the script needs of `root` into `target` (created here)."""
    root = os.path.realpath(root)
    left_out: list[str] = []
    os.makedirs(target)
    size = count = 0
    for relative in _wanted(root, script, args):
        source = os.path.join(root, relative)
        reason = _refuse(source, root)
        if reason is None:
            weight = os.lstat(source).st_size
            if size + weight > SIZE_CAP or count >= _COUNT_CAP:
                reason = f"over the cap of {SIZE_CAP >> 30} GiB and {_COUNT_CAP} files"
        if reason is not None:
            left_out.append(f"{relative} ({reason})")
            continue
        size, count = size + weight, count + 1
        copied = os.path.join(target, relative)
        os.makedirs(os.path.dirname(copied), exist_ok=True)
        try:
            shutil.copyfile(source, copied)
            shutil.copymode(source, copied)
            os.chmod(copied, os.stat(copied).st_mode | stat.S_IRUSR | stat.S_IWUSR)
        except OSError as error:
            left_out.append(f"{relative} ({error.strerror})")
    return Snapshot(root, tuple(left_out))


def _refuse(source: str, root: str) -> str | None:
    try:
        real = os.path.realpath(source)
        if os.path.islink(source) and not real.startswith(root + os.sep):
            return "a symbolic link to outside"
        return None if stat.S_ISREG(os.stat(source).st_mode) else "not a regular file"
    except OSError as error:
        return error.strerror or "unreadable"


def _wanted(root: str, script: str, args: Sequence[str]) -> list[str]:
    listing = _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if not listing:
        return _without_git(root, script, args)
    found = {name for name in listing.split("\0") if name}
    script = os.path.realpath(script)
    found.add(os.path.relpath(script, root))
    for named in _named_paths(root, script, args):
        found.update(_walk(root, named))
    # A submodule or a nested repository is listed as one folder.
    nested = [name for name in found if os.path.isdir(os.path.join(root, name))]
    for name in nested:
        found.discard(name)
        found.update(_walk(root, name.rstrip("/")))
    return sorted(found)


def _without_git(root: str, script: str, args: Sequence[str]) -> list[str]:
    """The whole folder; of one that is too big, the Python files beside the script and what is
    named.
    """
    if root not in _wide_folders():
        everything = list(itertools.islice(_walk(root), _COUNT_CAP + 1))
        if len(everything) <= _COUNT_CAP:
            return sorted(everything)
    script = os.path.realpath(script)
    folder = os.path.dirname(script)
    found = {os.path.relpath(script, root)}
    for entry in os.scandir(folder):
        name = os.path.relpath(entry.path, root)
        if entry.name.endswith(".py") or os.path.isfile(os.path.join(entry.path, "__init__.py")):
            found.update(_walk(root, name))
    for named in _named_paths(root, script, args):
        found.update(itertools.islice(_walk(root, named), _COUNT_CAP))
    return sorted(found)


def _named_paths(root: str, script: str, args: Iterable[str]) -> set[str]:
    """Existing paths below root that the script's text constants or its arguments name."""
    words = {part for arg in args for part in (arg, arg.partition("=")[2]) if part}
    try:
        with open(script, "rb") as file:
            tree = ast.parse(file.read())
    except (SyntaxError, ValueError, OSError):
        tree = ast.Module([], [])
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            words.add(node.value)
    found = set()
    for word in words:
        if not re.fullmatch(r"[^\0\n]{1,300}", word) or word in (".", "./", "/"):
            continue
        for base in {root, os.path.dirname(script)}:
            path = os.path.normpath(os.path.join(base, word))
            if path.startswith(root + os.sep) and os.path.exists(path):
                found.add(os.path.relpath(path, root))
    return found - {os.path.relpath(os.path.dirname(script), root)}


def _walk(root: str, below: str = "") -> Iterable[str]:
    top = os.path.join(root, below) if below else root
    if os.path.isfile(top):
        yield below
        return
    for folder, folders, files in os.walk(top):
        folders[:] = [
            name
            for name in folders
            if name not in _NEVER and not os.path.exists(os.path.join(folder, name, "pyvenv.cfg"))
        ]
        for name in files:
            yield os.path.relpath(os.path.join(folder, name), root)


def _git(folder: str, *args: str) -> str:
    """What git says, or nothing; settings of the repository that would run a program are switched
    off.
    """
    safe = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat"]
    try:
        done = subprocess.run(
            ["git", "-C", folder, *safe, *args],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return os.fsdecode(done.stdout) if done.returncode == 0 else ""
