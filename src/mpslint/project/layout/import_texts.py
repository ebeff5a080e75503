"""What the text of a module imports, without parsing it."""

from __future__ import annotations

import os
import re
from functools import lru_cache

# Fact: Python's grammar, the test by which a module knows that it is the program.
MAIN = re.compile(rb"^if[ \t(]+__name__[ \t]*==", re.M)
_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+(?P<module>[.\w]+)[ \t]+import[ \t]+(?P<names>\([^)]*\)|[^\n#;]*)"
    rb"|import[ \t]+(?P<plain>[\w., \t]+))",
    re.M,
)
_TEXTS = 2048
"""Of so many texts it is kept what they import."""
_OF_FILES = (b"SourceFileLoader", b"spec_from_file_location", b"load_source", b"runpy")
_BY_FILE = re.compile(rb"\b(?:%s)\b" % b"|".join(_OF_FILES))
"""Python's own ways to run a file by its place. What `runpy` has is used under names that programs
have for folders as well (`run_path = os.path.join(out, name)`), so the module itself is looked for.
"""


def runs_files(text: bytes) -> bool:
    """Whether a text may import a module by the place of its file."""
    return any(word in text for word in _OF_FILES) and _BY_FILE.search(text) is not None


@lru_cache(_TEXTS)
def imported_modules(text: bytes) -> tuple[str, ...]:
    """The modules that a text imports, and each name that it takes from one as if it were one; each
    of them once. Many ask the same of a project's modules."""
    found: dict[str, None] = {}
    for match in _IMPORT.finditer(text):
        plain = match["plain"]
        if plain is not None:
            for item in plain.split(b","):
                words = item.split()
                if words:
                    found[words[0].decode(errors="replace")] = None
            continue
        module = match["module"].decode(errors="replace")
        found[module] = None
        dot = "" if module.endswith(".") else "."
        for item in match["names"].strip(b"() \t\r\n").split(b","):
            words = item.split()
            if words and words[0].replace(b"_", b"x").isalnum():
                found[f"{module}{dot}{words[0].decode(errors='replace')}"] = None
    return tuple(found)


def used_in_main(text: bytes, name: str) -> bool:
    """Whether a text names something below `if __name__ == "__main__":` and, but for its imports,
    nowhere above."""
    found = MAIN.search(text)
    word = name.encode("utf-8", "replace")
    if found is None or word not in text[found.end() :]:
        return False
    above = text[: found.start()].split(b"\n")
    return not any(word in line for line in above if not line.startswith((b"import ", b"from ")))


def module_name(path: str) -> str:
    """The last name by which others import the file at a path: of a package, that of its folder."""
    folder, own = os.path.split(path)
    return os.path.basename(folder) if own == "__init__.py" else os.path.splitext(own)[0]


def apart(qualified: str) -> tuple[str, str]:
    """The module that a name comes from, as an import names it, and what it is called there."""
    body = qualified.lstrip(".")
    head, _, name = body.rpartition(".")
    return qualified[: len(qualified) - len(body)] + head, name
