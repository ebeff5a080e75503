"""Texts that leave a part open and may name a module, whoever reads them:
`import_module(f"models.{name}.net")`, `locate(f"models.net_{name}.Net")`,
`f"models/net_{name}.py"`, `python train_$TASK.py`.

Such a text may mean any module whose place goes with what is written out. Where that is no more
than the package (`f"models.{name}"`), texts of other uses read the same, the names of weights among
them (`f"encoder.{name}"`): one that imports by texts has to have it. What stands behind the module
is what that defines: `f"net_{epoch}.pth"` names none.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from mpslint.project.layout.import_texts import imported_modules
from mpslint.project.layout.whole import PROSE, SETTINGS
from mpslint.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.project.layout.modules import Modules

_EXECUTING = re.compile(rb"(?<![.\w])exec\(")
# Fact: Python's standard library, what gets a module by a text, under whatever name it is called.
_IMPORTING = re.compile(
    rb"\b(?:import_module|__import__|resolve_name|run_module|pydoc)\b|(?<![.\w])exec\("
)
_ASKED = re.compile(r"\b(?:import_module|__import__)\(\s*[rfRF]*\Z")
"""What stands before a text that is nothing but a module."""
_EVALUATED = re.compile(r"\beval\(\s*[rfRF]*\Z")
"""What stands before one that reaches no further than the names which are there already."""
_GIVEN = rb"\{[^{}\n]*\}|%s|%\(\w+\)s"
_OPEN = re.compile(_GIVEN.decode())
_EXECUTED = re.compile(
    rb"(?:[\"';]|\\n)[ \t]*(?:from|import)[ \t]+(?P<module>(?:[\w.]|%s)*)(?P<end>[\"']?)" % _GIVEN
)
"""An import at the beginning of a text, or of a statement in one, which may end in what it imports.
"""
_QUOTED = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
_ADDED = re.compile(r"\s*\+\s*(?:[\w.]+(?:\([^()\n]*\)|\[[^\[\]\n]*\])*\s*\+\s*)?[rfRF]*\Z")
"""What stands between two texts that make one."""
_SCRIPTED = re.compile(
    r"\$\{\{[^}\n]*\}\}|\{\{[^}\n]*\}\}|\$\{[^{}\n]*\}|\{[^{}\n]*\}|\$\([^()\n]*\)|\$\w+"
    r"|<[\w -]+>|%\w+%"
)
"""What shells, Make, templates, settings and people write for a part that is open. Each begins with
a sign of its own, which is looked for in a large text several times as fast."""
_HOLE = "\0"
_WORD = re.compile(r"[\w./:\0-]+")
_LETTERS = re.compile(r"[A-Za-z]{2}")
_MOST_BEFORE = 40


class OpenText(NamedTuple):
    """A text as an expression for the places of modules."""

    fits: re.Pattern[str]
    begins: bool
    """Whether its beginning is written out."""
    weak: bool
    """Whether of the module no more is written out than its package."""
    owned: str
    """What the module has to define; empty: nothing."""


class OpenTexts:
    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._known: dict[str, tuple[OpenText, ...]] = {}
        self._led: dict[tuple[str, str], dict[OpenText, int]] = {}
        self._importing: dict[str, bool] = {}

    def lead(self, other: str, path: str) -> bool:
        """Whether the file at `other` has a text that may name the module at `path`, absolute."""
        return bool(self.starts(other, path))

    def starts(self, other: str, path: str) -> dict[OpenText, int]:
        """The texts by which it may do so, each with the place of `path` where that begins; of one
        whose own beginning is open this is -1."""
        if other not in self._known:
            self._known[other] = tuple(_texts(other, self._modules.text(other) or b""))
        if not self._known[other]:
            return {}
        if (other, path) not in self._led:
            self._led[other, path] = self._starts(other, path)
        return self._led[other, path]

    def _starts(self, other: str, path: str) -> dict[OpenText, int]:
        place = path.removesuffix(".py").removesuffix(os.sep + "__init__").replace(os.sep, ".")
        return {
            text: match.start() if text.begins else -1
            for text in self._known[other]
            if (match := text.fits.search(place)) is not None
            and (not text.owned or self._defines(path, text.owned))
            and (not text.weak or self._gets_by_text(other))
        }

    def _defines(self, path: str, name: str) -> bool:
        data, word = self._modules.text(path) or b"", re.escape(name.encode(errors="replace"))
        defined = rb"^(?:(?:class|def|async[ \t]+def)[ \t]+%s\b|%s[ \t]*[:=])" % (word, word)
        return re.search(defined, data, re.M) is not None

    def _gets_by_text(self, other: str) -> bool:
        """Whether a module, or one that it imports, gets modules by texts."""
        if other not in self._importing:
            data = self._modules.text(other) or b""
            found = (self._modules.find(other, one)[0] for one in imported_modules(data))
            self._importing[other] = _IMPORTING.search(data) is not None or any(
                one is not None and _IMPORTING.search(self._modules.text(one) or b"") is not None
                for one in found
            )
        return self._importing[other]


def _texts(other: str, data: bytes) -> Iterator[OpenText]:
    if not other.endswith(".py"):
        yield from dict.fromkeys(_told(other, data))
        return
    if b"exec(" in data and _EXECUTING.search(data):
        for match in _EXECUTED.finditer(data):
            module = _OPEN.sub(_HOLE, match["module"].decode(errors="replace")).lstrip(".")
            if module or match["end"]:
                spelled = _spelled(module) + (_spelled(_HOLE) if match["end"] else "")
                fits = re.compile(rf"\.{spelled}$")
                yield OpenText(fits, module[:1] not in ("", _HOLE), weak=False, owned="")
    yield from dict.fromkeys(_quoted(data.decode(errors="replace")))


def _quoted(text: str) -> Iterator[OpenText]:
    """Those of a module's strings, put together where several make one."""
    made, start, last = "", 0, 0
    for match in _QUOTED.finditer(text):
        between = _ADDED.match(text, last, match.start()) if made else None
        inner = _OPEN.sub(_HOLE, match[0][1:-1])
        if between is not None:
            made += (_HOLE if between[0].count("+") == 2 else "") + inner
        else:
            if _HOLE in made:
                yield from _named(made, text, start)
            before = text[max(0, match.start() - _MOST_BEFORE) : match.start()].rstrip("rfRFbB")
            made, start = (_HOLE if before.rstrip().endswith("+") else "") + inner, match.start()
        last = match.end()
        after = text[last : last + _MOST_BEFORE].lstrip()
        if after.startswith("+") and not _goes_on(text, last):
            made += _HOLE
    if _HOLE in made:
        yield from _named(made, text, start)


