"""The files that programs of a run are made of: what each leads to, and what is in doubt in it.

Beside what imports name: a notebook's cells, and the modules of a folder of which a program imports
one by a name that it puts together (`import_module("model." + args.model)`).
"""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from mpslint.errors import MpslintError
from mpslint.halfway import (
    device_arrays,
    scaled_steps,
    taken_home,
    understood_packages,
    weight_reads,
    wide_batches,
    wide_moves,
)
from mpslint.halfway.data_sets import DataSets
from mpslint.halfway.kept_arrays import KeptArrays
from mpslint.halfway.other_files import OtherFiles
from mpslint.halfway.returned_arrays import ReturnedArrays
from mpslint.halfway.unread_steps import OF_CUDA, Steps, beginning, cuda_objects
from mpslint.project.layout.modules import INSTALLING
from mpslint.project.runs.far_imports import FarImports
from mpslint.records import NamedTuple
from mpslint.semantics.syntax.node_kinds import of_kinds
from mpslint.semantics.wide.late_casts import may_cast_late
from mpslint.semantics.worlds.machines import MACS
from mpslint.sources.opening import is_notebook, open_source, spoken_line

if TYPE_CHECKING:
    from mpslint.halfway.ways import Name
    from mpslint.project.project import Project
    from mpslint.sources.source import SourceFile

_BY_CALL = (b"import_module", b"__import__")
_OF_TODAY = (2, 0)
"""Who has an older torch has older releases of other packages, which did things otherwise."""
_MOST_CHOSEN = 64
"""A folder of more modules is not followed."""


class Doubt(NamedTuple):
    """A row in which a file does what nobody understands."""

    row: int
    text: str
    only_if_ran: bool = False
    """It would raise for a tensor of CUDA's as well, or may raise for none."""
    beside: Name | None = None
    """It is so in programs alone that run this part, too."""
    at: int = 0
    """The row of the move itself, which a function makes that is called in `row`."""
    splits: bool = False
    """What it tells of is known, where tensors come to MPS."""


