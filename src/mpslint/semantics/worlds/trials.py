"""What a module tries out below its test of `__name__`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.node_kinds import of_kinds
from mpslint.semantics.worlds.machines import ALL, NVIDIA

if TYPE_CHECKING:
    from mpslint.semantics.worlds.core import Project


def worlds_of_trial(tree: ast.Module, main: ast.stmt | None, project: Project | None) -> int:
    """The worlds for which the trial of a module's functions and classes is there: those of the
    files that use them, where each has such users and all of these are CUDA's own."""
    if project is None or main is None:
        return ALL
    own = {item.name for item in tree.body if isinstance(item, (*FUNCTIONS, ast.ClassDef))}
    named = {item.id for item in of_kinds(main, {ast.Name}) if isinstance(item, ast.Name)}
    worlds = 0
    for name in sorted(own & named):
        entered = project.entered(name)
        if not entered or entered & ~NVIDIA:
            return ALL
        worlds |= entered
    return worlds or ALL
