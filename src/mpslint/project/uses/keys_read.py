"""Whether a project reads a device that one of its configurations holds, by the key."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mpslint.semantics.uses.config_keys import ALL_OPTIONS, hands_on, has_own, places_by

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects
    from mpslint.semantics.elsewhere.elsewhere import Elsewhere
    from mpslint.semantics.uses.config_keys import Key

_TAKES_ALL = re.compile(rb"\.__dict__\b|\b_get_kwargs\b|\bvars\(|getattr\([\w.]+,[ \t]*[A-Za-z_]")
"""By these a program takes its options without their names: `start(**args.__dict__)`."""
_MOST_PARSED = 24
"""A key that more modules read is a common word, and one of them will mean this one."""


class KeysRead:
    def __init__(self, projects: Projects, modules: Modules, elsewhere: Elsewhere) -> None:
        self._projects = projects
        self._modules = modules
        self._elsewhere = elsewhere

    def reads(self, path: str, key: Key) -> tuple[bool, tuple[str, ...]]:
        """Whether another file of the project may place something with what the configuration in
        the file at the absolute `path` holds under a key; and the files that this rests on."""
        whole = self._projects.of(path)
        if whole is None:
            return not key.nested, ()
        read = _pattern(key)
        root = key.root if len(key.path) == 1 else None
        taken = re.compile(rb"\b%s\b" % re.escape(_bytes(root))) if root is not None else None
        parsed = 0
        for other in whole.modules:
            data = self._modules.text(other) or b""
            if other == path or not (read.search(data) or (taken and taken.search(data))):
                continue
            parsed += 1
            context = self._modules.context(other, self._elsewhere)
            if parsed > _MOST_PARSED or context is None:
                return not key.nested, whole.files
            if places_by(context, key):
                return True, (other,)
            if root is not None and not has_own(context, root) and hands_on(context, root):
                return True, (other,)
        if key.root == ALL_OPTIONS:
            for other in whole.modules:
                if _TAKES_ALL.search(self._modules.text(other) or b""):
                    return True, (other,)
        for other in whole.others:
            if other.endswith(".ipynb") and read.search(self._modules.text(other) or b""):
                return True, (other,)
        return False, whole.files


def _pattern(key: Key) -> re.Pattern[bytes]:
    """How a text reads the key, be it in the text of a notebook."""
    word = re.escape(_bytes(key.path[-1]))
    quoted = rb"""["']%s\\?["']""" % word
    return re.compile(rb"%s|\.%s\b" % (quoted, word) if key.by_attribute else quoted)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
