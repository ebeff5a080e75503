"""The oldest torch that a project is said to run on where no requirement of it bounds torch.

"Developed and tested with PyTorch 0.4", a Python or a CUDA toolkit for which no newer torch was
built: nothing that a fix has to keep to in all it does, since nobody is held to it. But who follows
it gets a torch without `torch.backends.mps`, and no fix may stop a program there that ran: it asks
first. Nor has each torch with it all that a fix may write (`torch.amp.GradScaler`).
"""

from __future__ import annotations

import os
import re
from fnmatch import fnmatch

from mpslint.basics.expressions import later
from mpslint.facts.torch_images import torch_of_image
from mpslint.facts.torch_releases import FIRST_WITH_DEVICES, FIRST_WITH_MPS, LAST_FOR_PYTHON_2
from mpslint.settings.torch_named import LONGEST_LINE, NEWER, by_word
from mpslint.settings.torch_pins import (
    COMMANDS,
    Pin,
    around,
    ends_project,
    is_project,
    names_in,
    text_of,
)
from mpslint.settings.torch_shown import Shown

_DECLARING = ("setup.py", "setup.cfg", "pyproject.toml")
_CONDA = "*.y*ml"
_MOST_YAML = 20
_IMAGE = later(r"\bnvcr\.io/nvidia/pytorch:([0-9]{2})\.([0-9]{2})(?![0-9])")
"""NVIDIA's own, which a Dockerfile starts from, or which is run: its tag is a month."""
_PYTHON_WORD = later(
    r"(?<![\w.-])python[ *`:(]*(?:version|>=|=)?[ *`=]*(?:2\.7|3\.[3-6](?![0-9]))", re.IGNORECASE
)
_PYTHON = later(
    r"^[ ]*-[ ]*[\"']?python[ ]*=+[ ]*(?:2\.|3\.[0-6](?![0-9]))"
    r"|(?:python_requires|requires-python)[ ]*=[ ]*[\"'][ ]*(?:>=|~=)[ ]*(?:2\.|3\.[0-6](?![0-9]))"
)
_LINKED = later(r"(?<!!)\[([^\[\]\n]{1,100})\]\([^()\s]{1,500}\)")
"""Markdown's link, of which people read the words: `[PyTorch](https://...) 1.7`."""
_TOOLKIT = later(r"\bcudatoolkit[ ]*=+[ ]*([0-9]{1,2}\.[0-9])")
# Fact: pytorch.org, "Previous versions": the packages that conda has for each toolkit.
_LAST_OF_TOOLKIT = {
    "8.0": (1, 0),
    "9.0": (1, 1),
    "9.2": (1, 7),
    "10.0": (1, 2),
    "10.1": (1, 8),
    "11.0": (1, 7),
    "11.1": (1, 10),
}
"""The last torch that was built for a CUDA toolkit, where it has no MPS."""
_ALL_SINCE = (2, 3)
"""The first torch that has by name all that fixes write on CUDA as well."""
_LAST_OF_PYTHON = (1, 10)
"""The last torch that was built for Python 3.6."""
_PYTHON_2 = later(r"(?<![0-9.])2\.")


class Told:
    """What holds for each folder, looked up once."""

    def __init__(self) -> None:
        self._said: dict[str, tuple[Pin | None, bool]] = {}
        self._of_code: dict[str, Pin | None] = {}
        self._shown = Shown()

    def of(self, folder: str) -> Pin | None:
        """What the nearest folder says that says anything, up to the project's topmost one; where
        none names a torch, what the code of the nearest project shows. A part of a project that
        runs on a newer torch than its code was first written for runs on that as well."""
        folder = os.path.abspath(folder)
        said, is_newer = self._by_somebody(folder)
        return said if said is not None or is_newer else self._by_code(folder)

    def _by_somebody(self, folder: str) -> tuple[Pin | None, bool]:
        if folder not in self._said:
            names = names_in(folder)
            found = _told_in(folder, names)
            if found == (None, False) and not _ends(folder, names):
                found = self._by_somebody(around(folder, names))
            self._said[folder] = found
        return self._said[folder]

    def _by_code(self, folder: str) -> Pin | None:
        if folder not in self._of_code:
            names = names_in(folder)
            found = self._shown.in_project(folder) if is_project(names) else None
            if found is None and not _ends(folder, names):
                found = self._by_code(around(folder, names))
            self._of_code[folder] = found
        return self._of_code[folder]


