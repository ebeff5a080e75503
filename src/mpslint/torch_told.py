"""The oldest torch that a project is said to run on where no requirement of it bounds torch.

"Developed and tested with PyTorch 0.4", a Python for which no newer torch was built: nothing that a
fix has to keep to in all it does, since nobody is held to it. But who follows it gets a torch
without `torch.backends.mps`, and no fix may stop a program there that ran: it asks first.
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatch

from mpslint.torch_pins import COMMANDS, ROOT, Pin, names_in, text_of

_DECLARING = ("setup.py", "setup.cfg", "pyproject.toml")
_CONDA = "*.y*ml"
_MOST_YAML = 20
_LONGEST_LINE = 2000
_FILLER = r"(?:[ *`:(=\[>~<]|versions?|v|currently|is|was|has been|tested|on|with|or|at least|the)"
_TOLD = re.compile(
    rf"(?<![\w.-])(?:py)?torch(?![\w./])(?:{_FILLER}{{0,12}}|-)[=v]?"
    r"(0\.[0-4]|1\.(?:1[01](?![0-9])|[0-9](?![0-9])))",
    re.IGNORECASE,
)
"""A release before 1.12, where it is named with torch; `0.41` is one as well."""
_PYTHON = re.compile(
    r"^[ ]*-[ ]*[\"']?python[ ]*=+[ ]*(?:2\.|3\.[0-6](?![0-9]))"
    r"|(?:python_requires|requires-python)[ ]*=[ ]*[\"'][ ]*(?:>=|~=)[ ]*(?:2\.|3\.[0-6](?![0-9]))"
)
_LAST_OF_PYTHON = (1, 10)
"""The last torch that was built for Python 3.6."""


class Told:
    """What holds for each folder, looked up once."""

    def __init__(self) -> None:
        self._known: dict[str, Pin | None] = {}

    def of(self, folder: str) -> Pin | None:
        """What the nearest folder says that says anything, up to the project's topmost one."""
        folder = os.path.abspath(folder)
        if folder not in self._known:
            names, above = names_in(folder), os.path.dirname(folder)
            own = _told_in(folder, names)
            if own is None and above != folder and not any(name in names for name in ROOT):
                own = self.of(above)
            self._known[folder] = own
        return self._known[folder]


def _told_in(folder: str, names: set[str]) -> Pin | None:
    yaml = sorted(name for name in names if fnmatch(name, _CONDA))
    declaring = [*_DECLARING, *(yaml if len(yaml) <= _MOST_YAML else ())]
    found = []
    for name in sorted(names):
        if any(fnmatch(name.lower(), pattern.lower()) for pattern in COMMANDS):
            found += _by_word(name, text_of(os.path.join(folder, name)))
        if name in declaring:
            found += _by_python(name, text_of(os.path.join(folder, name)))
    return min(found, default=None)


def _by_word(name: str, text: str) -> list[Pin]:
    found = []
    for row, line in enumerate(text.splitlines(), 1):
        if len(line) <= _LONGEST_LINE and "torch" in line.lower():
            for match in _TOLD.finditer(line):
                major, minor = match.group(1).split(".")
                found.append(Pin((int(major), int(minor)), f"{name}:{row}"))
    return found


def _by_python(name: str, text: str) -> list[Pin]:
    return [
        Pin(_LAST_OF_PYTHON, f"{name}:{row}")
        for row, line in enumerate(text.splitlines(), 1)
        if len(line) <= _LONGEST_LINE and _PYTHON.search(line)
    ]
