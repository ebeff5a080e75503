"""Attributes that hold the number of CUDA's devices, wherever the project makes the object.

`total_gpus = torch.cuda.device_count()` in the class of a configuration says what
`config.total_gpus > 0` asks in each other file, which is given the object and does not know it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.modules import Modules
    from mpslint.whole import Projects

_COUNT = re.compile(rb"(?:torch\.)?cuda\.device_count\(\)\s*(?:#.*)?")


class CountedAttributes:
    def __init__(self, projects: Projects, modules: Modules) -> None:
        self._projects = projects
        self._modules = modules

    def counts(self, path: str, name: str) -> tuple[bool, tuple[str, ...]]:
        """Whether all that the project of the file at the absolute `path` stores under an attribute
        of this name is that number; and the files that this rests on."""
        whole = self._projects.of(path)
        if whole is None:
            return False, ()
        word = name.encode("utf-8", "replace")
        stored = re.compile(
            rb"(?:^[ \t]+|\.)%s[ \t]*(?::[^=\n]*)?=(?!=)[ \t]*([^\n]*)" % re.escape(word), re.M
        )
        # By a keyword of a call, or by a text: anybody may give another number.
        given = re.compile(rb"[(,][ \t]*%s=(?!=)|[\"']%s[\"']" % ((re.escape(word),) * 2))
        counted = False
        for other in (*whole.modules, *whole.others):
            data = self._modules.text(other) or b""
            if word not in data:
                continue
            if given.search(data):
                return False, (other,)
            for found in stored.finditer(data):
                if _COUNT.fullmatch(found[1].rstrip()) is None:
                    return False, (other,)
                counted = True
        return counted, whole.files
