"""Calls of a function by the other files of its project that import it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple

if TYPE_CHECKING:
    import ast

    from mpslint.modules import Modules
    from mpslint.semantics.context import Context
    from mpslint.semantics.elsewhere import Elsewhere
    from mpslint.whole import Whole

_MOST_PARSED = 6
"""A function that more modules than this speak of is called by its name in one of the first, or is
not called so by whom we look for."""


class Site(NamedTuple):
    """A call, and the file that it stands in."""

    path: str
    context: Context
    call: ast.Call


class CalledAround:
    def __init__(self, modules: Modules, elsewhere: Elsewhere) -> None:
        self._modules = modules
        self._elsewhere = elsewhere

    def sites(
        self, whole: Whole, path: str, name: str, words: tuple[tuple[bytes, ...], ...]
    ) -> Iterator[Site]:
        """Calls of the function `name` of the file at the absolute `path` by other modules in whose
        text stands one of each group of `words`."""
        word = name.encode("utf-8", "replace")
        spelled = re.compile(rb"\b%s(\(| as )" % re.escape(word))
        users = (
            other
            for other in whole.modules
            if other != path
            and word in (data := self._modules.text(other) or b"")
            and all(any(one in data for one in group) for group in words)
            and spelled.search(data)
        )
        for other in islice(users, _MOST_PARSED):
            context = self._modules.context(other, self._elsewhere)
            if context is not None:
                for call in self._calls(context, path, name):
                    yield Site(other, context, call)

    def _calls(self, context: Context, path: str, name: str) -> Iterator[ast.Call]:
        spelled = {name}
        for qualified, others in context.aliases.items():
            if qualified.rpartition(".")[2] == name:
                spelled |= others
        for one in sorted(spelled):
            for call in context.index.calls.get(one, ()):
                if self._is_from(context, context.resolve(call.func), path):
                    yield call

    def _is_from(self, context: Context, qualified: str | None, path: str) -> bool:
        """Whether a qualified name is one of the file at `path`, or of a package around it."""
        if qualified is None:
            return False
        body = qualified.lstrip(".")
        module = qualified[: len(qualified) - len(body)] + body.rpartition(".")[0]
        found = self._modules.find(context.source.path, module)[0]
        if found is None:
            return False
        around = os.path.dirname(found) + os.sep
        return found == path or (
            os.path.basename(found) == "__init__.py" and path.startswith(around)
        )
