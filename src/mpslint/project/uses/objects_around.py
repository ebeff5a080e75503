"""Whether a project does more with the objects of a class than their own file shows: a class that
is derived from it has a property in place of an attribute, or somebody sets another value."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.project.layout.whole import PROSE
from mpslint.project.layout.word_holders import stands_alone
from mpslint.semantics.gpus.objects_changed import defines, derived, sets

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects, Whole
    from mpslint.project.uses.mentions import Mentions
    from mpslint.semantics.elsewhere.elsewhere import Elsewhere

_MOST_PARSED = 24
"""A name that stands in more modules than this is a common word, and one of them may do so."""


class ObjectsAround:
    def __init__(
        self, projects: Projects, modules: Modules, mentions: Mentions, elsewhere: Elsewhere
    ) -> None:
        self._projects = projects
        self._modules = modules
        self._mentions = mentions
        self._elsewhere = elsewhere

    def change(
        self, path: str, name: str, attributes: frozenset[str]
    ) -> tuple[bool, tuple[str, ...]]:
        """Whether the class `name` of the file at the absolute `path`, or one that is derived from
        it, is given one of the attributes anew; where no class is named, whether anybody gives one
        to whatever object; and the files that this rests on. Of a project whose head is not known
        the modules of the folder, and of the one above, are asked."""
        whole = self._projects.of(path)
        if not name:
            return self._are_named(whole, path, attributes)
        if whole is not None:
            files, modules = whole.files, list(whole.modules)
        else:
            folder = os.path.dirname(path)
            modules = [path, *self._modules.beside(path), *self._modules.beside(folder)]
            files = (folder, os.path.dirname(folder), *modules)
        names = [name]
        for one in names:
            word = one.encode("utf-8", "replace")
            users = [it for it in modules if word in (self._modules.text(it) or b"")]
            users = [it for it in users if self._modules.has_words(it, frozenset({word}))]
            if len(users) > _MOST_PARSED:
                return True, files
            for other in users:
                context = self._modules.context(other, self._elsewhere)
                if context is None or sets(context, frozenset({one}), attributes):
                    return True, files
                for klass in derived(context, one):
                    if defines(context, klass, attributes):
                        return True, files
                    if klass.name not in names:
                        names.append(klass.name)
        return False, files

    def _are_named(
        self, whole: Whole | None, path: str, attributes: frozenset[str]
    ) -> tuple[bool, tuple[str, ...]]:
        """Whether somebody sets one of the attributes, gives something by its name, or tells those
        who install the project of it."""
        if whole is None:
            return True, ()
        setter = self._mentions.setter(path, attributes)
        if setter is not None:
            return True, (setter,)
        told = [
            other
            for other in whole.others
            if other.endswith(PROSE)
            and any(
                stands_alone(b"." + name.encode("utf-8", "replace"), text)
                for text in (self._modules.text(other) or b"",)
                for name in attributes
            )
        ]
        is_named = bool(told) or any(self._mentions.is_named(path, name) for name in attributes)
        return is_named, whole.files
