"""Installations that do not fit: packages whose compiled parts were made for others than are there.

What they raise looks like a fault of the script, or like data that is missing (`operator
torchvision::nms does not exist`), and no change of the script mends it.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class _Misfit(NamedTuple):
    message: re.Pattern[str]
    """What Python, the system's loader, NumPy or torch says of it."""
    why: str
    """Why it is so, and the way out; `{}` is what the message names."""


_TOGETHER = (
    "`{0}` was built for another torch than this one: install the two together "
    "(`pip install --upgrade torch {0}`)"
)
_MISFITS = tuple(
    _Misfit(re.compile(message, re.IGNORECASE), why)
    for message, why in (
        (r"operator (torchvision|torchaudio|torchtext)::\w+ does not exist", _TOGETHER),
        (r"partially initialized module '(torchvision|torchaudio|torchtext)'", _TOGETHER),
        (r"PyTorch and (torchvision|torchaudio) (?:were|was) compiled with different", _TOGETHER),
        (r"your PyTorch and (torchvision|torchaudio) versions are incompatible", _TOGETHER),
        (
            r"operator (\w+)::\w+ does not exist",
            "what registers the operators of `{0}` is not built for this torch: install or build "
            "it anew",
        ),
        (
            r"compiled using NumPy 1\.|multiarray failed to import|_ARRAY_API not found"
            r"|dtype size changed|compiled against A[BP]I version|Numpy is not available",
            "a package was compiled for another NumPy than this one, or there is none: "
            "`pip install 'numpy<2'`, or newer releases of the packages that use it",
        ),
        (
            r"undefined symbol|symbol not found|procedure could not be found",
            "a compiled part was built for another release of what it uses, mostly torch: install "
            "that package anew for the torch that is there",
        ),
        (
            r"cannot open shared object file|DLL load failed|Library not loaded"
            r"|Error loading \".*\.dll\"|version [`'‘]GLIBC[\w.]*' not found"
            r"|incompatible architecture|wrong ELF class|invalid ELF header",
            "a library that a compiled part needs is not there, or is for another system or CUDA: "
            "install that package anew for this Python and torch",
        ),
    )
)


def misfit(message: str) -> str:
    """Why the installation does not fit, and the way out, by what an error says; empty: it says
    nothing of that."""
    for one in _MISFITS:
        found = one.message.search(message)
        if found is not None:
            return one.why.format(*found.groups())
    return ""
