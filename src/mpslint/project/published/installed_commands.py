"""Distributions that people install for the commands in them, and not to import anything: what a
vendored part of such a program offers is offered to nobody.

A command alone says little: libraries have some as well. But a library shows its users an import,
in its texts, a notebook or an example, or its package has something to give to who imports it.
"""

from __future__ import annotations

import ast
import os
import re
from typing import TYPE_CHECKING

from mpslint.project.layout.whole import PROSE
from mpslint.semantics.syntax.expressions import names_in
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.paths import is_example

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Whole

_COMMANDS = re.compile(rb"console_scripts|^[ \t]*\[(?:project|tool\.poetry)\.scripts\]", re.M)
_STARTED = re.compile(rb"=[ \t]*[\"']?[\w.]+:(\w+)")
"""What a command starts: `iopaint = "iopaint:entry_point"`."""
_SHOWN = rb"(?:^|\\n|\")[ \t>.]*(?:from|import)[ \t]+(?:%s)\b"
"""A line of an example, be it in the JSON of a notebook."""


def is_for_its_commands(
    modules: Modules, whole: Whole, built: tuple[str, ...], packages: list[str]
) -> bool:
    """Whether what the files `built` say is installed are commands alone, beside the `packages`
    that hold them."""
    texts = b"\n".join(modules.text(path) or b"" for path in built)
    if not packages or not _COMMANDS.search(texts):
        return False
    started = {match.decode("utf-8", "replace") for match in _STARTED.findall(texts)}
    inits = [os.path.join(package, "__init__.py") for package in packages]
    if not started or any(_gives_something(modules.tree(path), started) for path in inits):
        return False
    named = b"|".join(re.escape(os.path.basename(one).encode()) for one in packages)
    shown = re.compile(_SHOWN % named, re.M)
    return not any(
        shown.search(modules.text(path) or b"") for path in whole.others if _is_shown(path)
    ) and not any(
        is_example(os.path.relpath(path, whole.head)) and shown.search(modules.text(path) or b"")
        for path in whole.modules
    )


def _is_shown(path: str) -> bool:
    return path.endswith((*PROSE, ".ipynb"))


def _gives_something(tree: ast.Module | None, started: set[str]) -> bool:
    """Whether who imports a package gets more than a command: something of its modules, a class or
    a function that the package itself has no use for."""
    if tree is None:
        return True
    used = names_in(tree)
    for statement in tree.body:
        if isinstance(statement, ast.ClassDef):
            return True
        if isinstance(statement, ast.ImportFrom):
            if statement.level or "." in (statement.module or ""):
                return True
        if isinstance(statement, FUNCTIONS) and statement.name not in started | used:
            return True
    return False
