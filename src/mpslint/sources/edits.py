"""Sets of text edits: checked, applied together, and checked again on what came out."""

from __future__ import annotations

from bisect import bisect_left, insort
from itertools import pairwise
from typing import TYPE_CHECKING

from mpslint.model import Edit, Fix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class EditConflict(Exception):
    """An edit that does not fit the text, or the other edits of its own fix."""


class EditSet:
    """Edits that can be applied together: none overlaps, identical ones count once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._edits: list[Edit] = []
        self._known: set[Edit] = set()
        self._given: dict[str, str] = {}
        """By name: the code, inserted by an edit that was taken, which gives it a value."""

    def __bool__(self) -> bool:
        return bool(self._edits)

    @property
    def edits(self) -> tuple[Edit, ...]:
        """What was taken, in order of position."""
        return tuple(self._edits)

    def add(self, fix: Fix) -> bool:
        """Take all edits of `fix`, or none when one collides with an edit of another fix.

        Raises `EditConflict` for a fix that is wrong in itself.
        """
        _check(fix.edits, self._text)
        fresh = [edit for edit in dict.fromkeys(fix.edits) if edit not in self._known]
        if any(self._collides(edit) for edit in fresh):
            return False
        given = {name: code for edit in fresh for name, code in _given(edit)}
        if any(self._given.get(name, code) != code for name, code in given.items()):
            return False  # Both chose a name that was free; the next pass finds it taken.
        for edit in fresh:
            insort(self._edits, edit)
        self._known.update(fresh)
        self._given.update(given)
        return True

    def _collides(self, edit: Edit) -> bool:
        # No two taken edits overlap, so only the neighbours can be in the way.
        at = bisect_left(self._edits, (edit.start,))
        return any(_overlap(edit, other) for other in self._edits[max(at - 1, 0) : at + 2])

    def apply(self) -> str:
        return spliced(self._text, self._edits)


def spliced(text: str, edits: Sequence[Edit]) -> str:
    """`text` with `edits`, which are in order and do not overlap."""
    out, at = [], 0
    for edit in edits:
        out += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*out, text[at:]])


def kept_outside(before: str, after: str, edits: Sequence[Edit]) -> bool:
    """Whether all that stands outside the edits stands unchanged in `after`, in its place.

    Walks both texts by lengths alone, so that it does not share the arithmetic of `spliced`.
    """
    here = there = 0
    for edit in edits:
        gap = edit.start - here
        if before[here : edit.start] != after[there : there + gap]:
            return False
        here, there = edit.end, there + gap + len(edit.text)
    return before[here:] == after[there:]


def origin(offset: int, edits: Sequence[Edit]) -> int:
    """Where `offset` of the text after `edits` was before them; inside an edit, its start."""
    shift = 0
    for edit in edits:
        start = edit.start + shift
        if offset < start:
            break
        if offset < start + len(edit.text):
            return edit.start
        shift += len(edit.text) - (edit.end - edit.start)
    return offset - shift


def first_origin(offset: int, passes: Sequence[Sequence[Edit]]) -> int:
    """Where `offset` of the text after all these passes was before the first of them."""
    for edits in reversed(passes):
        offset = origin(offset, edits)
    return offset


def _given(edit: Edit) -> Iterator[tuple[str, str]]:
    """The names that inserted statements give values, each with the statement."""
    if edit.expect or "=" not in edit.text or not edit.text.strip(" \t,").endswith(("\r", "\n")):
        return  # No lines of their own: arguments of a call look like statements.
    import ast
    import textwrap

    code = textwrap.dedent(edit.text).strip()
    try:
        tree = ast.parse(code)
    except SyntaxError:  # a part of an expression
        return
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.If):
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    yield node.id, ast.unparse(statement)


def _overlap(one: Edit, two: Edit) -> bool:
    """Whether two different edits contradict each other.

    Insertions contradict at the same place (their order would be chance) and inside a
    replacement; at its ends they do not.
    """
    if one.start == one.end and two.start == two.end:
        return one.start == two.start
    return one.start < two.end and two.start < one.end


def _check(edits: tuple[Edit, ...], text: str) -> None:
    for edit in edits:
        if not 0 <= edit.start <= edit.end <= len(text):
            raise EditConflict(f"no such place: {edit.start} to {edit.end}")
        if text[edit.start : edit.end] != edit.expect:
            raise EditConflict(f"expected {edit.expect!r}, found {text[edit.start : edit.end]!r}")
    for one, two in pairwise(sorted(set(edits))):
        if _overlap(one, two):
            raise EditConflict(f"two edits at {two.start}")
