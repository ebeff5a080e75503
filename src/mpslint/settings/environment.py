"""Settings from variables: `MPSLINT_MIN_TORCH=2.6` is `min-torch = "2.6"`.

A value is written as in the option of the same name; lists are parted by commas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PREFIX = "MPSLINT_"
CONFIG = "MPSLINT_CONFIG"
"""Names the settings file."""
OPTIONS = ("output-format", "output-file", "color", "jobs", "no-cache")
"""Options that are no settings and have a variable as well."""
_OTHERS = (CONFIG, "MPSLINT_TRACEBACK", "MPSLINT_CACHE_DIR", "MPSLINT_DOCS_URL")
_INTERNAL = ("MPSLINT_HARNESS", "MPSLINT_SEED", "MPSLINT_SHARED_GENERATOR")
"""What verification tells the programs that it runs."""


def from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """The settings that variables name, as fields of `Settings`. Raises `BadSettings`."""
    given = [name for name in environment if name.startswith(PREFIX)]
    if not given:
        return {}
    from mpslint.settings.table import EXTEND, KEYS, from_text

    keys = {variable(key): key for key in KEYS if key != EXTEND}
    return {
        keys[name].replace("-", "_"): from_text(keys[name], environment[name], name)
        for name in given
        if name in keys and environment[name]
    }


def variable(name: str) -> str:
    """The variable of an option or a key."""
    return PREFIX + name.replace("-", "_").upper()


def unknown(environment: Iterable[str]) -> list[str]:
    """One line about each variable that looks like mpslint's and is not."""
    given = [name for name in environment if name.startswith(PREFIX)]
    if not given:
        return []
    from mpslint.basics.nearest import nearest
    from mpslint.settings.table import EXTEND, KEYS

    known = [*(variable(key) for key in KEYS if key != EXTEND), *map(variable, OPTIONS), *_OTHERS]
    lines = []
    for name in sorted(set(given) - {*known, *_INTERNAL}):
        near = nearest(name, known)
        advice = f"did you mean {near}?" if near else "see docs/settings.md"
        lines.append(f"{name}: no such variable; {advice}")
    return lines
