"""The oldest torch that a project was written for, as its own code shows where nobody says it.

`loss.data[0]` is an error since torch 0.5, `cuda(async=True)` is no Python since 3.7, `Variable`
does nothing since 0.4. Such code was run on what there was then, and may still be; and so may what
names its torch above the first statement ("written for PyTorch 1.9"). What a newer torch brought
counts against it: who asks for `torch.compile` needs no guard for what is older. Code that shows
neither may be run by somebody whose torch has no MPS yet, and goes on there. The text is searched,
since much of such code does not parse any more.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from mpslint.basics.expressions import later
from mpslint.records import NamedTuple
from mpslint.settings.torch_named import above_code
from mpslint.settings.torch_pins import Pin
from mpslint.sources.files import read_regular

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST_FILES, _MOST_BYTES, _LARGEST = 300, 8 << 20, 1 << 18
"""So much of a project is read; its topmost files come first."""
_DEPTH = 6

Release = tuple[int, int]


class Sign(NamedTuple):
    word: bytes
    """What a text must hold at all."""
    shows: re.Pattern[bytes]
    release: Release


def _signs(*rows: tuple[bytes, str, Release]) -> tuple[Sign, ...]:
    return tuple(
        Sign(word, later(shown.encode(), re.MULTILINE), release) for word, shown, release in rows
    )


_BEFORE_MPS: Release = (1, 11)
"""The last torch without `torch.backends.mps`."""

# Fact: torch's release notes of 0.4 ("Tensors and Variables have merged"), 0.5 (an index into a
# number raises), 1.8 and 2.0 (functions that went), 1.12 to 2.6 (what came), torchvision's of 0.13
# (weights by their names), and Python's of 3.7 (`async` is a keyword).
_OLD = _signs(
    (b"async", r"\.cuda\([^()\n]*\basync ?= ?(?:True|False)", (0, 3)),
    (b"volatile", r"\bvolatile ?= ?(?:True|False)", (0, 3)),
    (b".data[0]", r"\.data\[0\]", (0, 4)),
    (b"Variable", r"^[ \t]*from torch\.autograd import [^\n]*\bVariable\b", (0, 4)),
    (b"autograd.Variable", r"\bautograd\.Variable\(", (0, 4)),
    (b"clip_grad_norm", r"(?:(?<![.\w])|\butils\.)clip_grad_norm\(", (0, 4)),
    (b"init.", r"\binit\.(?:xavier|kaiming)_(?:uniform|normal)\(", (0, 4)),
    (b"rfft", r"\btorch\.i?rfft\(", (1, 7)),
    (b"torch.g", r"\btorch\.(?:gels|gesv)\(", (1, 2)),
    (b"torch.symeig", r"\btorch\.symeig\(", _BEFORE_MPS),
)
"""What the torch of its time was written for, with the last release that it is at home in."""
_NEW = _signs(
    (b"torch.device", r"\btorch\.device\(", (0, 4)),
    (b"no_grad", r"\btorch\.no_grad\(", (0, 4)),
    (b".to(", r"\.to\((?:self\.|args\.|opt\.|cfg\.|config\.)?device\b", (0, 4)),
    (b"backends.mps", r"(?<!hasattr\()(?<!\band )\btorch\.backends\.mps\.", (1, 12)),
    (b"float32_matmul", r"\btorch\.set_float32_matmul_precision\(", (1, 12)),
    (b"_Weights", r"\b[A-Z]\w+_Weights\.[A-Z]", (1, 12)),
    (b"weights_only", r"\btorch\.load\([^\n]*\bweights_only ?=", (1, 13)),
    (b"scaled_dot_product", r"\bscaled_dot_product_attention\(", (2, 0)),
    (b"torch.accelerator", r"\btorch\.accelerator\.", (2, 6)),
    (b"torch.compile", r"\btorch\.compile\(", (2, 0)),
    (b"torch.func", r"\btorch\.func\.|^from torch\.func import", (2, 0)),
    (b"torch.amp.GradScaler", r"\btorch\.amp\.GradScaler\(", (2, 3)),
)
"""What only a torch has that is as new as this."""
_ASKING = Sign(
    b"torch",
    later(
        rb"torch\.__version__|\bTORCH_VER(?:SION)?\b|\btorch_ver(?:sion)?\b"
        rb"|\b(?:hasattr|getattr)\(torch(?:\.\w+)*, ?[\"']"
    ),
    (0, 0),
)
"""What a file says that means to run on several: what only the newer of them have stands behind a
test there, and is needed by none."""
_COMPARED = Sign(
    b"ersion",
    later(
        rb"(?:torch\.__version__|\b(?:MIN_)?TORCH_VER(?:SION)?\b|\btorch_ver(?:sion)?\b)"
        rb"[^\n]{0,60}?(?:[<>]=?|=)[^\n\w]{0,4}(?:\w+\()?[\"'(\[]{0,2}"
        rb"(?:0[., ]|1(?:\.|, ?)(?:[0-9]|1[0-2])(?![0-9]))"
    ),
    _BEFORE_MPS,
)
"""A test for a release that has no MPS, or for the first that has: both sides of it are run."""


class Shown:
    """What the code below a project's topmost folder shows, looked up once."""

    def __init__(self) -> None:
        self._known: dict[str, Pin | None] = {}

    def in_project(self, top: str) -> Pin | None:
        if top not in self._known:
            self._known[top] = _shown_below(top)
        return self._known[top]


def _shown_below(top: str) -> Pin | None:
    """The oldest torch that its code was at home in, none older than the newest that it needs;
    where it shows no time of its own, the last that has no MPS."""
    found: Pin | None = None
    first: Pin | None = None
    needed: Release = (0, 0)
    for path in _sources(top):
        text = _text(path)
        if b"torch" not in text and b"PyTorch" not in text:
            continue
        shown = os.path.relpath(path, top).replace(os.sep, "/")
        if first is None and b"import torch" in text:
            first = Pin(_BEFORE_MPS, shown)
        if not _seen(_ASKING, text):
            needed = max((needed, *(sign.release for sign in _NEW if _seen(sign, text))))
        for named in above_code(shown, text):
            found = named if found is None else min(found, named)
        for sign in (*_OLD, _COMPARED):
            if found is None or sign.release < found.oldest:
                if _seen(sign, text):
                    # No row: what is known of a project would go with each line above it.
                    found = Pin(sign.release, shown)
    if found is None:
        return first if needed <= _BEFORE_MPS else None
    if not needed > found.oldest:
        return found
    return found._replace(oldest=needed)


def _seen(sign: Sign, text: bytes) -> bool:
    return sign.word in text and sign.shows.search(text) is not None


def _sources(top: str) -> Iterator[str]:
    """The modules and notebooks of a project, its topmost folders first."""
    files, size, folders = 0, 0, [top]
    for _ in range(_DEPTH):
        inner: list[str] = []
        for folder in folders:
            try:
                entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        inner.append(entry.path)
                    elif entry.name.endswith((".py", ".ipynb")):
                        files, size = files + 1, size + entry.stat().st_size
                        if files > _MOST_FILES or size > _MOST_BYTES:
                            return
                        yield entry.path
            except OSError:
                continue
        folders = inner


def _text(path: str) -> bytes:
    try:
        return read_regular(path, _LARGEST)
    except OSError:
        return b""
