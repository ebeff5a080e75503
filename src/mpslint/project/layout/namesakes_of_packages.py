"""Modules that have the name of an installed package, beside files that mean the package."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import lru_cache

from mpslint.facts.priors import find
from mpslint.facts.without_torch import is_without_torch

_UP = 4
"""So many folders up a file names its own from."""


def means_package(path: str, module: str, text_of: Callable[[str], bytes | None]) -> bool:
    """Whether the file at `path` imports an installed package by the dotted name `module`, be there
    a module of that name beside it or not: it names its own folder from above (`from src.eval.x
    import y` in `src/eval`), so that whoever runs it looks for modules there, and not here."""
    name = module.partition(".")[0]
    if not name or not (find("understood-packages", name) or is_without_torch(name)):
        return False
    return _names_itself_from_above(os.path.dirname(path), text_of(path) or b"")


@lru_cache(256)
def _names_itself_from_above(folder: str, text: bytes) -> bool:
    if b"sys.path" in text:
        return False
    parts = folder.split(os.sep)[-_UP:]
    return any(_imports(text, ".".join(parts[first:])) for first in range(len(parts) - 1))


def _imports(text: bytes, package: str) -> bool:
    spelled = re.escape(package.encode("utf-8", "replace"))
    return re.search(rb"^[ \t]*(?:from|import)[ \t]+%s[. \t]" % spelled, text, re.M) is not None
