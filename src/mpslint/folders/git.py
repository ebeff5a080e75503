"""Ask git about a repository without running anything that the repository brings.

Every call of git goes through `Repository`. A repository's own configuration can name programs:
file monitors, hooks, filters, drivers of diffs, helpers of remotes from which missing objects are
fetched, and all that files which it includes name. What it names is switched off here, by settings
of the command itself, which go over those of any file, or by variables that go over both. Settings
whose names the repository makes up (filters, drivers) are asked for first and emptied one by one.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mpslint.errors import MpslintError, reason_of
from mpslint.records import NamedTuple

_SECONDS = 60.0
_SETTINGS = {
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.pager": "cat",
    "core.sshCommand": "false",
    "core.gitProxy": "",
    "core.askPass": "",
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.quotePath": "false",
    "core.alternateRefsCommand": "",
    "core.preloadIndex": "false",
    "credential.helper": "",
    "diff.external": "",
    "diff.ignoreSubmodules": "all",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",
    "submodule.recurse": "false",
}
_VARIABLES = {
    # Goes over `protocol.NAME.allow` of the repository, which would go over `protocol.allow`.
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
}
_KEPT = ("HOME", "XDG_CONFIG_HOME", "USERPROFILE", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP")
_INDEX = "GIT_INDEX_FILE"
"""The one variable of git that is handed on: in a commit hook it names what is being committed."""
_NAMED = (
    r"^(filter\..*\.(clean|smudge|process|required)|diff\..*\.(command|textconv|trustexitcode))$"
)
_QUIET = ("--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=all")
_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


class GitFailed(MpslintError):
    """git is not there, refused, or took too long; one line."""


class Rows(NamedTuple):
    """A run of rows of a file as it is now, counted from 1; `length` 0: something is gone there."""

    start: int
    length: int


def find(path: str) -> Repository | None:
    """The repository in whose work tree an existing file or folder lies, without asking git."""
    folder = os.path.realpath(path)
    while True:
        if _is_repository(os.path.join(folder, ".git")):
            return Repository(folder)
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def repository_of(folder: str) -> Repository:
    """The repository in whose work tree `folder` lies. Raises `GitFailed`."""
    found = find(folder)
    if found is None:
        raise GitFailed(f"{folder}: in no git repository")
    return found


def is_blob(data: bytes, blob: str) -> bool:
    """Whether `blob` is the object of just these bytes."""
    kind = hashlib.sha256 if len(blob) == 64 else hashlib.sha1
    return kind(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest() == blob


def _is_repository(place: str) -> bool:
    return os.path.isfile(place) or os.path.isfile(os.path.join(place, "HEAD"))


class Repository:
    """The repository whose work tree is the folder `top` (a real path).

    Everything raises `GitFailed` where git gives no answer.
    """

    def __init__(self, top: str) -> None:
        self.top = top
        self._emptied: dict[str, str] | None = None

    def tracked(self) -> list[str]:
        """The files that git tracks, relative to `top`, as the index has them; they may be gone,
        and a submodule is one of them."""
        return self._names(["ls-files", "-z", "--cached"])

    def commit(self, name: str) -> str:
        """The full name of the commit that `name` (a branch, a tag, `HEAD~2`) means."""
        arguments = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
        found = b"" if not name or "\0" in name else self._ask(arguments, allowed=(0, 1, 128))
        if not found.strip():
            raise GitFailed(f"{name!r} names no commit of {self.top}; fetch it, or name another")
        return os.fsdecode(found).strip()

    def merge_base(self, one: str, two: str = "HEAD") -> str:
        """The commit from which two lines of work went apart."""
        found = self._ask(["merge-base", self.commit(one), self.commit(two)], allowed=(0, 1))
        if not found:
            raise GitFailed(
                f"{one!r} and {two} have no commit in common in {self.top}; fetch more history (in "
                "GitHub Actions `fetch-depth: 0`)"
            )
        return os.fsdecode(found).strip()

    def blobs(self, commit: str) -> dict[str, str]:
        """The object of each file in `commit`, by its path from the top."""
        found = {}
        for entry in self._names(["ls-tree", "-r", "-z", "--full-tree", commit]):
            about, _, path = entry.partition("\t")
            found[path] = about.split()[2]
        return found

    def renamed(self, commit: str) -> dict[str, str]:
        """The path that a file had in `commit`, by that in the index, where the two differ."""
        options = ("--cached", "--name-status", "-z", "--find-renames", "--diff-filter=R")
        command = ["diff-index", *_QUIET, *options, commit, "--"]
        parts = iter(self._names(command, self._programs()))
        return {new: old for _, old, new in zip(parts, parts, parts, strict=False)}

    def content(self, blob: str) -> bytes:
        """The bytes of an object that is a file."""
        return self._ask(["cat-file", "blob", blob])

    def changed_rows(self, before: str, after: str) -> list[Rows]:
        """The rows of the text `after` that `before` has not, by git's own comparison."""
        if before == after:
            return []
        with tempfile.TemporaryDirectory(prefix="mpslint-") as folder:
            for name, text in (("before", before), ("after", after)):
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(_plain(text))
            command = ["diff", "--no-index", *_QUIET, "--unified=0", "--text", "before", "after"]
            patch = self._ask(command, allowed=(0, 1), beside=folder)
        return list(_rows(patch))

    def _names(self, arguments: Sequence[str], more: Mapping[str, str] | None = None) -> list[str]:
        return [os.fsdecode(name) for name in self._ask(arguments, more).split(b"\0") if name]

    def _programs(self) -> dict[str, str]:
        """Settings that empty the filters and drivers which the configuration names."""
        if self._emptied is None:
            arguments = ["config", "--includes", "--null", "--name-only", "--get-regexp", _NAMED]
            said = self._ask(arguments, allowed=(0, 1))  # 1: there are none
            self._emptied = {}
            for key in os.fsdecode(said).split("\0"):
                if "=" in key:
                    # A setting of the command ends its name at the first of them.
                    raise GitFailed(f"{self.top}: the repository's setting {key!r} is not for us")
                if key:
                    switch = key.endswith((".required", ".trustexitcode"))
                    self._emptied[key] = "false" if switch else ""
        return self._emptied

    def _ask(
        self,
        arguments: Sequence[str],
        more: Mapping[str, str] | None = None,
        allowed: Iterable[int] = (0,),
        beside: str | None = None,
    ) -> bytes:
        """What git says; asked in the folder `beside` the repository, where one is given."""
        git = _git_outside(self.top)
        if git is None:
            raise GitFailed("git is not installed")
        settings = {**_SETTINGS, **(more or {})}
        given = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        try:
            done = subprocess.run(
                [git, "--no-pager", "--literal-pathspecs", *given, *arguments],
                cwd=beside or self.top,
                env=self._environment(beside),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise GitFailed(f"{self.top}: git gave no answer in {_SECONDS:g} s") from None
        except (OSError, ValueError) as error:
            reason = reason_of(error) if isinstance(error, OSError) else str(error)
            raise GitFailed(f"{self.top}: git cannot be run: {reason}") from None
        if done.returncode not in allowed:
            lines = os.fsdecode(done.stderr).strip().splitlines() or ["no reason given"]
            why = lines[-1].removeprefix("fatal: ")
            raise GitFailed(f"{self.top}: git {arguments[0]} failed: {why}")
        return done.stdout

    def _environment(self, beside: str | None) -> dict[str, str]:
        """Of ours only where the user's own settings lie; of git's only the index of a hook."""
        names = _KEPT if beside else (*_KEPT, _INDEX)
        kept = {name: os.environ[name] for name in names if name in os.environ}
        kept["PATH"] = os.pathsep.join(_search_path(self.top))
        # Not higher up, and not where the repository says that its work tree is.
        kept["GIT_CEILING_DIRECTORIES"] = os.path.dirname(os.path.realpath(beside or self.top))
        if not beside:
            kept["GIT_WORK_TREE"] = self.top
        return kept | _VARIABLES


def _search_path(top: str) -> list[str]:
    """The folders of PATH but for those that mean another place in each folder, or lie in the
    repository."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    inside = top.rstrip(os.sep) + os.sep
    return [
        folder
        for folder in folders
        if os.path.isabs(folder) and not (os.path.realpath(folder) + os.sep).startswith(inside)
    ]


def _git_outside(top: str) -> str | None:
    for folder in _search_path(top):
        for name in ("git", "git.exe"):
            program = os.path.join(folder, name)
            if os.path.isfile(program) and os.access(program, os.X_OK):
                return program
    return None


def _plain(text: str) -> bytes:
    """One newline for all, so that a checkout with others is no change."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return (text if text.endswith("\n") else text + "\n").encode("utf-8", "surrogatepass")


def _rows(patch: bytes) -> Iterator[Rows]:
    """The rows that a patch of one file, without context, adds or changes.

    Content is counted over, since it can look like a header.
    """
    content = 0
    for line in patch.split(b"\n"):
        if content:
            content -= 1
        elif hunk := _HUNK.match(line):
            gone, start, count = int(hunk[1] or 1), int(hunk[2]), int(hunk[3] or 1)
            content = gone + count
            yield Rows(start, count)
