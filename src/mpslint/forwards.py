"""Whether a forward pass of another file of the project runs a function: then it is as hot as what
stands in a `forward` itself, wherever it is defined."""

from __future__ import annotations

import os
import re
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.modules import Modules
    from mpslint.semantics.context import Context
    from mpslint.semantics.elsewhere import Elsewhere
    from mpslint.whole import Projects

_MOST_PARSED = 6
"""A function that more modules than this speak of is found in one of the first, or is not one that
a forward pass calls by its name."""
_PASS = b"def forward"


class Forwards:
    def __init__(self, projects: Projects, modules: Modules, elsewhere: Elsewhere) -> None:
        self._projects = projects
        self._modules = modules
        self._elsewhere = elsewhere

    def run(self, path: str, name: str) -> tuple[bool, tuple[str, ...]]:
        """Whether a forward pass of another file calls the function `name` of the file at the
        absolute `path`, and the files that this rests on."""
        whole = self._projects.of(path)
        if whole is None:
            return False, ()
        word = name.encode("utf-8", "replace")
        spelled = re.compile(rb"\b%s(\(| as )" % re.escape(word))
        users = (
            other
            for other in whole.modules
            if other != path
            and word in (data := self._modules.text(other) or b"")
            and _PASS in data
            and spelled.search(data)
        )
        for other in islice(users, _MOST_PARSED):
            context = self._modules.context(other, self._elsewhere)
            if context is not None and self._runs(context, path, name):
                return True, (other,)
        return False, whole.files

    def _runs(self, context: Context, path: str, name: str) -> bool:
        spelled = {name}
        for qualified, others in context.aliases.items():
            if qualified.rpartition(".")[2] == name:
                spelled |= others
        return any(
            self._is_from(context, context.resolve(call.func), path)
            and context.passes.around(call) is not None
            for one in spelled
            for call in context.index.calls.get(one, ())
        )

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
