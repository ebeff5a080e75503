"""The calls of a function by the other files of its project, as they are written there.

What its own file gives it says nothing of what others do: a trial below the test of `__name__`
gives one number, and the program that imports the function another.
"""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING

from mpslint.project.layout.import_texts import apart, imported_modules, module_name
from mpslint.project.layout.word_holders import stands_alone
from mpslint.project.uses.called_around import method_of
from mpslint.semantics.reads.reading_callees import methods
from mpslint.semantics.steps.converting_methods import takes
from mpslint.semantics.syntax.type_questions import only_asks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects
    from mpslint.semantics.context import Context
    from mpslint.semantics.elsewhere.elsewhere import Elsewhere

_MOST_PARSED = 8
"""Where more modules speak of a function it is not looked up what each of them gives."""


class CallsElsewhere:
    def __init__(self, projects: Projects, modules: Modules, elsewhere: Elsewhere) -> None:
        self._projects = projects
        self._modules = modules
        self._elsewhere = elsewhere

    def of(self, path: str, name: str) -> tuple[tuple[ast.Call | None, ...], tuple[str, ...]]:
        """The calls of the function, class or method (`Net.run`) `name` of the file at the absolute
        `path` by the other modules of its project that import that, with None for a use of it that
        may lead to any call; and the files that this rests on. Of a project that is too large to be
        looked through, or whose head is not known, those of the folder and of the one above are
        asked."""
        klass, _, last = name.rpartition(".")
        word = last.encode("utf-8", "replace")
        whole = self._projects.searched(path)
        if whole is not None:
            files = whole.files
            users = self._modules.holding_alone(whole.modules, word)
        else:
            folder = os.path.dirname(path)
            beside = (*self._modules.beside(path), *self._modules.beside(folder))
            files = (folder, os.path.dirname(folder), *beside)
            users = tuple(one for one in beside if stands_alone(word, self._text(one)))
        known_by = self._known_by(path)
        users = tuple(one for one in users if one != path and self._imports(one, known_by))
        calls: list[ast.Call | None] = [None] if len(users) > _MOST_PARSED else []
        for other in users[:_MOST_PARSED]:
            context = self._modules.context(other, self._elsewhere)
            if context is not None:
                found = self._of_method if klass else self._calls
                calls += found(context, path, name)
        return tuple(calls), files

    def _text(self, path: str) -> bytes:
        return self._modules.text(path) or b""

    def _known_by(self, path: str) -> frozenset[str]:
        """The words one of which stands where others import from a file: its own name, and those of
        the packages around it, which may hand on what it defines."""
        inside = os.path.relpath(os.path.dirname(path), self._modules.roots(path)[0])
        return frozenset({module_name(path), *inside.split(os.sep)}) - {os.curdir, os.pardir}

    def _imports(self, other: str, words: frozenset[str]) -> bool:
        text = self._text(other)
        return any(word.encode("utf-8", "replace") in text for word in words) and any(
            not words.isdisjoint(module.split(".")) for module in imported_modules(text)
        )

    def _calls(self, context: Context, path: str, name: str) -> Iterator[ast.Call | None]:
        known: dict[str, bool] = {}
        for use in _may_be(context, name):
            qualified = context.resolve(use)
            if qualified is None:
                continue
            if qualified not in known:
                known[qualified] = self._is_from(context.source.path, qualified, path, name)
            if known[qualified] and not only_asks(context.index, use):
                call = context.index.parents.get(use)
                yield call if isinstance(call, ast.Call) and call.func is use else None

    def _of_method(self, context: Context, path: str, name: str) -> Iterator[ast.Call]:
        """The calls of a method by a file that has its class, on what may be an object of it."""
        klass, _, last = name.rpartition(".")
        own = self._modules.context(path, self._elsewhere)
        method = method_of(own, klass, last) if own is not None else None
        if method is None:
            return
        for call in context.index.calls.get(last, ()):
            use = call.func
            if not isinstance(use, ast.Attribute) or not takes(method, call):
                continue
            made = [one.rpartition(".")[0] for one in methods(context, use)]
            if context.resolve(use.value) is None and (
                not made or any(self._is_from(context.source.path, x, path, klass) for x in made)
            ):
                yield call

    def _is_from(self, here: str, qualified: str, path: str, name: str) -> bool:
        """Whether what a file imports by a name is what the one at `path` defines, be it handed on
        by a package."""
        module, last = apart(qualified)
        found = self._modules.find(here, module)[0]
        if found is None or found == path:
            return found is not None and last == name
        handed = self._elsewhere.definition(here, qualified)
        return (
            handed is not None
            and handed.context.source.path == path
            and any(getattr(binding.node, "name", "") == name for binding in handed.bindings)
        )


def _may_be(context: Context, name: str) -> Iterator[ast.expr]:
    """The names and attributes of a file that may be what another one defines under a name."""
    yield from context.index.attributes.get(name, ())
    spelled = {name}
    for qualified, others in context.aliases.items():
        if qualified.rpartition(".")[2] == name:
            spelled |= others
    for one in sorted(spelled):
        for use in context.index.names.get(one, ()):
            if isinstance(use.ctx, ast.Load):
                yield use
