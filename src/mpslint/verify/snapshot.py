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
import tempfile
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from mpslint.folders import git, gitignore
from mpslint.sources.files import files_below, read_regular
from mpslint.verify.sandbox.process import SHARED_SCRATCH

SIZE_CAP = 2 << 30
_COUNT_CAP = 50_000
_SCRIPT_CAP = 16 << 20
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
    repository = git.find(folder)
    tracked = None if repository is None else _tracked(repository)
    if repository is None or tracked is None:
        around = [os.path.realpath(path) for path in python_path] + [_reached_from(script)]
        around = [path for path in around if (folder + os.sep).startswith(path + os.sep)]
        return min({*around} - _wide_folders(), key=len, default=folder)
    ignored = os.path.relpath(os.path.realpath(script), repository.top) not in tracked
    if ignored:
        known = gitignore.above(folder, _silent)
        known = gitignore.extended(known, folder, _silent)
        ignored = known is not None and known.ignored(os.path.realpath(script), False)
    return folder if ignored or repository.top in _wide_folders() else repository.top


def _silent(_: str) -> None:
    """The copy is made of the same ignore files, and says then which it could not read."""


def _tracked(repository: git.Repository) -> set[str] | None:
    """What git tracks; None where it does not answer, so that there is no repository for us."""
    try:
        return set(repository.tracked())
    except git.GitFailed:
        return None


def _reached_from(script: str) -> str:
    """The outermost folder that a script names by `../` in its texts; its own where it does not."""
    folder = os.path.dirname(os.path.realpath(script))
    try:
        text = read_regular(script, _SCRIPT_CAP).decode("utf-8", "replace")
        texts = re.findall(r"""["']((?:\.\./)+)""", text)
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
    for relative in _wanted(root, script, args, left_out.append):
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
        # The link can be a folder on the way: git tracks what lay there when it was none.
        if not real.startswith(root.rstrip(os.sep) + os.sep):
            return "a symbolic link to outside"
        if ".git" in os.path.relpath(real, root).split(os.sep):
            return "a symbolic link into a repository's own files"
        return None if stat.S_ISREG(os.stat(source).st_mode) else "not a regular file"
    except OSError as error:
        return error.strerror or "unreadable"


def _wanted(root: str, script: str, args: Sequence[str], warn: Callable[[str], None]) -> list[str]:
    found = _not_ignored(root, warn)
    if not found:
        return _without_git(root, script, args)
    script = os.path.realpath(script)
    found.add(os.path.relpath(script, root))
    for named in _named_paths(root, script, args):
        found.update(_walk(root, named))
    # A submodule or a nested repository is listed as one folder.
    nested = [name for name in found if os.path.isdir(os.path.join(root, name))]
    for name in nested:
        if _refuse(os.path.join(root, name), root) == "not a regular file":
            found.discard(name)
            found.update(_walk(root, name))
    return sorted(found)


def _not_ignored(root: str, warn: Callable[[str], None]) -> set[str]:
    """What git tracks below `root`, and what it neither tracks nor ignores; nothing where there is
    no repository. Nested repositories are named as folders."""
    repository = git.find(root)
    tracked = None if repository is None else _tracked(repository)
    if repository is None or tracked is None:
        return set()
    paths = (os.path.join(repository.top, name) for name in tracked)
    found = {os.path.relpath(path, root) for path in paths if path.startswith(root + os.sep)}
    ignores = {root: gitignore.extended(gitignore.above(root, warn), root, warn)}

    def enter(folder: str) -> bool:
        if os.path.basename(folder) == ".git" or _ignored(ignores, folder, True):
            return False
        if os.path.lexists(os.path.join(folder, ".git")):
            found.add(os.path.relpath(folder, root))
            return False
        ignores[folder] = gitignore.extended(ignores[os.path.dirname(folder)], folder, warn)
        return True

    for path in itertools.islice(files_below(root, enter), 2 * _COUNT_CAP):
        if os.path.basename(path) != ".git" and not _ignored(ignores, path, False):
            found.add(os.path.relpath(path, root))
    return found


def _ignored(ignores: dict[str, gitignore.Ignores | None], path: str, is_folder: bool) -> bool:
    known = ignores[os.path.dirname(path)]
    return known is not None and known.ignored(path, is_folder)


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
        tree = ast.parse(read_regular(script, _SCRIPT_CAP))
    except (SyntaxError, ValueError, OSError, RecursionError, MemoryError):
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
    for path in files_below(top, _is_own):
        yield os.path.relpath(path, root)


def _is_own(folder: str) -> bool:
    """Whether a folder is none that tools make."""
    name = os.path.basename(folder)
    return name not in _NEVER and not os.path.exists(os.path.join(folder, "pyvenv.cfg"))


def special_files(folder: str, names: list[str]) -> list[str]:
    """Pipes, sockets and devices among `names`, which cannot be copied (for `shutil.copytree`)."""
    kinds = {name: os.lstat(os.path.join(folder, name)).st_mode for name in names}
    plain = (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK)
    return [name for name, mode in kinds.items() if stat.S_IFMT(mode) not in plain]
