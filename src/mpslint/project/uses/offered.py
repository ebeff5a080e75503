"""Modules of a published project whose functions are for those who install that, though nothing in
the project uses them: its texts speak of the module, or a package hands on all that it has.

A library that has tests or a documentation has leftovers as a program has: nobody who reads those
comes upon them. Of one that has neither, nobody can tell what it offers.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Whole

_STAR = re.compile(rb"^[ \t]*from[ \t]+([.\w]+)[ \t]+import[ \t]*\(?[ \t]*\*", re.M)
_TEST = re.compile(r"test_.*\.py|.*_test\.py")  # Fact: pytest's names of files that it collects.


class Offered:
    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._starred: dict[Whole, frozenset[str]] = {}
        self._known: dict[str, bool] = {}
        self._shown: dict[Whole, bool] = {}

    def is_shown(self, whole: Whole) -> bool:
        """Whether a project has tests or a documentation, which show what it offers."""
        if whole not in self._shown:
            self._shown[whole] = any(
                _TEST.fullmatch(os.path.basename(path)) for path in whole.modules
            ) or any(
                path.endswith(".rst") and os.path.dirname(path) != whole.head
                for path in whole.others
            )
        return self._shown[whole]

    def includes(self, whole: Whole, path: str) -> bool:
        if path not in self._known:
            self._known[path] = (
                not self.is_shown(whole)
                or self._is_told(whole, path)
                or path in self._all_of(whole)
            )
        return self._known[path]

    def _all_of(self, whole: Whole) -> frozenset[str]:
        """The modules of which another one takes all that they have."""
        if whole not in self._starred:
            self._starred[whole] = frozenset(
                found
                for other in whole.modules
                for module in set(_STAR.findall(self._modules.text(other) or b""))
                if (found := self._modules.find(other, module.decode("utf-8", "replace"))[0])
            )
        return self._starred[whole]

    def _is_told(self, whole: Whole, path: str) -> bool:
        folder, own = os.path.split(path.removesuffix(".py"))
        stem = own if own != "__init__" else os.path.basename(folder)
        word = stem.encode("utf-8", "replace")
        spoken = re.compile(rb"[./:]%s\b" % re.escape(word))
        return any(
            spoken.search(self._modules.text(other) or b"")
            for other in self._modules.holding(whole.others, word)
        )
