"""Modules in whose text a name stands that is another's: they define it themselves, or import it
from elsewhere. Many projects have several classes of one name, and a look at the text is enough."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from mpslint.project.layout.import_texts import apart, imported_modules
from mpslint.project.layout.word_holders import is_in_word
from mpslint.project.uses.taken_by_text import is_found_from_inside

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules

_STAR = re.compile(rb"import[ \t(]*\*")
_DEFINES = re.compile(rb"(?:class|(?:async[ \t]+)?def)[ \t]+")
_BEFORE = b"\"'.:/"
"""What a name stands behind that may be asked for as an attribute, or in a text."""


_MOST_STEPS = 2
"""So many packages hand a name on, one to the next."""


def is_namesake(
    modules: Modules, other: str, path: str, name: str, steps: int = _MOST_STEPS
) -> bool:
    """Whether the module at `other` certainly means something else by a name than the function or
    class of the file at `path`; whoever takes an attribute of that name, or has it in a text, may
    mean this."""
    data = modules.text(other) or b""
    if any(not is_in_word(data, match.start()) for match in _STAR.finditer(data)):
        return False
    # The name is looked for, and what stands before it then: an expression that begins with that
    # would be tried at each place of the text.
    is_known = False
    for match in re.finditer(rb"%s\b" % re.escape(name.encode("utf-8", "replace")), data):
        start = match.start()
        if start and data[start - 1] in _BEFORE:
            return False
        line = data.rfind(b"\n", 0, start) + 1
        is_known = is_known or _DEFINES.fullmatch(data, line, start) is not None
    for module in imported_modules(data):
        holder, last = apart(module)
        if last != name:
            continue
        found = modules.find(other, holder)[0]
        if found is None or found == path:
            return False
        if found.endswith("__init__.py") and (
            steps == 0 or found == other or not is_namesake(modules, found, path, name, steps - 1)
        ):
            return False
        if is_found_from_inside(other, holder, path):
            return False
        is_known = True
    return is_known