def _goes_on(text: str, end: int) -> bool:
    """Whether another text is added to one that ends here."""
    match = _QUOTED.search(text, end)
    return match is not None and _ADDED.match(text, end, match.start()) is not None


def _named(made: str, text: str, start: int) -> Iterator[OpenText]:
    before = text[max(0, start - _MOST_BEFORE) : start]
    if _EVALUATED.search(before):
        return
    is_asked = _ASKED.search(before) is not None
    for match in _WORD.finditer(made):
        if _HOLE in match[0]:
            yield from _read(match[0], is_module=is_asked, is_told=False)


def _told(other: str, data: bytes) -> Iterator[OpenText]:
    """Those of a file that is no module."""
    text = _SCRIPTED.sub(_HOLE, data.decode(errors="replace"))
    is_prose = other.endswith(PROSE)
    if not is_prose and not other.endswith(SETTINGS):  # Those of tools say so what is looked at.
        text = text.replace("*", _HOLE)
    if _HOLE not in text:
        return
    for match in _open_words(text):
        before = text[max(0, match.start() - _MOST_BEFORE) : match.start()].rstrip()
        is_started = before.endswith(("python", "python3"))
        yield from _read(
            match[0], is_module=before.endswith("-m"), is_told=is_prose and not is_started
        )


def _open_words(text: str) -> Iterator[re.Match[str]]:
    """The words with open parts, of which most rows of a large text have none."""
    at = text.find(_HOLE)
    while at >= 0:
        start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        end = end if end >= 0 else len(text)
        yield from (match for match in _WORD.finditer(text, start, end) if _HOLE in match[0])
        at = text.find(_HOLE, end)


def _read(word: str, *, is_module: bool, is_told: bool) -> Iterator[OpenText]:
    """What a word with open parts may name: a file of Python's, a module, or what that has."""
    name, _, owned = word.strip("-").rpartition("../")[2].partition(":")
    if name.endswith(".py"):
        parts = [one for one in name.removesuffix(".py").split("/") if one not in ("", ".")]
        inner = any(_is_written(one) for one in parts[:-1])
        stem = parts[-1] if parts else ""
        if not any("." in one for one in parts) and _LETTERS.search(stem):
            if inner or _HOLE in stem:
                yield _text(parts)
        elif inner and stem == _HOLE and not is_told:
            yield _text(parts)
        return
    parts = [one for one in name.split(".") if one]
    if "/" in name or not parts or not all(map(_is_name, parts)):
        return
    if not owned:
        has_letters = _LETTERS.search(parts[-1]) is not None
        if any(map(_is_written, parts[:-1])):
            if has_letters or not is_told:
                yield _text(parts, weak=not has_letters and not is_module)
        elif has_letters and (is_module or (len(parts) > 1 and parts[-1][0] != _HOLE)):
            yield _text(parts, weak=not is_module)
        *parts, owned = parts
    if parts and owned.isidentifier() and any(map(_LETTERS.search, parts)):
        if any(_HOLE in one for one in parts):
            yield _text(parts, owned=owned)


def _text(parts: list[str], *, weak: bool = False, owned: str = "") -> OpenText:
    name = ".".join(parts)
    return OpenText(re.compile(rf"\.{_spelled(name)}$"), name[0] != _HOLE, weak, owned)


def _is_name(part: str) -> bool:
    return part.replace(_HOLE, "x").isidentifier()


def _is_written(part: str) -> bool:
    return _HOLE not in part and _LETTERS.search(part) is not None


def _spelled(module: str) -> str:
    """A text as an expression; what is open at its end is one name, as it mostly is."""
    parts = list(map(re.escape, module.split(_HOLE)))
    last = parts.pop()
    if not parts:
        return last
    return r"\w[\w.-]*".join(parts) + (rf"\w[\w.-]*{last}" if last else r"\w+")
