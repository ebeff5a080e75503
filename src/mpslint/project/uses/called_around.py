"""Calls of a function by the other files of its project that import it."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import TYPE_CHECKING

from mpslint.project.layout.import_texts import apart
from mpslint.project.layout.word_holders import is_in_word
from mpslint.records import NamedTuple
from mpslint.semantics.reads.reading_callees import methods
from mpslint.semantics.steps.converting_methods import names_its_own, takes
from mpslint.semantics.terms.value import Kind

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Whole
    from mpslint.semantics.context import Context
    from mpslint.semantics.elsewhere.elsewhere import Elsewhere

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
        word = re.escape(name.encode("utf-8", "replace"))
        spelled = re.compile(rb"%s(?:\(| as )" % word)

        def is_spelled(data: bytes) -> bool:
            return any(not is_in_word(data, match.start()) for match in spelled.finditer(data))

        for other, context in self._users(whole, path, name, is_spelled, words):
            for call in self._calls(context, path, name):
                yield Site(other, context, call)

    def sites_of_method(
        self, whole: Whole, path: str, klass: str, name: str, words: tuple[tuple[bytes, ...], ...]
    ) -> Iterator[Site]:
        """Calls of the method `name` of the class `klass` of the file at `path`, on what such a
        module makes of the class, or is given by who calls it and which the method fits."""
        own = self._modules.context(path, self._elsewhere)
        method = method_of(own, klass, name) if own is not None else None
        if method is None:
            return
        spelled = re.compile(rb"\.%s\(" % re.escape(name.encode("utf-8", "replace")))
        for other, context in self._users(whole, path, name, spelled.search, words):
            for call in context.index.calls.get(name, ()):
                if not isinstance(call.func, ast.Attribute) or not takes(method, call):
                    continue
                made = [item.rpartition(".")[0] for item in methods(context, call.func)]
                if any(
                    item.rpartition(".")[2] == klass and self._is_from(context, item, path)
                    for item in made
                ) or (
                    not made and _is_given(context, call.func.value) and names_its_own(method, call)
                ):
                    yield Site(other, context, call)

    def _users(
        self,
        whole: Whole,
        path: str,
        name: str,
        is_spelled: Callable[[bytes], object],
        words: tuple[tuple[bytes, ...], ...],
    ) -> Iterator[tuple[str, Context]]:
        word = name.encode("utf-8", "replace")
        users = (
            other
            for other in self._modules.holding(whole.modules, word)
            if other != path
            and (data := self._modules.text(other) or b"")
            and all(any(one in data for one in group) for group in words)
            and is_spelled(data)
        )
        for other in islice(users, _MOST_PARSED):
            context = self._modules.context(other, self._elsewhere)
            if context is not None:
                yield other, context

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
        module, _ = apart(qualified)
        found = self._modules.find(context.source.path, module)[0]
        if found is None:
            return False
        around = os.path.dirname(found) + os.sep
        return found == path or (
            os.path.basename(found) == "__init__.py" and path.startswith(around)
        )


def method_of(context: Context, klass: str, name: str) -> ast.FunctionDef | None:
    """The method of a class of a file."""
    for item in context.tree.body:
        if isinstance(item, ast.ClassDef) and item.name == klass:
            for part in item.body:
                if isinstance(part, ast.FunctionDef) and part.name == name:
                    return part
    return None


def _is_given(context: Context, receiver: ast.expr) -> bool:
    """Whether what a method is called on comes from who calls the function around, and nothing is
    known of it."""
    if not isinstance(receiver, ast.Name) or context.values.of(receiver).kind is not Kind.UNKNOWN:
        return False
    bindings = context.flow.reaching(receiver)
    return bool(bindings) and all(item.kind == "parameter" for item in bindings)
