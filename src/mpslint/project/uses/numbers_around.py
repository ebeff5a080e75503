"""Whether what a project puts under an attribute, or gives for a parameter, is whole numbers alone:
the number of a GPU that one file takes as an option, and another one moves things to."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from mpslint.project.layout.whole import PROSE
from mpslint.semantics.elsewhere.elsewhere import Given
from mpslint.semantics.gpus.whole_numbers import Numbers

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects, Whole
    from mpslint.project.uses.mentions import Mentions
    from mpslint.semantics.context import Context
    from mpslint.semantics.elsewhere.elsewhere import Elsewhere

_MOST_PARSED = 24
"""A name that more modules set is a common word, and one of them will mean another thing."""
_NUMBERS = rb"[ \t\d,\[\]]*(?:None|null|~)?[ \t]*(?:#[^\n]*)?$"
_Files = tuple[str, ...]


class NumbersAround:
    def __init__(
        self, projects: Projects, modules: Modules, mentions: Mentions, elsewhere: Elsewhere
    ) -> None:
        self._projects = projects
        self._modules = modules
        self._mentions = mentions
        self._elsewhere = elsewhere
        self._setting: dict[tuple[_Files, str], tuple[list[str] | None, _Files]] = {}

    def are(self, path: str, asked: str | Given) -> tuple[bool, _Files]:
        """Whether all that the project of the file at the absolute `path` puts under an attribute
        of this name, or gives for a parameter, is whole numbers; and the files that this rests
        on."""
        asking = _Asking(self, path)
        return asking.are(path, asked), tuple(dict.fromkeys(asking.files))

    def calls(self, path: str, given: Given) -> tuple[list[tuple[Context, ast.Call]], _Files]:
        found, files = self._mentions.calls(path, given, self._elsewhere)
        return found or [], files

    def setting(self, path: str, name: str) -> tuple[list[Context] | None, _Files]:
        """The files of a project that may set an attribute of this name; None where somebody does
        who is not understood."""
        whole = self._projects.of(path)
        if whole is None:
            return None, ()
        key = whole.modules, name
        if key not in self._setting:  # Each question that leads here asks for the same few names.
            self._setting[key] = self._users(whole, name)
        users, files = self._setting[key]
        if users is None:
            return None, files
        contexts = [self._modules.context(one, self._elsewhere) for one in users]
        read = [one for one in contexts if one is not None]
        return (read if len(read) == len(contexts) else None), files

    def _users(self, whole: Whole, name: str) -> tuple[list[str] | None, _Files]:
        """The same by their paths, as far as texts show it."""
        spelled, holding = name.encode("utf-8", "replace"), self._modules.holding
        word = re.escape(spelled)
        setting = re.compile(rb"(?<![\w-])%s[\"']?[ \t]*[:=](?!=)(?!%s)" % (word, _NUMBERS), re.M)
        for other in holding(whole.others, spelled):
            if not other.endswith(PROSE) and setting.search(self._modules.text(other) or b""):
                return None, (other,)
        given = re.compile(
            rb"\b%s\b[^\n]*=(?!=)|[\"']%s[\"']|--?%s\b" % (word, word, word.replace(b"_", b"[-_]"))
        )
        part = max(spelled.split(b"_"), key=len)  # An option is spelled with hyphens as well.
        users = [
            one
            for one in holding(whole.modules, part)
            if given.search(self._modules.text(one) or b"")
        ]
        return (users if len(users) <= _MOST_PARSED else None), whole.files


class _Asking:
    """One question, with those that it leads to: what is asked already is taken to be so."""

    def __init__(self, around: NumbersAround, path: str) -> None:
        self._around = around
        self._path = path
        self._asked: dict[tuple[str, str | Given], bool] = {}
        self._numbers = Numbers(lambda context, asked: self.are(context.source.path, asked))
        self.files: list[str] = []

    def are(self, path: str, asked: str | Given) -> bool:
        key = (path if isinstance(asked, Given) else "", asked)
        if key not in self._asked:
            self._asked[key] = True
            self._asked[key] = (
                self._given(path, asked) if isinstance(asked, Given) else self._kept(asked)
            )
        return self._asked[key]

    def _kept(self, name: str) -> bool:
        contexts, files = self._around.setting(self._path, name)
        self.files += files
        found = [self._numbers.kept(one, name) for one in contexts or ()]
        return True in found and False not in found

    def _given(self, path: str, given: Given) -> bool:
        calls, files = self._around.calls(path, given)
        self.files += files
        return bool(calls) and all(
            given.left_out_by(call)
            if (value := given.of(call)) is None
            else self._numbers.is_one(context, value)
            for context, call in calls
        )
