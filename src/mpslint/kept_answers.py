"""Attributes that hold what torch says of CUDA, wherever the project makes the object.

`total_gpus = torch.cuda.device_count()` in the class of a configuration says what
`config.total_gpus > 0` asks in each other file, which is given the object and does not know it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.modules import Modules
    from mpslint.whole import Projects

_ANSWER = re.compile(rb"(torch\.cuda\.(?:device_count|is_available))\(\)\s*(?:#.*)?")


class KeptAnswers:
    def __init__(self, projects: Projects, modules: Modules) -> None:
        self._projects = projects
        self._modules = modules

    def question(self, path: str, name: str) -> tuple[str, tuple[str, ...]]:
        """The question whose answer is all that the project of the file at the absolute `path`
        stores under an attribute of this name, empty where there is none; and the files that this
        rests on."""
        whole = self._projects.of(path)
        if whole is None:
            return "", ()
        word = re.escape(name.encode("utf-8", "replace"))
        stored = re.compile(
            rb"(?:^[ \t]+|\.)%s[ \t]*(?::[^=\n]*)?=(?!=)[ \t]*([^\n]*)" % word, re.M
        )
        # By a keyword of a call, or by a text, as that of an option: anybody may give another.
        option = word.replace(b"_", b"[-_]")
        given = re.compile(rb"[(,][ \t]*%s=(?!=)|[\"'](?:--)?%s[\"']" % (word, option))
        questions: set[bytes] = set()
        for other in (*whole.modules, *whole.others):
            data = self._modules.text(other) or b""
            if given.search(data):
                return "", (other,)
            for found in stored.finditer(data):
                answer = _ANSWER.fullmatch(found[1].rstrip())
                if answer is None:
                    return "", (other,)
                questions.add(answer[1])
        question = questions.pop().decode() if len(questions) == 1 else ""
        return question, whole.files
