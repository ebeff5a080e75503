"""Imports by a text that leaves a part open: `import_module(f"models.{name}.net")`,
`exec("from models.{} import Net".format(name))`.

Such a text may mean any module whose place goes with what is written out.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.project.layout.modules import Modules

_EXECUTING = re.compile(rb"(?<![.\w])exec\(")
_IMPORTING = (b"import_module(", b"__import__(")
_GIVEN = rb"\{[^{}\n]*\}|%s|%\(\w+\)s"
_OPEN = re.compile(_GIVEN.decode())
_EXECUTED = re.compile(
    rb"(?:[\"';]|\\n)[ \t]*(?:from|import)[ \t]+(?P<module>(?:[\w.]|%s)*)(?P<end>[\"']?)" % _GIVEN
)
"""An import at the beginning of a text, or of a statement in one, which may end in what it imports.
"""
_IMPORTED = re.compile(rb"[\"'](?P<module>(?:[\w.]|%s)+)[\"']" % _GIVEN)
_ADDED = re.compile(rb"\+[ \t]*[\"'](?P<module>\.\w[\w.]*)[\"']")
"""What a text of unknown beginning ends in."""


class OpenTexts:
    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._known: dict[str, tuple[re.Pattern[str], ...]] = {}

    def import_(self, other: str, path: str) -> bool:
        """Whether the module at `other` has a text by which it may import the one at the absolute
        `path`."""
        if other not in self._known:
            texts = dict.fromkeys(_texts(self._modules.text(other) or b""))
            self._known[other] = tuple(map(re.compile, texts))
        if not self._known[other]:
            return False
        place = path.removesuffix(".py").removesuffix(os.sep + "__init__").replace(os.sep, ".")
        return any(text.search(place) for text in self._known[other])


def _texts(data: bytes) -> Iterator[str]:
    if b"exec(" in data and _EXECUTING.search(data):
        for match in _EXECUTED.finditer(data):
            module = _module(match)
            if module or match["end"]:
                yield rf"\.{_spelled(module)}{_spelled('{}') if match['end'] else ''}$"
    if any(word in data for word in _IMPORTING):
        for match in _IMPORTED.finditer(data):
            module = _module(match)
            if "." in module and _OPEN.sub("", module).strip(".") and _OPEN.search(module):
                yield rf"\.{_spelled(module)}$"
        for match in _ADDED.finditer(data):
            yield rf"{_spelled(match['module'].decode())}$"


def _module(match: re.Match[bytes]) -> str:
    return match["module"].decode(errors="replace").lstrip(".")


def _spelled(module: str) -> str:
    """A text as an expression; what is open at its end is one name, as it mostly is."""
    parts = list(map(re.escape, _OPEN.split(module)))
    last = parts.pop()
    if not parts:
        return last
    return r"\w[\w.]*".join(parts) + (rf"\w[\w.]*{last}" if last else r"\w+")
