"""The files of a run, and what of them would be ported by halves: put together from their texts."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

from mpslint.errors import BadSource
from mpslint.halfway.half_ports import HalfPorts
from mpslint.halfway.ported_files import ported
from mpslint.halfway.program_files import ProgramFiles

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterable, Mapping

    from mpslint.fixing.fixer import Fixing, Made
    from mpslint.halfway.ported_files import Against, Ported
    from mpslint.project.project import Project
    from mpslint.sources.source import SourceFile

Doubts: TypeAlias = "dict[str, dict[tuple[str, int], Against]]"
"""By the absolute path of a file its fixes that had better not be made, each with its reason."""


def halves(files: dict[str, Ported], program: ProgramFiles, starting: Iterable[str]) -> Doubts:
    """What is found of `files`, by absolute path; `starting` may be programs."""
    ports = HalfPorts(files, program, starting)
    found = ports.found()
    ports.release()
    return found


def leave(fixing: Fixing, doubts: Mapping[tuple[str, int], Against]) -> None:
    """Lets fixes of one file be unsafe, or be none where what is against them is known."""
    fixing.leave({key: one.reason for key, one in doubts.items()})
    fixing.withhold({key: one.reason for key, one in doubts.items() if one.is_known})


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
    from mpslint.fixing.fixer import MAX_TRIALS

    own, made = os.path.abspath(path), fixing.settled()
    for _ in range(MAX_TRIALS):
        opened = fixing.opened(made)
        if not opened:
            break
        files = {own: ported(fixing.source, made, opened, trees_in(project))}
        program = ProgramFiles(lambda _: project, [own], {own: made.source.data})
        doubts = halves(files, program, [own]).get(own)
        if not doubts:
            break
        leave(fixing, doubts)
        made = fixing.settled()
    return made