class ProgramFiles:
    def __init__(
        self,
        project_of: Callable[[str], Project],
        paths: Iterable[str],
        texts: Mapping[str, bytes] | None = None,
    ) -> None:
        """`paths` are the absolute ones of the files of a run, and `project_of` gives the project
        of each; `texts` stand in place of what is on disk."""
        self._project_of = project_of
        self._paths = tuple(paths)
        self._texts = texts or {}
        self._notebooks: dict[str, SourceFile | None] = {}
        self._chosen: dict[str, list[str]] = {}
        self._led_to: dict[str, list[str]] = {}
        self._far = FarImports(self._paths, self.text_of, self._near, self._is_installed)
        self._data_sets = DataSets(self)
        self._returned = ReturnedArrays(self, self._data_sets)
        self._kept = KeptArrays(self)
        self._others = OtherFiles(self)
        self._own: dict[tuple[str, str], bool | None] = {}

    def text_of(self, path: str) -> bytes:
        """The Python of a file."""
        if path in self._texts:
            return self._texts[path]
        if is_notebook(path):
            source = self._notebook(path)
            return source.data if source is not None else b""
        return self._project_of(path).modules.text(path) or b""

    def tree_of(self, path: str) -> ast.Module | None:
        if not is_notebook(path):
            return self._project_of(path).modules.tree(path)
        source = self._notebook(path)
        try:
            return source.parse() if source is not None else None
        except (MpslintError, RecursionError):
            return None

    def led_to(self, path: str) -> list[str]:
        """The modules that a file imports, and they in turn."""
        return self._far.led_to(path)

    def users(self, path: str) -> list[str]:
        """The files of the run that lead to a file."""
        return [one for one in self._paths if one != path and path in self.led_to(one)]

    def around(self, path: str) -> Iterable[str]:
        """The modules of the project of a file."""
        return self._project_of(path).modules_around(path)

    def imports_on(self, path: str, module: str) -> int:
        """The worlds in which a file can import a module."""
        return self._project_of(path).imports_on(path, module)

    def doubts(self, path: str, tree_of: Callable[[], ast.Module | None]) -> list[Doubt]:
        """What a file does that nobody understands. Its tree is asked for where its text may hold
        something of the kind, and gone through once."""
        text = self.text_of(path)
        doubtful = understood_packages.doubtful_modules(
            text,
            lambda module: self._is_own(path, module),
            lambda module: self._project_of(path).is_missing(path, module),
        )
        # What no Mac can import no Mac's tensor comes to.
        near = {
            module: why for module, why in doubtful.items() if self.imports_on(path, module) & MACS
        }
        steps = Steps(text) if b"torch" in text else None
        is_read = device_arrays.may_be_read(text)
        kinds = steps.kinds if steps is not None else frozenset()
        if near:
            kinds |= understood_packages.KINDS
        if is_read:
            kinds |= device_arrays.KINDS
        has_weights = weight_reads.may_read(text)
        if has_weights:
            kinds |= weight_reads.KINDS
        is_scaled = scaled_steps.may_scale(text)
        if is_scaled:
            kinds |= scaled_steps.KINDS
        is_taken = b"torch" in text and taken_home.may_take(text)
        if is_taken:
            kinds |= taken_home.KINDS
        wide = self._data_sets.around(path) if wide_batches.may_take(text) else {}
        if wide:
            kinds |= wide_batches.KINDS
        returned = self._returned.around(path) if b"torch" in text else {}
        kept = self._kept.around(path)
        moves = wide_moves.may_move(text)
        is_late = may_cast_late(text)
        tree = tree_of() if kinds or returned or kept or moves or is_late else None
        if tree is None:
            return []
        nodes = of_kinds(tree, kinds)
        found: list[tuple[int, str]] = []
        if near:
            others = self._others.around(path)
            newest = self._project_of(path).newest_torch
            is_of_today = newest is None or newest >= _OF_TODAY
            found += understood_packages.uses(tree, nodes, near, others, is_of_today=is_of_today)
        if steps is not None:
            found += steps.rows(text, nodes)
        if is_scaled:
            found += scaled_steps.unscaled(nodes)
        doubts = [Doubt(*one) for one in found]
        if is_read:
            host = device_arrays.read_on_host(tree, nodes)
            doubts += [Doubt(*one, only_if_ran=True) for one in host]
        if is_taken:
            for row, told, name in taken_home.taken(nodes):
                users = map(self.tree_of, (path, *self._naming(path, name)))
                again = any(taken_home.is_made_again(one, name) for one in users)
                doubts.append(Doubt(row, told, only_if_ran=True, splits=again))
        if has_weights:
            doubts += [Doubt(*one, only_if_ran=True) for one in weight_reads.read(nodes)]
        if wide:
            doubts += [Doubt(*one) for one in self._data_sets.taken(path, tree, nodes, wide)]
        if moves:
            doubts += [Doubt(*one) for one in wide_moves.wide_moves(tree)]
        if is_late:
            doubts += [Doubt(*one, only_if_ran=True) for one in wide_moves.late_moves(tree)]
        if returned:
            taken = self._returned.taken(path, tree, returned)
            doubts += [Doubt(row, text, at=at) for row, text, at in taken]
        doubts += [Doubt(*one) for one in self._kept.taken(tree, kept)] if kept else []
        return doubts

    def _naming(self, path: str, name: str) -> tuple[str, ...]:
        """The files of the run that lead to a file, and hold a name."""
        return self.holding(path, tuple(self.users(path)), name.encode())

    def file_of(self, path: str, module: str) -> str | None:
        """The file of a module as the file at `path` names it."""
        return self._project_of(path).modules.find(path, module)[0]

    def others(self, path: str) -> tuple[str, ...]:
        """The files around the one at `path`, and of the run."""
        every = dict.fromkeys((*self._paths, *self.around(path)))
        return tuple(one for one in every if one != path)

    def holding(self, path: str, files: tuple[str, ...], word: bytes) -> tuple[str, ...]:
        """Those of some files that hold a word by itself."""
        return self._project_of(path).modules.holding_alone(files, word)

    def line_of(self, path: str, row: int) -> str:
        """A row as people read it."""
        source = self._notebook(path) if is_notebook(path) else None
        if source is None:
            return f"line {row}"
        return spoken_line(source, source.starts[min(row, len(source.starts)) - 1])

    def ends(
        self, path: str, tree_of: Callable[[], ast.Module | None]
    ) -> Iterator[tuple[int, str]]:
        """The rows in which a file ends without CUDA, of which no rule tells."""
        text = self.text_of(path)
        if b"torch.cuda." not in text or not any(one.encode() in text for one in OF_CUDA):
            return
        tree = tree_of()
        if tree is not None:
            yield from cuda_objects(tree)

    def _notebook(self, path: str) -> SourceFile | None:
        if path not in self._notebooks:
            data = self._project_of(path).modules.text(path)
            try:
                known = open_source(path, data) if data is not None else None
            except MpslintError:
                known = None
            self._notebooks[path] = known
        return self._notebooks[path]

    def _near(self, path: str) -> list[str]:
        found = dict.fromkeys(self._led(path))
        for one in (path, *found):
            for other in self._chosen_by(one):
                found.update(dict.fromkeys((other, *self._led(other))))
        return [one for one in found if one != path]

    def _led(self, path: str) -> list[str]:
        if path not in self._led_to:
            text = self.text_of(path).decode("utf-8", "replace")
            self._led_to[path] = self._project_of(path).led_to(path, text)
        return self._led_to[path]

    def _chosen_by(self, path: str) -> list[str]:
        """The modules of which a file imports one by a name that it puts together."""
        if path not in self._chosen:
            self._chosen[path] = list(dict.fromkeys(self._choices(path)))
        return self._chosen[path]

    def _choices(self, path: str) -> Iterator[str]:
        if not any(word in self.text_of(path) for word in _BY_CALL):
            return
        tree = self.tree_of(path)
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.Call) and node.args:
                function = node.func
                name = function.attr if isinstance(function, ast.Attribute) else ""
                name = function.id if isinstance(function, ast.Name) else name
                if name.encode() in _BY_CALL:
                    yield from self._beginning_with(path, beginning(node.args[0]))

    def _beginning_with(self, path: str, text: str) -> Iterator[str]:
        modules = self._project_of(path).modules
        found = None if text.endswith(".") else modules.find(path, text)[0]
        if found is not None:
            yield found
            return
        package, dot, begun = text.rpartition(".")
        if not dot or not package.strip("."):
            return
        for root in (os.path.dirname(path), *modules.roots(path)):
            folder = os.path.join(root, *package.strip(".").split("."))
            beside = modules.beside(os.path.join(folder, ""))
            if beside and len(beside) <= _MOST_CHOSEN:
                yield from (one for one in beside if os.path.basename(one).startswith(begun))
                return

    def _is_installed(self, folder: str) -> bool:
        """Whether what lies in a folder is what a script beside it installs, or above `src`."""
        is_source = os.path.basename(folder) == "src"
        folders = (folder, os.path.dirname(folder)) if is_source else (folder,)
        places = (os.path.join(one, name) for one in folders for name in INSTALLING)
        return any(self._project_of(one).modules.text(one) is not None for one in places)

    def _is_own(self, path: str, module: str) -> bool | None:
        """Whether the project has a module. None: of what is a package's own nothing is known."""
        key = os.path.dirname(path), module
        if key not in self._own:
            self._own[key] = self._has(path, module)
        return self._own[key]

    def _has(self, path: str, module: str) -> bool | None:
        modules = self._project_of(path).modules
        if modules.find(path, module)[0] is not None or self._far.knows(path, module):
            return True
        package, dot, name = module.rpartition(".")
        if not dot:
            return None
        holder = modules.find(path, package or ".")[0]
        # Of a package alone a part may be a compiled module; what others lack they take by a star.
        if holder is None or os.path.basename(holder) != "__init__.py":
            return None if name.startswith("_") else False
        return name.encode() in (modules.text(holder) or b"")
