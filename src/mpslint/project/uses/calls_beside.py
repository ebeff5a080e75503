"""The calls of what a file defines by those beside it: of a project that is too large to be looked
through, or whose head is not known, nobody else is asked."""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from mpslint.semantics.uses.defined import own_makers

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.semantics.context import Context
    from mpslint.semantics.elsewhere.elsewhere import Elsewhere


def calls_beside(
    modules: Modules, elsewhere: Elsewhere, path: str, name: str
) -> tuple[list[tuple[Context, ast.Call]], tuple[str, ...]]:
    """The calls by this name of the modules beside the file at `path`, and in the folder above,
    that name the module as well, and in the file itself; and what this rests on."""
    folder, stem = os.path.split(path.removesuffix(".py"))
    beside = [*modules.beside(path), *modules.beside(folder)]
    words = frozenset({name.encode(), stem.encode()})
    users = [path, *(one for one in beside if modules.has_words(one, words))]
    contexts = [modules.context(one, elsewhere) for one in users]
    found = [
        (context, call)
        for context in contexts
        if context is not None
        for call in context.index.calls.get(name, ())
    ]
    for context in contexts[:1]:
        if context is not None:
            makers = (context.index.parents[made] for made in own_makers(context, name))
            found += [(context, call) for call in makers if isinstance(call, ast.Call)]
    return found, (folder, os.path.dirname(folder), *beside)
