"""Text of others on a terminal or in a log: what it holds is shown, never obeyed.

A file name, a message or a line of code can hold an escape sequence that rewrites the screen, a
newline that forges a line of ours, or a command to the service that reads the log.
"""

from __future__ import annotations

import re

_JOINERS = "\u200c\u200d"
"""Of scripts and emoji; they hide nothing."""
_COMMAND = re.compile(r"##(?=\[|vso\[|teamcity\[)")
"""Services that build look for these anywhere in a line."""


def printable(text: str) -> str:
    """`text` in one line of which a terminal shows every character."""
    if not text.isprintable():
        text = "".join(map(_shown, text))
    return _COMMAND.sub(r"#\\x23", text) if "##" in text else text


def printable_path(path: str) -> str:
    """`path` so that a line which it begins is no command to a service that reads the log."""
    shown = printable(path)
    return f"./{shown}" if shown.lstrip().startswith("::") else shown


def printable_json(text: str) -> str:
    """JSON of the same meaning, in which a terminal or a log shows every character but newlines."""
    import json

    text = text.replace("##", "#\\u0023")
    if text.isprintable():
        return text
    shown = (
        char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text
    )
    return "".join(shown)


def _shown(char: str) -> str:
    if char.isprintable() or char in _JOINERS:
        return char
    import unicodedata

    # Blanks of other widths, and what fonts may know though this Python does not, are shown.
    if unicodedata.category(char) in ("Zs", "Co", "Cn"):
        return char
    return char.encode("unicode_escape").decode("ascii")


def patch_name(path: str) -> str:
    """`path` as the header of a patch has it: an odd one in quotes, as git writes it."""
    if path.isprintable() and not any(char in path for char in '"\\'):
        return path
    shown = "".join(_octal(char) for char in path)
    return f'"{shown}"'


def _octal(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if char.isprintable():
        return char
    return "".join(f"\\{byte:03o}" for byte in char.encode("utf-8", "surrogateescape"))
