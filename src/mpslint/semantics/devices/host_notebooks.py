"""Notebooks that compute on the CPU from their first cell to their last.

A notebook is a whole program: no other file imports its modules and moves them. Where it names no
device, and imports nothing that could move a model for it, all of its tensors are on the CPU.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.facts.priors import computes_on_host
from mpslint.sources.opening import is_notebook

if TYPE_CHECKING:
    from mpslint.semantics.syntax.index import Index
    from mpslint.semantics.values.placement import Placement
    from mpslint.sources.source import SourceFile

_MOVING_NOTHING = sys.stdlib_module_names | {"torch", "torchvision", "torchaudio", "IPython"}
# Fact: IPython's magic that runs another file in the notebook's own names, in a row of the JSON.
_RUNS_ANOTHER = re.compile(r'(?:"|\\n)\s*%(?:run|load)\b')


def is_on_host(source: SourceFile, index: Index, placement: Placement) -> bool:
    """Whether the file is a notebook whose tensors are all on the CPU."""
    if not is_notebook(source.path) or placement.program_uses_devices:
        return False
    if _RUNS_ANOTHER.search(getattr(source, "json", "")):
        return False
    return all(name in _MOVING_NOTHING or computes_on_host(name) for name in _imported(index))


def _imported(index: Index) -> Iterator[str]:
    """The first names of the packages that are imported."""
    for plain in index.of(ast.Import):
        yield from (alias.name.partition(".")[0] for alias in plain.names)
    for statement in index.of(ast.ImportFrom):
        yield (statement.module or "").partition(".")[0] if not statement.level else ""
