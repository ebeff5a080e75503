"""Modules of a project that are copies of each other, as far as their texts tell: most of what one
defines, and most of its lines, stand in the other as well.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Whole

_DEFINED = re.compile(rb"\n(?:class|def|async[ \t]+def)[ \t]+(\w+)")
_SHORT = 16
"""Lines of fewer bytes stand in many modules (`return x`)."""
_FEWEST = 12
"""So many lines a module has at least that can be told for a copy."""
_ALIKE = ((0.8, 0.7), (0.5, 0.85))
"""Such shares of the definitions and of the lines make a copy: where one of two classes has another
name, more of the lines have to be the same."""
_LEFT_OUT = (b"#", b"import ", b"from ")
"""What lines begin with that many modules of a project share."""


class Alike:
    """Asked of a few modules of a project: all of its texts are gone through once."""

    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._indexes: dict[str, _Index] = {}
        """By the head of the project."""
        self._lines: dict[str, frozenset[bytes]] = {}
        self._near: dict[str, tuple[str, ...]] = {}

    def same(self, whole: Whole, path: str) -> tuple[str, ...]:
        """The other modules whose texts are the same."""
        index, data = self._index(whole), self._text(path)
        if len(self._lines_of(path)) < _FEWEST:
            return ()
        return tuple(
            other
            for other in index.by_size[len(data)]
            if other != path and self._text(other) == data
        )

    def near(self, whole: Whole, path: str) -> tuple[str, ...]:
        """The other modules in which most of this one stands, the same ones among them."""
        if path not in self._near:
            self._near[path] = tuple(self._found(self._index(whole), path))
        return self._near[path]

    def _found(self, index: _Index, path: str) -> list[str]:
        names, lines = index.names.get(path, frozenset()), self._lines_of(path)
        if not names or len(lines) < _FEWEST:
            return []
        shared = Counter(other for name in names for other in index.by_name[name])
        del shared[path]
        found: list[str] = []
        for other, number in shared.items():
            defined = number / len(names)
            wanted = [least for most, least in _ALIKE if defined >= most]
            if wanted and len(lines & self._lines_of(other)) >= min(wanted) * len(lines):
                found.append(other)
        return found

    def _index(self, whole: Whole) -> _Index:
        if whole.head not in self._indexes:
            index = self._indexes[whole.head] = _Index()
            for path in whole.modules:
                index.put(path, self._text(path))
        return self._indexes[whole.head]

    def _lines_of(self, path: str) -> frozenset[bytes]:
        if path not in self._lines:
            lines = map(bytes.strip, self._text(path).split(b"\n"))
            self._lines[path] = frozenset(
                line for line in lines if len(line) >= _SHORT and not line.startswith(_LEFT_OUT)
            )
        return self._lines[path]

    def _text(self, path: str) -> bytes:
        return self._modules.text(path) or b""


class _Index:
    def __init__(self) -> None:
        self.by_size: dict[int, list[str]] = {}
        self.by_name: dict[bytes, list[str]] = {}
        self.names: dict[str, frozenset[bytes]] = {}

    def put(self, path: str, data: bytes) -> None:
        self.by_size.setdefault(len(data), []).append(path)
        names = self.names[path] = frozenset(_DEFINED.findall(b"\n" + data))
        for name in names:
            self.by_name.setdefault(name, []).append(path)
