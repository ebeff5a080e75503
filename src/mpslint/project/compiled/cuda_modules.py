"""Modules of the project that speak of CUDA alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules


def serve_cuda_alone(
    modules: Modules, path: str, names: Iterable[str]
) -> tuple[bool, tuple[str, ...]]:
    """Whether one of the modules that the file at `path` names so speaks of CUDA, and none of MPS;
    and the files that this rests on."""
    cuda = False
    files: tuple[str, ...] = ()
    for name in names:
        found, looked = modules.find(path, name)
        files += looked
        if found is None:
            continue
        words = modules.words(found)
        if any(b"mps" in word.lower() for word in words):
            return False, files
        cuda = cuda or b"cuda" in words
    return cuda, files
