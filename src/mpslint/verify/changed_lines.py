"""The lines that a rewrite changed, and which of them ran where.

A line whose statement says the same as before, at the same place of the program (reformatted, a
comment added), is equal by proof and is not asked about.
"""

from __future__ import annotations

import ast
import difflib
import io
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from mpslint.verify.harness.probes import owners, regions
from mpslint.verify.launch import Launch

AGREED, RAN, DID_NOT_RUN = "ran and agreed", "ran", "did not run"
NAMED = "for a device that is named"  # see `named_devices`

_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


class ChangedLine(NamedTuple):
    """state: of AGREED, RAN, DID_NOT_RUN, NAMED; devices: those on which it ran."""

    file: str
    line: int
    state: str
    devices: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return {**self._asdict(), "devices": list(self.devices)}


def changed(before: bytes, after: bytes) -> list[int]:
    """Rows of `after` that hold code which `before` does not; none when either does not parse."""
    try:
        old, new = ast.parse(before), ast.parse(after)
    except (SyntaxError, ValueError, RecursionError):
        return []
    held = owners(new)
    statements = _changed_statements(old, new)
    return [row for row in _changed_rows(before, after) if row in held and row in statements]


def of_files(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> dict[str, list[int]]:
    """The changed rows by file; what `before` lacks is what is on the disk."""
    found = {}
    for path, text in after.items():
        old = before.get(path)
        if old is None:
            with open(path, "rb") if os.path.isfile(path) else io.BytesIO() as file:
                old = file.read()
        if rows := changed(old, text):
            found[path] = rows
    return found


def _changed_rows(before: bytes, after: bytes) -> Iterator[int]:
    one, two = before.splitlines(), after.splitlines()
    matcher = difflib.SequenceMatcher(None, one, two, autojunk=False)
    for tag, _, _, first, last in matcher.get_opcodes():
        if tag in ("replace", "insert"):
            yield from range(first + 1, last + 1)


def _changed_statements(old: ast.Module, new: ast.Module) -> set[int]:
    """Rows of the statements that are not in `old`, or in another block there."""
    one = [key for key, _ in _keys(old)]
    two = list(_keys(new))
    rows = {
        id(lines.region): range(lines.first, lines.last + 1)
        for lines in regions(new)
        if isinstance(lines.region, ast.stmt)
    }
    matcher = difflib.SequenceMatcher(None, one, [key for key, _ in two], autojunk=False)
    found: set[int] = set()
    for tag, _, _, first, last in matcher.get_opcodes():
        if tag in ("replace", "insert"):
            for _, node in two[first:last]:
                found.update(rows.get(id(node), ()))
    return found


def _keys(node: ast.AST, block: str = "") -> Iterator[tuple[str, ast.AST]]:
    """What each statement says without its body, and in what kind of blocks it stands."""
    for name, value in ast.iter_fields(node):
        if name not in _BODIES or not isinstance(value, list):
            continue
        for child in value:
            parts = {k: v for k, v in ast.iter_fields(child) if k not in _BODIES}
            said = ", ".join(f"{key}={_dumped(part)}" for key, part in parts.items())
            inner = f"{block}/{type(node).__name__}.{name}"
            yield f"{inner}/{type(child).__name__}({said})", child
            yield from _keys(child, inner)


def _dumped(part: Any) -> str:
    if isinstance(part, list):
        return "[" + ", ".join(map(_dumped, part)) + "]"
    return ast.dump(part) if isinstance(part, ast.AST) else repr(part)


def judged(
    asked: Mapping[str, Iterable[int]],
    ran: Iterable[tuple[Launch, bool]],
    named: Mapping[str, Collection[int]] = MappingProxyType({}),
) -> tuple[ChangedLine, ...]:
    """`ran`: the patched script's runs, and whether the numbers of each agreed with the original's;
    `named`: rows that take a device as somebody names it.

    A line for one machine only (a branch for MPS) has run when it ran there.
    """
    reached: dict[tuple[str, int], list[tuple[str, bool]]] = {}
    for launch, agreed in ran:
        for file, row in launch.value("lines", []):
            reached.setdefault((str(file), int(row)), []).append((launch.name, agreed))
    found = []
    for file, rows in asked.items():
        for row in rows:
            where = reached.get((file, row), [])
            agreed = any(same for _, same in where)
            missing = NAMED if row in named.get(file, ()) else DID_NOT_RUN
            state = AGREED if agreed else RAN if where else missing
            found.append(ChangedLine(file, row, state, tuple(name for name, _ in where)))
    return tuple(found)
