"""Attributes that hold what torch says of CUDA, wherever the project makes the object.

`total_gpus = torch.cuda.device_count()` in the class of a configuration says what
`config.total_gpus > 0` asks in each other file, which is given the object and does not know it; and
`args.cuda = torch.cuda.is_available()` in a program says what `self.args.cuda` asks in its parts,
as `args.cuda = has_gpu` does, where another module keeps the answer under that name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mpslint.facts.machines import ANSWERS, ON_CUDA_AT_MOST
from mpslint.project.layout.import_texts import module_name
from mpslint.project.layout.out_of_reach import OneFurther
from mpslint.project.layout.whole import PROSE
from mpslint.project.layout.word_holders import stands_alone
from mpslint.semantics.uses.attribute_stores import Unknown, counts_cuda, narrows, said, stored

if TYPE_CHECKING:
    import ast

    from mpslint.facts.machines import Answer
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects
    from mpslint.semantics.context import Context
    from mpslint.semantics.elsewhere.elsewhere import Elsewhere

_COUNT, _FLAG = ANSWERS["torch.cuda.device_count"], ANSWERS["torch.cuda.is_available"]
_QUESTIONS = (b"is_available", b"device_count")
_MOST_PARSED = 24
"""A name that more modules set is a common word, and one of them will mean another thing."""
_Files = tuple[str, ...]


class KeptAnswers:
    def __init__(self, projects: Projects, modules: Modules, elsewhere: Elsewhere) -> None:
        self._projects = projects
        self._modules = modules
        self._elsewhere = elsewhere
        self._near = OneFurther(elsewhere)
        self._known: dict[tuple[_Files, str], tuple[Answer | None, _Files]] = {}

    def answer(self, path: str, name: str) -> tuple[Answer | None, _Files]:
        """What torch says of CUDA on each machine, where the project of the file at the absolute
        `path` puts nothing else under an attribute of this name; and the files that this rests
        on."""
        around = self._around(path)
        key = (around[0], name)
        if key not in self._known:
            self._known[key] = self._asked(name, *around)
        return self._known[key]

    def _asked(
        self, name: str, modules: _Files, others: _Files, files: _Files
    ) -> tuple[Answer | None, _Files]:
        spelled = name.encode("utf-8", "replace")
        part = max(spelled.split(b"_"), key=len)  # An option is spelled with hyphens as well.
        word = re.escape(spelled)
        option = re.compile(rb"(?<![\w-])--?%s(?![\w-])" % word.replace(b"_", b"[-_]"))
        setting = re.compile(
            rb"(?<![\w-])%s[\"']?[ \t]*[:=](?!=)(?![^\n]*cuda\.is_available\(\))" % word
        )
        for other in self._modules.holding(others, spelled):
            data = self._modules.text(other) or b""
            if not other.endswith(PROSE) and setting.search(data):
                return None, (other,)
        given = re.compile(rb"\b%s\b[^\n]*=(?!=)|[\"']%s[\"']" % (word, word))
        texts = [
            (other, self._modules.text(other) or b"")
            for other in self._modules.holding(modules, part)
        ]
        optional = [other for other, data in texts if option.search(data)]
        users = [
            other
            for other, data in texts
            if other in optional or (spelled in data and given.search(data))
        ]
        asking = {one for word in _QUESTIONS for one in self._modules.holding(modules, word)}
        if len(users) > _MOST_PARSED:
            return None, files
        told = self._told(users, asking)
        if not told and asking.isdisjoint(users):
            return None, files
        values: list[tuple[Context, ast.expr]] = []
        for other in users:
            context = self._modules.context(other, self._near if other in told else self._elsewhere)
            try:
                if context is None or (other in optional and not narrows(context, name)):
                    return None, (other,)
                values += [(context, value) for value in stored(context, name)]
            except Unknown:
                return None, (other,)
            if any(not counts_cuda(*value) for value in values):
                if not all(said(*value).at_most for value in values):
                    return None, files  # Whatever the rest puts there.
        if asking.isdisjoint(users) and not self._are_told(name, told):
            return None, files
        if not optional and any(
            option.search(self._modules.text(one) or b"")
            for one in self._modules.holding(others, part)
        ):
            return None, files  # Some library makes options of what the project defines.
        return _answer(values), files

    def _are_told(self, name: str, told: set[str]) -> bool:
        """Whether some value that these modules put under the name is an answer of torch's for what
        another one says, and not for how it is called."""
        for one in told:
            near, far = (self._modules.context(one, who) for who in (self._near, self._elsewhere))
            if near is None or far is None:
                continue
            pairs = zip(stored(near, name), stored(far, name), strict=True)
            if any(said(near, a).at_most and not said(far, b).at_most for a, b in pairs):
                return True
        return False

    def _told(self, users: list[str], asking: set[str]) -> set[str]:
        """Those of these modules that name another one which asks torch, and may have its answer
        from there: `args.cuda = use_cuda and not args.no_cuda`."""
        names = {module_name(one).encode("utf-8", "replace") for one in asking}
        return {
            one
            for one in users
            if any(stands_alone(name, self._modules.text(one) or b"") for name in names)
        }

    def _around(self, path: str) -> tuple[_Files, _Files, _Files]:
        """The modules that an object may come from, what else may set its attributes, and all that
        was looked at: the whole project, or what lies beside a program that belongs to none."""
        whole = self._projects.of(path)
        if whole is not None:
            return whole.modules, whole.others, whole.files
        if self._projects.has_head(path):
            return (), (), ()  # It is too large.
        beside = tuple(sorted((path, *self._modules.beside(path))))
        return beside, (), beside


def _answer(values: list[tuple[Context, ast.expr]]) -> Answer | None:
    if values and all(counts_cuda(*value) for value in values):
        return _COUNT
    found = [said(*value) for value in values]
    if not all(one.at_most for one in found) or not any(one.is_asked for one in found):
        return None
    return _FLAG if all(one.at_least for one in found) else ON_CUDA_AT_MOST
