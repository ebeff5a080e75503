"""What a file is made of, as the ways of a program see it, and which part of it has a row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.left_behind import Part, parts, programs
from mpslint.records import NamedTuple

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable

    from mpslint.ways import Name


class Parts(NamedTuple):
    """What a file is made of. Of a table's rows one is chosen, and the others are on no way."""

    all: list[Part]
    parts: list[Part]
    programs: list[Part]

    @classmethod
    def of(cls, tree: ast.Module | None) -> Parts:
        if tree is None:
            return cls([], [], [])
        found, started = parts(tree), programs(tree)
        return cls(found, *([one for one in some if not one.is_table] for some in (found, started)))


def name_at(path: str, row: int, found: Iterable[Part]) -> Name:
    for one in found:
        if one.first <= row <= one.last:
            return path, one.owner, one.name
    return path, "", ""


def is_test(part: Part) -> bool:
    return part.name.startswith("test") and (not part.owner or part.owner.startswith("Test"))


def is_same(one: Part, name: Name) -> bool:
    return (one.owner, one.name) == name[1:] or bool(one.owner and one.owner == name[1])
