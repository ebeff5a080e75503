"""From a TOML table (or an option's text) to `Settings`: each key with its type.

An unknown key or a wrong type raises `BadSettings` that names the key, the file and what was
expected.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from mpslint.errors import BadSettings
from mpslint.model import Confidence, Severity
from mpslint.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

STYLES = ("inline", "helper", "accelerator")
DEVICES = ("mps", "cuda", "cpu")


class _Wrong(Exception):
    """What was expected instead."""


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _Wrong("a list of strings")
    return tuple(value)


def _globs(value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise _Wrong("a table of glob = [rules]")
    try:
        return tuple((glob, _strings(rules)) for glob, rules in value.items())
    except _Wrong:
        raise _Wrong("a table of glob = [rules]") from None


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Wrong("true or false")
    return value


def _size(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _Wrong("a number of bytes (0: no limit)")
    return value


def _version(value: Any) -> tuple[int, int]:
    parts = value.split(".") if isinstance(value, str) else []
    if len(parts) < 2 or not all(part.isascii() and part.isdigit() for part in parts):
        raise _Wrong('a torch version such as "2.5"')
    return int(parts[0]), int(parts[1])


def _devices(value: Any) -> tuple[str, ...]:
    known = isinstance(value, list) and all(item in DEVICES for item in value)
    if not known or not value or len(set(value)) != len(value) or value[-1] != "cpu":
        raise _Wrong('a list of "mps" and "cuda" that ends with "cpu", each once')
    return tuple(value)


def _identifier(value: Any) -> str:
    import keyword

    if not isinstance(value, str) or not value.isidentifier() or keyword.iskeyword(value):
        raise _Wrong("a Python name")
    return value


def _module(value: Any) -> str:
    if not isinstance(value, str) or not value.endswith(".py"):
        raise _Wrong('the path of a Python module, such as "pkg/device.py"')
    return value


def _one_of(*choices: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value not in choices:
            raise _Wrong("one of " + ", ".join(f'"{choice}"' for choice in choices))
        return str(value)

    return check


def _severity(value: Any) -> Severity:
    return Severity[_one_of("slow", "ignores", "breaks")(value).upper()]


def _confidence(value: Any) -> Confidence:
    return Confidence[_one_of("inferred", "certain")(value).upper()]


KEYS: dict[str, Callable[[Any], Any]] = {
    "select": _strings,
    "ignore": _strings,
    "extend-select": _strings,
    "per-file-ignores": _globs,
    "exclude": _strings,
    "extend-exclude": _strings,
    "min-torch": _version,
    "max-torch": _version,
    "device-order": _devices,
    "style": _one_of(*STYLES),
    "device-name": _identifier,
    "helper-module": _module,
    "severity": _severity,
    "min-confidence": _confidence,
    "respect-gitignore": _flag,
    "force-exclude": _flag,
    "max-file-size": _size,
}


def settings_from(table: dict[str, Any], path: str) -> Settings:
    """`Settings` of the table read from the file at `path`. Raises `BadSettings`."""
    values = {key.replace("-", "_"): convert(key, table[key], path) for key in table}
    root = os.path.dirname(os.path.abspath(path))
    settings = Settings(**values, root=root, origin=path)
    if settings.max_torch is not None and settings.max_torch < settings.min_torch:
        raise BadSettings(f"{path}: max-torch is older than min-torch")
    return settings


def convert(key: str, value: Any, where: str) -> Any:
    """The checked value of one key. Raises `BadSettings` that names `where`, key and type."""
    check = KEYS.get(key)
    if check is None:
        raise BadSettings(f"{where}: unknown key {key!r}; {_advice(key)}")
    try:
        return check(value)
    except _Wrong as expected:
        shown = str(value) if isinstance(value, (dict, list)) else repr(value)
        raise BadSettings(f"{where}: {key!r} must be {expected}, not {shown[:60]}") from None


def _advice(key: str) -> str:
    import difflib

    near = difflib.get_close_matches(key.replace("_", "-"), KEYS, 1)
    return f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(KEYS)}"
