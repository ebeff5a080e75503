"""Whether others install a project, so that they may use whatever has a public name in it.

A setup script alone says little: programs have one too, so that their own scripts find their
modules (`pip install -e .`). Whoever publishes a package writes how it is installed, by its name.
"""

from __future__ import annotations

import ast
import os
import re
from typing import TYPE_CHECKING

from mpslint.project.layout.whole import PROSE
from mpslint.project.published.installed import is_left_out
from mpslint.project.published.installed_commands import is_for_its_commands
from mpslint.semantics.syntax.expressions import keyword, last_name
from mpslint.semantics.syntax.paths import is_test

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Whole

_NAME = re.compile(
    rb"^[ \t]*name[ \t]*=[ \t]*[\"']?([A-Za-z0-9][\w.-]*)[\"']?[ \t]*(?:#.*)?$", re.M
)
"""What a distribution is called in `setup.cfg` and in `pyproject.toml`."""
_PARTS = re.compile(r"[-_.]+")
"""An index of packages takes these for one another."""
_INSTALLS = (
    rb"(?:\b(?:pip[\d.]*|conda|mamba|uv|poetry|pdm)\b[^\n]*\b(?:install|add)\b"
    rb"|\bgit\+|\bpypi\b)[^\n]*(?<![\w.-])%s(?![\w-]|\.(?!git\b|\s|$))"
)
"""A command that installs something by its name or from its repository, or a link to an index."""
_IMPORTS = rb"^[ \t>]*(?:from|import)[ \t]+%s\b"
"""A line of an example that is shown to others."""
_BUILDING = re.compile(
    rb"^[ \t]*\[(?:build-system|project|metadata|options"
    rb"|tool\.(?:poetry|flit|pdm|hatch|setuptools))\b",
    re.M,
)
"""A table for who builds a distribution. Other tools have their settings in the same files."""


class Published:
    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._known: dict[Whole, tuple[bool, tuple[str, ...]]] = {}
        self._left_out: dict[str, bool] = {}

    def is_for_others(self, whole: Whole) -> tuple[bool, tuple[str, ...]]:
        """Whether others install a project, as far as it can be told: one without a name, or
        without a text for people, may be anybody's; and the files that this rests on."""
        if not whole.is_built:
            return False, ()
        if whole not in self._known:
            self._known[whole] = self._asked(whole)
        return self._known[whole]

    def includes(self, whole: Whole, path: str) -> tuple[bool, tuple[str, ...]]:
        """The same of one module of a project, which may not be among what is installed."""
        if not whole.is_built or self.leaves_out(whole, path):
            return False, whole.folders
        return self.is_for_others(whole)

    def leaves_out(self, whole: Whole, path: str) -> bool:
        """Whether a module is certainly not among what is installed, or is there for who tests."""
        if is_test(path):
            return True
        folder = os.path.dirname(path)
        if folder not in self._left_out:
            self._left_out[folder] = is_left_out(whole.head, path)
        return self._left_out[folder]

    def _asked(self, whole: Whole) -> tuple[bool, tuple[str, ...]]:
        names, built = self._names(whole.head)
        if not self._builds(built):
            return False, ()
        prose = [path for path in whole.others if path.endswith(PROSE)]
        if not names or not prose:
            return True, ()
        spelled = b"|".join(rb"[-_.]+".join(map(re.escape, parts)) for parts in names)
        command = re.compile(_INSTALLS % (rb"(?:%s)" % spelled), re.I)
        folders = _packages(whole)
        packages = b"|".join(re.escape(os.path.basename(one).encode()) for one in folders)
        example = re.compile(_IMPORTS % (rb"(?:%s)" % packages), re.M) if packages else None
        if is_for_its_commands(self._modules, whole, built, folders):
            return False, ()
        for path in prose:
            text = self._modules.text(path) or b""
            if command.search(text) or (example is not None and example.search(text)):
                return True, (*whole.folders, *built, path)
        return False, ()

    def _builds(self, built: tuple[str, ...]) -> bool:
        """Whether one of the files that may say how a project is built does: a `pyproject.toml`
        with the settings of a formatter makes no distribution."""
        texts = {path: self._modules.text(path) or b"" for path in built}
        return any(
            bool(text) if path.endswith(".py") else _BUILDING.search(text) is not None
            for path, text in texts.items()
        )

    def _names(self, head: str) -> tuple[frozenset[tuple[bytes, ...]], tuple[str, ...]]:
        """What a project is called where it is installed; and the files that say so."""
        files = [os.path.join(head, name) for name in ("pyproject.toml", "setup.cfg", "setup.py")]
        found: set[str] = set()
        for path in files[:2]:
            data = self._modules.text(path) or b""
            found.update(match.decode("utf-8", "replace") for match in _NAME.findall(data))
        tree = self._modules.tree(files[2]) if self._modules.text(files[2]) else None
        if tree is not None:
            name = _given_name(tree)
            found.update(() if name is None else (name,))
        parts = {tuple(item.encode() for item in _PARTS.split(name)) for name in found}
        return frozenset(parts), tuple(files)


def _packages(whole: Whole) -> list[str]:
    """The folders of the packages at the head of a project, or in its `src`."""
    above = {whole.head, os.path.join(whole.head, "src")}
    folders = (os.path.dirname(path) for path in whole.modules if path.endswith("__init__.py"))
    return sorted(folder for folder in folders if os.path.dirname(folder) in above)


def _given_name(tree: ast.Module) -> str | None:
    """The name that a setup script gives its distribution, where it is written out."""
    texts = {
        target.id: item.value
        for item in tree.body
        if isinstance(item, ast.Assign)
        for target in item.targets
        if isinstance(target, ast.Name)
    }
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and last_name(call.func) == "setup":
            given = keyword(call, "name")
            if isinstance(given, ast.Name):
                given = texts.get(given.id)
            if isinstance(given, ast.Constant) and isinstance(given.value, str):
                return given.value
    return None
