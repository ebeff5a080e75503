"""Modules that a project compiles of C++ or CUDA which lies where the module would.

Where that text knows nothing of MPS, nor of Metal, such a module takes tensors of the CPU, and of
CUDA at most: it reads the memory that they point to.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules

_SUFFIXES = (".cpp", ".cc", ".cxx", ".cu")
_OF_TORCH = (b"torch/", b"torch::", b"ATen/", b"at::Tensor")
"""What stands in a text that takes tensors."""
_OF_MPS = (b"MPS", b"_mps", b'"mps', b"Metal", b"metal")
"""As C++ spells it: `kMPS`, `x.is_mps()`, `device == "mps"`; not `clamps`."""


def compiled_from(modules: Modules, path: str, module: str) -> tuple[str, tuple[str, ...]]:
    """The name of the text that a module, as the file at the absolute `path` names it, is compiled
    from, where that cannot take tensors of MPS, else nothing; and the files that were looked for.
    """
    package, _, name = module.rpartition(".")
    if not package.strip(".") or not name:
        return "", ()
    found, looked = modules.find(path, module)
    if found is not None:
        return "", looked
    around, more = modules.find(path, package)
    looked = (*looked, *more)
    if around is None or os.path.basename(around) != "__init__.py":
        return "", looked
    for suffix in _SUFFIXES:
        place = os.path.join(os.path.dirname(around), name + suffix)
        looked = (*looked, place)
        text = modules.text(place)
        if text is not None and any(word in text for word in _OF_TORCH):
            speaks = any(word in text for word in _OF_MPS)
            return "" if speaks else os.path.basename(place), looked
    return "", looked
