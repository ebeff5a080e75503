"""Real files, changed as people, editors and transfers change them: mostly for the worse."""

from __future__ import annotations

import io
import keyword
import tokenize

from conftest import FIXTURES
from hypothesis import strategies as st

SOURCES = tuple(
    path.read_bytes()
    for path in sorted((FIXTURES / "rules").rglob("*.py"))
    if path.stat().st_size < 4_000
)
"""What the rules are tried on; each speaks of torch."""
NOTEBOOKS = tuple(
    path.read_bytes()
    for path in sorted((FIXTURES / "notebooks").rglob("*.ipynb"))
    if path.stat().st_size < 20_000
)
ODD = (
    b"\x0c", b"\t", b"\r", b"\r\n", b"\x00", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xff\xfe", b"\\\n",
    b"\xe2\x80\xa8", b"\x1a", b"# -*- coding: latin-1 -*-\n", b"# -*- coding: utf-16 -*-\n",
    b"# coding: nothing-like-it\n", b"'''", b'"', b"f'{", b"# noqa: MPS201\n", b"# noqa\n",
    b"# mpslint: disable", b"(" * 300, b"[" * 90 + b"]" * 90, b"-" * 2_000 + b"1", b"x" * 99_999,
    b"if x:\n", b"else:", b"    ", b"\n\n\n", b"lambda: (yield)", b"match x:\n    case _: pass\n",
    b"async ", b"await ", b"*", b"**", b":=", b"@", b"->", b"...", b"1_000e999j", b"0xg",
    b"\xc3\x9f",
)  # fmt: skip
"""Form feeds, tabs, lone carriage returns, byte order marks, lone surrogates, wrong cookies,
nesting, long lines and words in places where they do not belong."""
WORDS = (
    "torch", "cuda", "mps", "device", "is_available", "item", "numpy", "to", "cpu", "backends",
    "synchronize", "x", "model", "time", "perf_counter", "nn", "Module", "args", "self", "float64",
    "autocast", "amp", "load", "tensor", "zeros", "loss", "backward", "empty_cache", "manual_seed",
)  # fmt: skip
"""What the rules ask for, for programs that would speak of nothing otherwise."""


def pieces(data: bytes) -> list[bytes]:
    """A text as lines, words and what stands between them."""
    out: list[bytes] = []
    for line in data.splitlines(keepends=True):
        word = b""
        for at in range(len(line)):
            one = line[at : at + 1]
            if one.isalnum() or one == b"_":
                word += one
                continue
            out += [word, one] if word else [one]
            word = b""
        out += [word] if word else []
    return out


@st.composite
def mutated(draw: st.DrawFn, of: tuple[bytes, ...] = SOURCES) -> bytes:
    """A real file after one to four accidents."""
    parts = pieces(draw(st.sampled_from(of)))
    for _ in range(draw(st.integers(1, 4))):
        accident = draw(st.sampled_from(ACCIDENTS))
        at, other = (draw(st.integers(0, len(parts))) for _ in range(2))
        parts = accident(parts, at, other, draw(st.sampled_from(ODD) | st.binary(max_size=6)))
    return b"".join(parts)


Parts = list[bytes]


def _cut_off(parts: Parts, at: int, other: int, odd: bytes) -> Parts:
    return parts[:at]


def _dropped(parts: Parts, at: int, other: int, odd: bytes) -> Parts:
    return parts[:at] + parts[at + 1 :]


def _repeated(parts: Parts, at: int, other: int, odd: bytes) -> Parts:
    return parts[:at] + parts[at : at + 3] + parts[at:]


def _put_in(parts: Parts, at: int, other: int, odd: bytes) -> Parts:
    return [*parts[:at], odd, *parts[at:]]


def _swapped(parts: Parts, at: int, other: int, odd: bytes) -> Parts:
    out = list(parts)
    if at < len(parts) and other < len(parts):
        out[at], out[other] = out[other], out[at]
    return out


ACCIDENTS = (_cut_off, _dropped, _repeated, _put_in, _swapped)


def about_torch(program: str, choices: int) -> str:
    """A program with its names replaced by those that the rules ask for, repeatably."""
    names: dict[str, str] = {}
    out = []
    for kind, text, *_ in tokenize.generate_tokens(io.StringIO(program).readline):
        if kind == tokenize.NAME and not keyword.iskeyword(text):
            choices = (choices * 1_103_515_245 + 12_345) % 2**31
            text = names.setdefault(text, WORDS[choices % len(WORDS)])
        out.append((kind, text))
    return "import torch\n" + tokenize.untokenize(out)
