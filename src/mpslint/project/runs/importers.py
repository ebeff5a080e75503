"""Who imports a file of a project, and which of its programs say only then which GPUs they see.

To ask for CUDA settles which GPUs a process sees. A module that asks while it is imported does so
before `main()` has set `CUDA_VISIBLE_DEVICES`, and the choice of who runs the program is lost.
"""

from __future__ import annotations

import ast
import os
from itertools import islice
from typing import TYPE_CHECKING

from mpslint.project.layout.import_texts import imported_modules, module_name
from mpslint.project.runs.far_imports import FarImports
from mpslint.records import NamedTuple
from mpslint.semantics.packages.environment import sets_variable
from mpslint.semantics.syntax.expressions import is_main_block
from mpslint.sources.files import spoken_path
from mpslint.sources.screening import imported_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects
    from mpslint.project.runs.imported_runs import ImportedRuns

_VARIABLE = "CUDA_VISIBLE_DEVICES"
_MOST_NEARBY = 256
"""So many files are looked at around one whose project nobody looks through."""


class _Known(NamedTuple):
    """What a project's files say, one look at each."""

    importing: dict[str, frozenset[bytes]]
    """The names on the lines by which each imports."""
    setting: dict[str, int]
    """The programs that say which GPUs they see when all is imported, with the row."""
    far: FarImports


class Importers:
    def __init__(self, projects: Projects, modules: Modules, runs: ImportedRuns) -> None:
        self._projects = projects
        self._modules = modules
        self._runs = runs
        self._known: dict[str, _Known] = {}
        self._imported: dict[str, bool] = {}
        self._late: dict[str, str] = {}
        self._nearby: dict[str, list[tuple[str, int]]] = {}
        """Programs around a folder that say late which GPUs they see."""

    def is_imported(self, path: str) -> bool:
        """Whether other files of the project seem to import the one at the absolute `path`."""
        if path not in self._imported:
            self._imported[path] = self._is_named_nearby(path) or any(
                self._imports(other, path) for other in self._naming(path)
            )
        return self._imported[path]

    def sees_gpus_late(self, path: str) -> str:
        """The place in a program that imports the file at the absolute `path`, or that leads to
        it, where it says which GPUs it sees, which is after that; empty: there is none. In a
        project that is too large to be looked through, a program nearby may be one that does not
        lead to the file."""
        known = self._of(path)
        if known is None:
            return self._set_nearby(path) if self._projects.has_head(path) else ""
        if path not in self._late:
            self._late[path] = next(
                (
                    f"{spoken_path(other)}, line {row}"
                    for other, row in known.setting.items()
                    if other != path and path in known.far.led_to(other)
                ),
                "",
            )
        return self._late[path]

    def _set_nearby(self, path: str) -> str:
        """The same of a file whose project is too large to be looked through: the place in a
        program beside it, above it or in a folder beside its own."""
        folder = os.path.dirname(path)
        if folder not in self._nearby:
            # The file itself may be one of two.
            self._nearby[folder] = list(islice(self._setting_around(folder), 2))
        for other, row in self._nearby[folder]:
            if other != path:
                return f"{spoken_path(other)}, line {row}"
        return ""

    def _setting_around(self, folder: str) -> Iterator[tuple[str, int]]:
        above = os.path.dirname(folder)
        folders = dict.fromkeys((folder, above, *_folders(above)))
        nearby = (other for one in folders for other in _modules_in(one))
        for other in islice(nearby, _MOST_NEARBY):
            row = self._set_late(other, self._modules.text(other) or b"")
            if row:
                yield other, row

    def _is_named_nearby(self, path: str) -> bool:
        folder, word = os.path.dirname(path), _name(path)
        # From its own folder, and from scripts above it.
        nearby = (*self._modules.beside(path), *self._modules.beside(folder + ".py"))
        return any(word in self._modules.imported_by(other) for other in nearby)

    def _naming(self, path: str) -> Iterator[str]:
        known, word = self._of(path), _name(path)
        for other, words in (known.importing if known is not None else {}).items():
            if word in words and other != path:
                yield other

    def _imports(self, other: str, path: str) -> bool:
        known = self._of(path)
        if path in self._runs.imports_of(other):
            return True
        return known is not None and path in known.far.named_by(other)

    def _of(self, path: str) -> _Known | None:
        whole = self._projects.of(path)
        if whole is None:
            return None
        if whole.head not in self._known:
            self._known[whole.head] = self._looked_at(whole.modules)
        return self._known[whole.head]

    def _looked_at(self, paths: tuple[str, ...]) -> _Known:
        importing, setting = {}, {}
        for path in paths:
            data = self._modules.text(path) or b""
            importing[path] = imported_words(data)
            row = self._set_late(path, data)
            if row:
                setting[path] = row

        def text_of(path: str) -> bytes:
            return self._modules.text(path) or b""

        def led_to(path: str) -> list[str]:
            return self._runs.led_to(path, text_of(path).decode("utf-8", "replace"))[0]

        return _Known(importing, setting, FarImports(paths, text_of, led_to))

    def _set_late(self, path: str, data: bytes) -> int:
        """The row in which a file sets the variable when it has imported its modules; 0: none."""
        if _VARIABLE.encode() not in data:
            return 0
        tree = self._modules.tree(path)
        if tree is None:
            return 0
        imports = [
            item.lineno
            for item in tree.body
            if isinstance(item, ast.Import | ast.ImportFrom) and self._is_of_project(path, item)
        ]
        first = min(imports, default=0)
        for item in tree.body:
            is_early = not isinstance(item, ast.FunctionDef | ast.ClassDef) and not (
                is_main_block(item)
            )
            row = sets_variable(item, _VARIABLE)
            if row and not (is_early and row < first):
                return row
        return 0

    def _is_of_project(self, path: str, item: ast.Import | ast.ImportFrom) -> bool:
        text = ast.unparse(item).encode()
        return any(
            self._modules.find(path, module)[0] is not None for module in imported_modules(text)
        )


def _name(path: str) -> bytes:
    """The name by which others would import a file."""
    return module_name(path).encode()


def _folders(above: str) -> list[str]:
    try:
        with os.scandir(above) as entries:
            return sorted(one.path for one in entries if one.is_dir(follow_symlinks=False))
    except OSError:
        return []


def _modules_in(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [os.path.join(folder, name) for name in names if name.endswith(".py")]