def _ends(folder: str, names: set[str]) -> bool:
    return ends_project(names) or os.path.dirname(folder) == folder


def _told_in(folder: str, names: set[str]) -> tuple[Pin | None, bool]:
    """The oldest torch that is named, else the newest that the oldest Python or toolkit has; and
    whether only newer ones are named."""
    yaml = sorted(name for name in names if fnmatch(name, _CONDA))
    declaring = [*_DECLARING, *(yaml if len(yaml) <= _MOST_YAML else ())]
    named: list[Pin] = []
    by_python: list[Pin] = []
    by_toolkit: list[Pin] = []
    newer: list[Pin] = []
    for name in sorted(names):
        text = text_of(os.path.join(folder, name)) if _may_tell(name, declaring) else ""
        is_prose = any(fnmatch(name.lower(), pattern.lower()) for pattern in COMMANDS)
        if is_prose or name == "setup.py":
            read = _LINKED.sub(r"\1", text)
            named += by_word(name, text) or by_word(name, read)
            newer += by_word(name, text, NEWER) or by_word(name, read, NEWER)
            images = _by_image(name, text)
            named += [one for one in images if one.oldest < FIRST_WITH_MPS]
            newer += [one for one in images if one.oldest >= FIRST_WITH_MPS]
        if is_prose:
            by_python += _by_python(name, text, _PYTHON_WORD)
        if name in declaring:
            by_python += _by_python(name, text, _PYTHON)
        by_toolkit += _by_toolkit(name, text)
    # Beside releases with devices, one that had none is history: a branch, a first version.
    recent = [one for one in named if one.oldest >= FIRST_WITH_DEVICES]
    if named or newer:
        counting = recent or ([] if newer else named)
        lacking = [one for one in newer if one.oldest < _ALL_SINCE]
        return min(counting or lacking, default=None), not counting
    return min([*by_python, *by_toolkit], default=None), False


def _may_tell(name: str, declaring: list[str]) -> bool:
    return name in declaring or any(fnmatch(name.lower(), one.lower()) for one in COMMANDS)


def _by_image(name: str, text: str) -> list[Pin]:
    found = []
    for row, line in enumerate(text.splitlines() if "nvcr.io" in text else (), 1):
        if len(line) <= LONGEST_LINE and not line.lstrip().startswith("#"):
            for match in _IMAGE.finditer(line):
                release = torch_of_image(int(match.group(1)), int(match.group(2)))
                if release is not None:
                    found.append(Pin(release, f"{name}:{row}"))
    return found


def _by_python(name: str, text: str, asking: re.Pattern[str]) -> list[Pin]:
    found = []
    for row, line in enumerate(text.splitlines(), 1):
        match = asking.search(line) if len(line) <= LONGEST_LINE else None
        if match is not None:
            is_second = _PYTHON_2.search(match.group()) is not None
            last = LAST_FOR_PYTHON_2 if is_second else _LAST_OF_PYTHON
            found.append(Pin(last, f"{name}:{row}"))
    return found


def _by_toolkit(name: str, text: str) -> list[Pin]:
    """What is built for the toolkits that a text asks for; nothing where it names a newer one."""
    found = [
        (match.group(1), row)
        for row, line in enumerate(text.splitlines() if "cudatoolkit" in text else (), 1)
        if len(line) <= LONGEST_LINE and not line.lstrip().startswith("#")
        for match in _TOOLKIT.finditer(line)
    ]
    if not all(toolkit in _LAST_OF_TOOLKIT for toolkit, _ in found):
        return []
    return [Pin(_LAST_OF_TOOLKIT[toolkit], f"{name}:{row}") for toolkit, row in found]
