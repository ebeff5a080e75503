"""Operators that MPS runs only from some torch release on, and where the project calls them.

`check` flags an operator where the releases that a project supports lack it; whoever decides about
Macs wants to know which torch they would need, so here all releases are asked about.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import TYPE_CHECKING

from mpslint.checking.checking import guarded
from mpslint.checking.linter import lint
from mpslint.facts.ops import NEVER, release_text, support
from mpslint.findings.results import FileResult
from mpslint.report.meaning import node_of
from mpslint.report.model import OpUse, Place
from mpslint.sources.opening import line_of, position

if TYPE_CHECKING:
    from mpslint.facts.ops import Release
    from mpslint.report.meaning import Meanings

_FORWARD, _BACKWARD = "MPS501", "MPS502"
_BEFORE_ALL: Release = (2, 4)
"""Older than every release that the table knows: each operator in it is asked about."""
RELEASES = tuple(f"2.{minor}" for minor in range(5, 16))
"""The releases that the table of operators is about."""


def operators(meanings: Meanings) -> tuple[OpUse, ...]:
    """The operators of a project that some release lacks, those that all lack first."""
    places: dict[tuple[str, bool], list[Place]] = defaultdict(list)
    for path in meanings.settings:
        for name, backward, place in _of_file(meanings, path):
            places[name, backward].append(place)
    found = [_use(name, backward, places) for (name, backward), places in places.items()]
    return tuple(sorted(found, key=_last_release_first))


def _since(backward: bool) -> dict[str, Release]:
    table = support()
    if backward:
        return table.backward_native_since
    methods = {f"Tensor.{name}": since for name, since in table.methods_since.items()}
    return {**table.native_since, **methods}


def _use(name: str, backward: bool, places: list[Place]) -> OpUse:
    since = _since(backward)[name]
    return OpUse(name, backward, None if since == NEVER else release_text(since), tuple(places))


def _last_release_first(use: OpUse) -> tuple[bool, int, str]:
    minor = int(use.since.partition(".")[2]) if use.since is not None else 0
    return use.since is not None, -minor, use.name


def _of_file(meanings: Meanings, path: str) -> list[tuple[str, bool, Place]]:
    source = meanings.source(path)
    if source is None:
        return []
    settings = meanings.settings[path]._replace(
        select=(_FORWARD, _BACKWARD),
        extend_select=(),
        min_torch=_BEFORE_ALL,
        max_torch=None,
    )
    findings = guarded(path, lambda: lint(source, settings, elsewhere=meanings.neighbours(path)))
    if isinstance(findings, FileResult):
        return []  # `check` has said what is wrong with this file
    # Most files have none, and are not understood a second time.
    context = meanings.context(path) if findings else None
    if context is None:
        return []
    found = []
    for finding in findings:
        node = node_of(context, finding)
        backward = finding.code == _BACKWARD
        name = _name(context.resolve(node) if node is not None else None, node)
        if name in _since(backward):
            offset = source.starts[finding.row - 1] + finding.column - 1
            cell, row, _ = position(source, offset)
            text = (line_of(source, cell, row) or "").strip()
            found.append((name, backward, Place(path, row, text, cell)))
    return found


def _name(qualified: str | None, node: ast.AST | None) -> str:
    """The operator's name as the table has it."""
    if qualified is not None:
        return qualified
    return f"Tensor.{node.attr}" if isinstance(node, ast.Attribute) else ""
