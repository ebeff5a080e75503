"""Releases of torch that people name in prose: in a README, in a setup script, above a program."""

from __future__ import annotations

import re

from mpslint.basics.expressions import later
from mpslint.settings.torch_pins import Pin

LONGEST_LINE = 2000
_FILLER = (
    r"(?:[ \xa0*`:(=\[>~<]|versions?|v|currently|install(?:ed)?|is|was|has been|tested|on|with|or"
    r"|at least|the)"
)
_NAMED = rf"(?<![\w.-])(?:py)?torch(?:(?![\w./])(?:{_FILLER}{{0,12}}|-)[=v]?|_?(?=[0-9]))"
_TOLD = later(_NAMED + r"(0\.[0-4]|1\.(?:1[01](?![0-9])|[0-9](?![0-9])))", re.IGNORECASE)
"""A release before 1.12, where it is named with torch; `0.41` is one as well."""
NEWER = later(_NAMED + r"(1\.1[2-9]|2\.[0-9]{1,2})", re.IGNORECASE)
"""A release that has MPS: what the code was first written for does not count then."""
_AT_LEAST = later(
    r"(?<![\w.-])(?:py)?torch(?![\w./])[^.;|\n]{0,60}?(?:at least|>=|≥|newer than|from)[ *`]*v?"
    r"(0\.[0-4]|1\.(?:1[01](?![0-9])|[0-9](?![0-9])))",
    re.IGNORECASE,
)
"""The same further behind: "install PyTorch that meets your environment (at least 1.7)"."""
_UP_TO = later(
    _NAMED
    + r"(?:0\.[0-9]|1\.[0-9]{1,2})(?:\.[0-9x])?[ *`]*(?:-|–|,|/|to|through|up to|and|or)[ *`]*v?"
    r"(0\.[0-4]|1\.(?:1[01](?![0-9])|[0-9](?![0-9])))",
    re.IGNORECASE,
)
"""The other end of what is named: "PyTorch 0.2 to 1.3"."""
_CODE = later(rb"^(?:import|from|def|class|if|try|@)\b", re.MULTILINE)


def above_code(name: str, text: bytes) -> list[Pin]:
    """The releases that stand above the first statement of a program: in its docstring, or in the
    comments there, which are about all of it."""
    first = _CODE.search(text)
    above = text[: first.start()] if first is not None else b""
    return by_word(name, above.decode("utf-8", "replace")) if b"orch" in above else []


def by_word(name: str, text: str, *asking: re.Pattern[str]) -> list[Pin]:
    """The releases of torch that the lines of a text name, the old ones where it is not said which
    are asked for."""
    found = []
    for row, line in enumerate(text.splitlines(), 1):
        if len(line) <= LONGEST_LINE and "torch" in line.lower():
            for match in (
                match
                for one in asking or (_TOLD, _UP_TO, _AT_LEAST)
                for match in one.finditer(line)
            ):
                major, minor = match.group(1).split(".")
                found.append(Pin((int(major), int(minor)), f"{name}:{row}"))
    return found
