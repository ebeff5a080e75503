"""Modules of a package that are not there, nor anything that they could be made of: whoever imports
one ends there, on every machine.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.project.layout.modules import INSTALLING
from mpslint.sources.reading import ABSENT

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Building

_MADE_OF = ("", ".pyx", ".pxd", ".pyi", ".c", ".cc", ".cpp", ".cxx", ".cu", ".rs", ".so", ".pyd")
"""A folder needs no `__init__.py` to be imported."""
_COMPILING = (b"xtension", b"ext_modules", b"cython", b"pybind", b"maturin", b"cmake")
_MAKING = (b"__getattr__", b"__path__", b"sys.modules", b"import_module", b"__import__")
"""By these a package has modules that are no files."""


def is_missing(modules: Modules, building: Building, path: str, module: str) -> bool:
    """Whether a module, by its whole name, is not there in its package, which is one of the project
    as the file at `path` finds it; `building` is how that is built. Of other packages nobody knows
    where Python finds them."""
    folder = modules.roots(path)[0]
    parts = module.split(".")
    if module.startswith("."):
        return False
    if not path.startswith(os.path.join(folder, parts[0], "")):
        found = modules.find(path, parts[0])[0]
        if found is None or os.path.basename(found) != "__init__.py":
            return False
        folder = os.path.dirname(os.path.dirname(found))
    for number, part in enumerate(parts):
        inner = os.path.join(folder, part)
        text = modules.text(os.path.join(inner, "__init__.py"))
        if text is None:
            return bool(number) and not _may_be_made(modules, building, inner)
        if any(word in text for word in _MAKING):
            return False
        folder = inner
    return False


def _may_be_made(modules: Modules, building: Building, place: str) -> bool:
    """Whether a module is there by another file than Python's, or may be compiled."""
    name = os.path.basename(place)
    if name.startswith("_") or matches("kernel-names", name) or building.kernels:
        return True
    if any(modules.sign(place + suffix) != ABSENT for suffix in (".py", *_MADE_OF)):
        return True
    settings = (one for one in building.wanted if os.path.basename(one) in INSTALLING)
    texts = (modules.text(one) or b"" for one in (*building.scripts, *settings))
    return any(word in text for text in texts for word in _COMPILING)
