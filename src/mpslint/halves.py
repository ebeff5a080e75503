"""The files of a run, and what of them would be ported by halves: put together from their texts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.errors import BadSource
from mpslint.far_imports import FarImports
from mpslint.fixer import MAX_TRIALS
from mpslint.half_ports import HalfPorts, ported

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterable, Mapping

    from mpslint.fixer import Fixing, Made
    from mpslint.half_ports import Ported
    from mpslint.project import Project
    from mpslint.source import SourceFile

Doubts = dict[str, dict[tuple[str, int], str]]
"""By the absolute path of a file its fixes that had better not be made, each with its reason."""


def halves(
    files: dict[str, Ported],
    project: Project,
    starting: Iterable[str],
    texts: Mapping[str, bytes] | None = None,
) -> Doubts:
    """What is found of `files`, by absolute path; `starting` may be programs. `texts` stand in
    place of what the project has on disk."""
    known = texts or {}

    def text_of(path: str) -> bytes:
        return known[path] if path in known else project.modules.text(path) or b""

    def led_to(path: str) -> list[str]:
        return project.led_to(path, text_of(path).decode("utf-8", "replace"))

    programs = dict.fromkeys(starting)
    ports = HalfPorts(
        files,
        project.modules.tree,
        text_of,
        FarImports(programs, text_of, led_to).led_to,
        programs,
        project.imports_on,
    )
    found = ports.found()
    ports.release()
    return found


def trees_in(project: Project) -> Callable[[SourceFile], ast.Module | None]:
    """Gives the tree of a text in a project, None where it is no Python of today's."""

    def tree_of(source: SourceFile) -> ast.Module | None:
        try:
            return project.tree(source)
        except BadSource:
            return None

    return tree_of


def settled_alone(fixing: Fixing, path: str, project: Project) -> Made:
    """All safe fixes of a file that nothing speaks against, where it is fixed by itself: also what
    would stay half-way in it is barred then."""
    own, made = os.path.abspath(path), fixing.settled()
    for _ in range(MAX_TRIALS):
        opened = fixing.opened(made)
        if not opened:
            break
        files = {own: ported(fixing.source, made, opened, trees_in(project))}
        doubts = halves(files, project, [own], {own: made.source.data}).get(own)
        if not doubts:
            break
        fixing.leave(doubts)
        made = fixing.settled()
    return made
