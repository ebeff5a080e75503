"""The data sets of a program, of whose batches the loops of its files may be."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Protocol

from mpslint.facts.batches import TARGETS
from mpslint.halfway import wide_batches
from mpslint.records import NamedTuple

if TYPE_CHECKING:
    import ast

    from mpslint.halfway.ways import Name
    from mpslint.semantics.wide.class_parts import Function
    from mpslint.semantics.wide.sample_kinds import Key

_CASTS = (b".float(", b".half(", b".type(", b".type_as(", b".to(")
_LOSSES = tuple(one.encode() for one in TARGETS)


class Files(Protocol):
    """What is asked of the files of a run."""

    def text_of(self, path: str) -> bytes: ...

    def tree_of(self, path: str) -> ast.Module | None: ...

    def led_to(self, path: str) -> list[str]: ...

    def users(self, path: str) -> list[str]: ...


class Found(NamedTuple):
    parts: dict[Key, str]
    far: str
    """The file of a data set that a program names which leads here, and this file does not."""


class DataSets:
    def __init__(self, files: Files) -> None:
        self._files = files
        self._wide: dict[str, wide_batches.Wide] = {}
        self._defined: dict[str, dict[str, list[Function]]] = {}
        self._casting: dict[str, bool] = {}
        self._losses: dict[str, tuple[set[str], set[str]]] = {}

    def around(self, path: str) -> dict[str, Found]:
        """The data sets that a file names, or that a program names which leads to it; of one that
        names none those that its files make themselves."""
        found: dict[str, Found] = {}
        for user in (path, *self._files.users(path)):
            files = (user, *self._files.led_to(user))
            text = self._files.text_of(user)
            held = [(one, name, parts) for one in files for name, parts in self._in(one).items()]
            named = [item for item in held if item[1].encode() in text]
            for one, name, parts in named or filter(partial(self._is_made, files), held):
                if name not in found:
                    found[name] = Found(parts, one if user != path else "")
        return found

    def _is_made(self, files: Iterable[str], held: tuple[str, str, dict[Key, str]]) -> bool:
        """Whether one of the files of a program makes a data set: it calls the class."""
        made = b"%s(" % held[1].encode()
        return any(
            self._files.text_of(one).count(made) > self._files.text_of(one).count(b"class " + made)
            for one in files
        )

    def taken(
        self, path: str, tree: ast.Module, loops: Iterable[ast.AST], around: dict[str, Found]
    ) -> Iterator[tuple[int, str, bool, Name | None, int]]:
        """The rows in which a file moves what may be float64, as `wide_batches` tells them; the
        part of another program that must run as well; and the row of the move itself."""
        users = self._files.users(path)
        is_loss = self._is_loss((path, *users))
        wide = {name: one.parts for name, one in around.items()}
        every = {one for user in (path, *users) for one in (user, *self._files.led_to(user))}
        casts = partial(self.has_casts, sorted(every))
        found = wide_batches.Loops(tree, loops, wide, self.functions_around(path), is_loss, casts)
        is_collated = any(wide_batches.collates(self._files.text_of(one)) for one in every)
        for move, text, is_slight, name in found.taken(is_collated=is_collated):
            far = around[name].far
            part = (far, name, "__getitem__") if far else None
            yield move.row, text, is_slight, part, move.at

    def _in(self, path: str) -> wide_batches.Wide:
        if path not in self._wide:
            may = wide_batches.may_hand_out(self._files.text_of(path))
            tree = self._files.tree_of(path) if may else None
            self._wide[path] = wide_batches.handed_out(tree) if tree is not None else {}
        return self._wide[path]

    def functions_around(self, path: str) -> Callable[[str], list[Function]]:
        """Gives the functions of a name in a file and in those that it leads to."""
        paths = (path, *self._files.led_to(path))

        def functions_of(name: str) -> list[Function]:
            found = []
            for one in paths:
                if f"def {name}(".encode() in self._files.text_of(one):
                    if one not in self._defined:
                        tree = self._files.tree_of(one)
                        functions = wide_batches.functions_in(tree) if tree is not None else {}
                        self._defined[one] = functions
                    found += self._defined[one].get(name, [])
            return found

        return functions_of

    def has_casts(self, paths: Iterable[str]) -> bool:
        """Whether a network of some files casts what it is given."""
        return any(map(self._casts, paths))

    def _casts(self, path: str) -> bool:
        if path not in self._casting:
            text = self._files.text_of(path)
            may = b"def forward" in text and any(one in text for one in _CASTS)
            tree = self._files.tree_of(path) if may else None
            self._casting[path] = tree is not None and wide_batches.has_casts(tree)
        return self._casting[path]

    def _is_loss(self, programs: Iterable[str]) -> Callable[[str], bool]:
        known: list[frozenset[str]] = []

        def is_loss(name: str) -> bool:
            if not known:
                sure: set[str] = set()
                other: set[str] = set()
                paths = {one for path in programs for one in (path, *self._files.led_to(path))}
                for path in paths:
                    more = self._losses_in(path)
                    sure |= more[0]
                    other |= more[1]
                known.append(frozenset(sure - other))
            return name in known[0]

        return is_loss

    def _losses_in(self, path: str) -> tuple[set[str], set[str]]:
        if path not in self._losses:
            text = self._files.text_of(path)
            may = any(one in text for one in _LOSSES) or b"Loss" in text
            tree = self._files.tree_of(path) if may else None
            self._losses[path] = (
                wide_batches.losses_of(tree) if tree is not None else (set(), set())
            )
        return self._losses[path]
