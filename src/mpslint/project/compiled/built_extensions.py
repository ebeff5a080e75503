"""Modules that a project compiles for CUDA alone, by one of its setup scripts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.project.compiled.extensions import built_by, built_for_cuda
from mpslint.project.layout.modules import is_foreign
from mpslint.project.layout.setup_texts import setup_text
from mpslint.sources.reading import ABSENT

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects

_UP = 4
"""So many folders up from a module its own setup script is looked for."""


def _place(path: str, module: str) -> str:
    """A module as the file at the absolute `path` names it, by the folders in which it is looked
    for where it is told by dots."""
    body = module.lstrip(".")
    if body == module:
        return f".{module}"
    folder = os.path.dirname(path)
    for _ in range(len(module) - len(body) - 1):
        folder = os.path.dirname(folder)
    return ".".join((*folder.split(os.sep), body))


class BuiltExtensions:
    def __init__(self, modules: Modules, projects: Projects) -> None:
        self._modules = modules
        self._projects = projects
        self._elsewhere: dict[tuple[str, ...], frozenset[str]] = {}
        self._known: dict[tuple[str, str], tuple[bool, tuple[str, ...]]] = {}
        """By the folder of the file that names a module, and its name."""
        self._setups: dict[str, tuple[bytes, tuple[str, ...]]] = {}
        self._parts: dict[tuple[str, str], tuple[str | None, tuple[str, ...]]] = {}

    def _setup(self, script: str) -> tuple[bytes, tuple[str, ...]]:
        if script not in self._setups:
            self._setups[script] = setup_text(self._modules, script)
        return self._setups[script]

    def is_for_cuda(self, path: str, module: str) -> tuple[bool, tuple[str, ...]]:
        """Whether a module that is no file of the project, as the file at the absolute `path` names
        it, is compiled for CUDA alone; and the scripts that were looked at, or for."""
        key = os.path.dirname(path), module
        if key not in self._known:
            self._known[key] = self._asked(path, module)
        return self._known[key]

    def installed(self, path: str, module: str) -> tuple[str | None, tuple[str, ...]]:
        """The file of a module that Python finds once a part of the project is installed, whose
        package lies beside a setup script of its own; and the files that were looked for."""
        key = os.path.dirname(path), module
        if key not in self._parts:
            self._parts[key] = self._part(path, module)
        return self._parts[key]

    def _part(self, path: str, module: str) -> tuple[str | None, tuple[str, ...]]:
        parts = module.split(".")
        looked: list[str] = []
        scripts = self._projects.setup_scripts(path)
        places = [
            place
            for folder in dict.fromkeys(map(os.path.dirname, scripts))
            for place in (folder, os.path.join(folder, "src"))
        ]
        roots = self._modules.roots(path) if places else []
        for place in places:
            if place in roots:
                continue  # There it has been looked for.
            own = os.path.join(place, parts[0])
            looked += (own, f"{own}.py")
            if all(self._modules.sign(one) == ABSENT for one in looked[-2:]):
                continue
            base = os.path.join(place, *parts)
            for candidate in (os.path.join(base, "__init__.py"), f"{base}.py"):
                looked.append(candidate)
                if self._modules.text(candidate) is not None:
                    return candidate, tuple(looked)
        return None, tuple(looked)

    def _asked(self, path: str, module: str) -> tuple[bool, tuple[str, ...]]:
        name = module.rpartition(".")[2]
        if not name or is_foreign(module):
            return False, ()
        looked: list[str] = []
        folder = os.path.dirname(path)
        for _ in range(_UP):
            script = os.path.join(folder, "setup.py")
            data, more = self._setup(script)
            looked += more
            if name in built_for_cuda(data):
                return True, tuple(looked)
            if folder in self._modules.roots(path):
                break
            folder = os.path.dirname(folder)
        scripts = self._projects.setup_scripts(path)
        place = _place(path, module)
        built = self._built_by(scripts)
        # One that is built as `ops._ext` is put into a package of this name, wherever that lies.
        found = module in built or any("." in one and place.endswith(f".{one}") for one in built)
        # Of `from steps import to_cuda` nothing says that it is a module.
        found = found or (name == module and self._is_called_so(scripts, name))
        helpers = (one for script in scripts for one in self._setup(script)[1])
        return found, (*looked, *helpers)

    def for_cuda_alone(self, path: str) -> tuple[frozenset[str], bool, tuple[str, ...]]:
        """The whole names of the modules that the project of a file builds for CUDA, whether it
        builds any in another way as well, and the scripts that say so."""
        scripts = self._projects.setup_scripts(path)
        otherwise = any(built_by(self._setup(script)[0])[1] for script in scripts)
        helpers = (one for script in scripts for one in self._setup(script)[1])
        return self._built_by(scripts), otherwise, (*scripts, *helpers)

    def _is_called_so(self, scripts: tuple[str, ...], name: str) -> bool:
        """Whether a module is one for CUDA by its name, that others build: `voxelize_cuda`."""
        if not matches("kernel-names", name):
            return False
        built = (built_by(self._setup(script)[0])[1] for script in scripts)
        return not any(one.rpartition(".")[2] == name for names in built for one in names)

    def _built_by(self, scripts: tuple[str, ...]) -> frozenset[str]:
        """The modules, by their whole names, that some of these scripts build for CUDA, and none
        in another way. A part of a project is installed for all of it."""
        if scripts not in self._elsewhere:
            built = [built_by(self._setup(script)[0]) for script in scripts]
            for_cuda = frozenset().union(*(names for names, _ in built))
            self._elsewhere[scripts] = for_cuda.difference(*(names for _, names in built))
        return self._elsewhere[scripts]
