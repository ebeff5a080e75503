"""What a file is made of, as the ways of a program see it, and which part of it has a row."""

from __future__ import annotations

import ast
from collections import Counter
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from mpslint.facts.priors import matches
from mpslint.project.runs.left_behind import Part, Seen, parts, programs
from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import is_main_block
from mpslint.semantics.syntax.index import FUNCTIONS, statements, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mpslint.halfway.ways import Name


_MOVE = "cuda"
PROGRAM = "__main__"
"""The name of what a file does as a program. What stands below its test of `__name__` is a part of
that alone: who imports the file never comes there."""


class Parts(NamedTuple):
    """What a file is made of. Of a table's rows one is chosen, and the others are on no way."""

    all: list[Part]
    """With what it does as a program."""
    parts: list[Part]
    programs: list[Part]

    @classmethod
    def of(cls, tree: ast.Module | None, fixed: Counter[int]) -> Parts:
        """`fixed`: how many moves to CUDA of a row fixes will take away that are not made yet."""
        if tree is None:
            return cls([], [], [])
        known, key = _known.setdefault(tree, {}), frozenset(fixed.items())
        if key not in known:
            known[key] = cls._of(tree, fixed)
        return known[key]

    @classmethod
    def _of(cls, tree: ast.Module, fixed: Counter[int]) -> Parts:
        gone = _without_moves(tree, fixed) if fixed else frozenset()
        seen = Seen.of(tree, gone)
        found, started = parts(tree, seen), programs(tree, seen)
        return cls(
            [*found, *_below_main(tree)], *(_without_tables(some) for some in (found, started))
        )


_known: WeakKeyDictionary[ast.Module, dict[frozenset[tuple[int, int]], Parts]]
_known = WeakKeyDictionary()
"""Of the trees that somebody keeps: a run of fixes asks for most files once more, when some of them
are left out."""


def _without_moves(tree: ast.Module, fixed: Counter[int]) -> frozenset[int]:
    """The rows in which nothing moves to CUDA once all is fixed."""
    moves = Counter(
        node.lineno
        for node in walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == _MOVE and node.lineno in fixed
    )
    return frozenset(row for row, number in moves.items() if number <= fixed[row])


def placed_parts(tree: ast.Module) -> list[Part]:
    """All that may have a row of a file."""
    return [*parts(tree), *_below_main(tree)]


def _below_main(tree: ast.Module) -> Iterator[Part]:
    for one in tree.body:
        if is_main_block(one):
            yield Part("", PROGRAM, one.lineno, one.end_lineno or one.lineno, frozenset())


def _without_tables(found: Iterable[Part]) -> list[Part]:
    return [one for one in found if not one.is_table]


def name_at(path: str, row: int, found: Iterable[Part]) -> Name:
    for one in found:
        if one.first <= row <= one.last:
            return path, one.owner, one.name
    return path, "", ""


def is_test(part: Part) -> bool:
    return part.name.startswith("test") and (not part.owner or part.owner.startswith("Test"))


def is_same(one: Part, name: Name) -> bool:
    return (one.owner, one.name) == name[1:] or bool(one.owner and one.owner == name[1])


def moves_by_name(tree: ast.Module, *, every: bool) -> Iterator[ast.Call]:
    """The moves to CUDA in functions and classes that are CUDA's own by their name; or `every`."""
    own = [] if every else [one for one in statements(tree) if _is_for_cuda(one)]
    for part in (tree,) if every else own:
        for node in walk(part):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr == _MOVE:
                    yield node


def _is_for_cuda(part: ast.AST) -> bool:
    return isinstance(part, (*FUNCTIONS, ast.ClassDef)) and matches("definitions", part.name)
