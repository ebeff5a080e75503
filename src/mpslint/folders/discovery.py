"""Which files a command is about: paths named outright, and Python files and notebooks below
folders.

Folders are walked in order of name without following symlinks to folders (so a loop cannot
catch the walk); what `.gitignore` or `exclude` names is left out. A path named outright is
always taken, unless `force-exclude` says otherwise.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.errors import MpslintError, reason_of
from mpslint.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from mpslint.folders.gitignore import Ignores
    from mpslint.settings.file import SettingsFinder
    from mpslint.settings.settings import Settings

SUFFIXES = (".py", ".ipynb")
"""The files that a walk takes up."""


class Target(NamedTuple):
    path: str
    settings: Settings
    named: bool
    """Given on the command line itself, not found below a folder."""


class NoSuchPath(MpslintError):
    """A path on the command line that is not there."""


def targets(
    paths: Sequence[str], finder: SettingsFinder, warn: Callable[[str], None]
) -> Iterator[Target]:
    """The files to look at, each once. Raises `NoSuchPath` and `BadSettings`.

    `warn` gets one line for each folder that cannot be read; the walk goes on.
    """
    links: list[Target] = []
    found = _all(paths, finder, warn, links)
    if len(paths) > 1:
        found = _each_once(found)
    taken = []
    for target in found:
        taken.append(target.path)
        yield target
    if links:
        # A link to a file that is taken already must not be fixed a second time.
        seen = {os.path.realpath(path) for path in taken}
        for target in links:
            if (key := os.path.realpath(target.path)) not in seen:
                seen.add(key)
                yield target


def _each_once(found: Iterator[Target]) -> Iterator[Target]:
    seen: set[str] = set()
    for target in found:
        if (key := os.path.abspath(target.path)) not in seen:
            seen.add(key)
            yield target


def _all(
    paths: Sequence[str],
    finder: SettingsFinder,
    warn: Callable[[str], None],
    links: list[Target],
) -> Iterator[Target]:
    for path in paths:
        if os.path.isdir(path):
            linked, empty = len(links), True
            for target in _walk(os.path.normpath(path), finder, warn, links):
                empty = False
                yield target
            if empty and len(links) == linked:
                warn(f"{path}: no Python file or notebook found that is not excluded")
        elif os.path.lexists(path):
            settings = finder.for_file(path)
            if not left_out(path, settings):
                yield Target(os.path.normpath(path), settings, True)
        else:
            raise NoSuchPath(f"{path or repr(path)}: no such file or folder")


def _walk(
    top: str, finder: SettingsFinder, warn: Callable[[str], None], links: list[Target]
) -> Iterator[Target]:
    """The Python files below `top`; those that are symlinks go to `links`."""
    settings = finder.for_folder(top)
    if left_out(top, settings):
        return
    ignores: Ignores | None = None
    if settings.respect_gitignore:
        from mpslint.folders.gitignore import above

        ignores = above(top, warn)
    excluded, excluded_by = _excluder(settings), settings
    stack: list[tuple[str, Ignores | None]] = [(top, ignores)]
    while stack:
        folder, ignores = stack.pop()
        try:
            with os.scandir(folder) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            warn(f"{folder}: cannot be listed: {reason_of(error)}")
            continue
        settings = finder.for_folder(folder)
        if settings.respect_gitignore and any(entry.name == ".gitignore" for entry in entries):
            from mpslint.folders.gitignore import extended

            ignores = extended(ignores, folder, warn)
        if settings is not excluded_by:
            excluded, excluded_by = _excluder(settings), settings
        folders = []
        for entry in entries:
            try:
                is_folder = entry.is_dir(follow_symlinks=False)
                is_file = not is_folder and entry.name.endswith(SUFFIXES) and entry.is_file()
            except OSError:
                continue
            if not (is_folder or is_file) or excluded(entry.name, entry.path):
                continue
            if ignores is not None and ignores.ignored(entry.path, is_folder):
                continue
            if is_folder:
                folders.append((_plain(entry.path), ignores))
            elif entry.is_symlink():
                links.append(Target(_plain(entry.path), settings, False))
            else:
                yield Target(_plain(entry.path), settings, False)
        stack.extend(reversed(folders))


def _plain(path: str) -> str:
    return path[2:] if path.startswith("./") else path


def _excluder(settings: Settings) -> Callable[[str, str], bool]:
    """A test of (base name, path): plain names by a set, the rest by their globs."""
    patterns = (*settings.exclude, *settings.extend_exclude)
    names = {pattern.strip("/") for pattern in patterns if not _is_glob(pattern)}
    globs = [pattern for pattern in patterns if _is_glob(pattern)]

    def excluded(name: str, path: str) -> bool:
        return name in names or any(_matches(path, glob, settings.root) for glob in globs)

    return excluded


def _is_glob(pattern: str) -> bool:
    return any(char in pattern for char in "*?[") or "/" in pattern.strip("/")


def _matches(path: str, glob: str, root: str) -> bool:
    from mpslint.settings.selectors import matches

    glob = glob.rstrip("/")
    return matches(path, glob.removesuffix("/**"), root) or matches(path, glob, root)


def left_out(path: str, settings: Settings) -> bool:
    """Whether a file that is named outright is excluded all the same."""
    return settings.force_exclude and excluded_by_path(path, settings)


def excluded_by_path(path: str, settings: Settings, top: str = ".") -> bool:
    """Whether the path, or a folder above it up to the settings' root, is excluded.

    Without a settings file the folder `top` stands for that root.
    """
    excluded = _excluder(settings)
    root = os.path.abspath(settings.root or top)
    current = os.path.abspath(path)
    while current not in (root, os.path.dirname(current)):
        if excluded(os.path.basename(current), current):
            return True
        current = os.path.dirname(current)
    return False


def leads_out(path: str, named: Iterable[str]) -> str | None:
    """Why a link found in a named folder is not to be written through: it leads to where nobody
    named anything. None where it does not, or is no link."""
    if not os.path.islink(path):
        return None
    target = os.path.realpath(path)
    folders = (os.path.join(os.path.realpath(name), "") for name in named)
    if target.startswith(tuple(folders)):
        return None
    return f"a link to {target}, which lies outside of what was named; name it to have it changed"
