"""Regular expressions that are compiled when the first text is searched.

To compile one takes a tenth of a millisecond and more, and most runs never ask most of them.
"""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Later:
    """Compiles at the first call of a method, and has the pattern's methods from then on."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, value)
        return value


def later(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """`re.compile(text, flags)`, once it is needed."""
    return cast("re.Pattern[AnyStr]", _Later(text, flags))
