"""The keys of a settings file: what each takes, as a value of TOML, as text, and as JSON schema.

An unknown key or a wrong type raises `BadSettings` that names the key, the file and what was
expected.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from mpslint.errors import BadSettings
from mpslint.model import Confidence, Severity
from mpslint.records import NamedTuple
from mpslint.settings.settings import Settings

STYLES = ("inline", "helper", "accelerator")
DEVICES = ("mps", "cuda", "cpu")
_LONGEST_GLOB = 1000
EXTEND = "extend"
"""The one key that is no setting: it names the file whose settings hold below these."""
NOT_A_KEY = (
    "root",
    "origin",
    "device_order_is_set",
    "min_torch_is_set",
    "pin",
    "told",
    "helper_root",
    "beside_port",
)
"""Settings that no key sets."""


class _Wrong(Exception):
    """What was expected instead."""


class Key(NamedTuple):
    """One key."""

    check: Callable[[Any], Any]
    """Turns a value of TOML into that of `Settings`; raises `_Wrong`."""
    schema: dict[str, Any]
    """What values it takes, in the words of JSON schema."""
    about: str
    parse: Callable[[str], Any] = str
    """The value of TOML that a text (an option, a variable) stands for."""


def _strings(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _Wrong("a list of strings")
    return tuple(value)


def _globs(value: Any) -> tuple[str, ...]:
    return tuple(map(_glob, _strings(value)))


def _glob(text: str) -> str:
    # To read a glob takes time with the square of its length.
    if len(text) > _LONGEST_GLOB:
        raise _Wrong(f"globs of at most {_LONGEST_GLOB:,} characters")
    return text


def _rules_by_glob(value: Any) -> tuple[tuple[str, tuple[str, ...]], ...]:
    if not isinstance(value, dict):
        raise _Wrong("a table of glob = [rules]")
    try:
        return tuple((glob, _strings(rules)) for glob, rules in map(_pair, value.items()))
    except _Wrong as wrong:
        raise _Wrong(f"a table of glob = [rules] with {wrong}") from None


def _pair(item: tuple[str, Any]) -> tuple[str, Any]:
    return _glob(item[0]), item[1]


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Wrong("true or false")
    return value


def _size(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise _Wrong("a number of bytes (0: no limit)")
    return value


def _version(value: Any) -> tuple[int, int]:
    parts = value.split(".") if isinstance(value, str) else []
    short = [part for part in parts if part.isascii() and part.isdigit() and len(part) < 5]
    if len(parts) < 2 or short != parts:
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
    path = value if isinstance(value, str) else ""
    name, _, suffix = os.path.basename(path).rpartition(".")
    if suffix != "py" or not name.isidentifier():
        raise _Wrong('the path of a Python module, such as "pkg/device.py"')
    return path


def _path(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise _Wrong("the path of a file")
    return value


def _path_or_none(value: Any) -> str | None:
    return None if value == "" else _path(value)


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


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _pairs(text: str) -> Any:
    """`glob:rule,glob:rule`; the text itself where it is none, to be refused."""
    table: dict[str, list[str]] = {}
    for part in _parts(text):
        glob, colon, rule = part.rpartition(":")
        if not colon or not glob:
            return text
        table.setdefault(glob, []).append(rule)
    return table


def _truth(text: str) -> Any:
    return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)


def _number(text: str) -> Any:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else text


_TEXT = {"type": "string"}
_LIST = {"type": "array", "items": _TEXT}
_TABLE = {"type": "object", "additionalProperties": _LIST}
_TORCH = {"type": "string", "pattern": r"^[0-9]+\.[0-9]+(\.[0-9]+)*$"}
_FILE = {"type": "string", "minLength": 1}


def _list(about: str, check: Callable[[Any], Any] = _strings) -> Key:
    return Key(check, _LIST, about, _parts)


def _choice(check: Callable[[Any], Any], choices: tuple[str, ...], about: str) -> Key:
    return Key(check, {"enum": list(choices)}, about)


def _switch(about: str) -> Key:
    return Key(_flag, {"type": "boolean"}, about, _truth)


_NAME = {"type": "string", "pattern": "^[^0-9\\W]\\w*$"}
_ORDER = {
    "type": "array",
    "items": {"enum": list(DEVICES)},
    "minItems": 1,
    "uniqueItems": True,
    "contains": {"const": "cpu"},
}

KEYS: dict[str, Key] = {
    "extend": Key(_path, _FILE, "a settings file whose settings hold where this one is silent"),
    "select": _list("rules that are on: codes, prefixes, names, ALL, DEFAULT"),
    "ignore": _list("rules that are off"),
    "extend-select": _list("rules that are on as well"),
    "per-file-ignores": Key(_rules_by_glob, _TABLE, "rules that are off in some files", _pairs),
    "extend-per-file-ignores": Key(_rules_by_glob, _TABLE, "more of them", _pairs),
    "fixable": _list("rules whose fixes may be applied"),
    "unfixable": _list("rules whose fixes are never applied"),
    "exclude": _list("names and globs of what a walk leaves out", _globs),
    "extend-exclude": _list("more of them", _globs),
    "respect-gitignore": _switch("leave out what .gitignore files name"),
    "force-exclude": _switch("leave out excluded files even when they are named outright"),
    "max-file-size": Key(
        _size,
        {"type": "integer", "minimum": 0},
        "bytes; larger files are skipped; 0: no limit (default: 10000000)",
        _number,
    ),
    "baseline": Key(
        _path_or_none,
        _TEXT,
        "the file with the findings that are known and not reported; empty: none",
    ),
    "severity": _choice(
        _severity,
        ("slow", "ignores", "breaks"),
        "report only findings at least this bad: slow, ignores, breaks",
    ),
    "min-confidence": _choice(
        _confidence,
        ("inferred", "certain"),
        "report only findings at least this sure: inferred, certain",
    ),
    "min-torch": Key(_version, _TORCH, "oldest torch version that the code must run on"),
    "max-torch": Key(_version, _TORCH, "newest torch version that the code must run on"),
    "device-order": Key(
        _devices, _ORDER, "the order in which an inserted selection asks, cpu last", _parts
    ),
    "style": _choice(
        _one_of(*STYLES), STYLES, "how a device is selected: inline, helper, accelerator"
    ),
    "device-name": Key(_identifier, _NAME, "name of an inserted device variable"),
    "helper-module": Key(
        _module,
        {"type": "string", "pattern": r"(^|[/\\])[^0-9\W]\w*\.py$"},
        "module that holds the helper in style helper",
    ),
}


def settings_from(table: dict[str, Any], path: str, base: Settings | None = None) -> Settings:
    """`Settings` of the table read from the file at `path`, over those of the file that it
    extends. Raises `BadSettings`."""
    values = {
        key.replace("-", "_"): convert(key, table[key], path) for key in table if key != EXTEND
    }
    root = os.path.dirname(os.path.abspath(path))
    if values.get("baseline"):
        values["baseline"] = os.path.join(root, os.path.expanduser(values["baseline"]))
    settings = over(base or Settings(), values)._replace(root=root, origin=path)
    if settings.max_torch is not None and settings.max_torch < settings.min_torch:
        raise BadSettings(f"{path}: max-torch is older than min-torch")
    return settings


_ADDED = ("extend_select", "extend_exclude", "extend_per_file_ignores")
"""Lists that grow where another layer of settings names them too."""


def over(settings: Settings, changes: dict[str, Any]) -> Settings:
    """`settings` with another layer over them."""
    grown: dict[str, Any] = {
        name: (*getattr(settings, name), *changes[name]) for name in _ADDED if name in changes
    }
    if "min_torch" in changes:
        grown["min_torch_is_set"] = True
    if "device_order" in changes:
        grown["device_order_is_set"] = True
    return settings._replace(**{**changes, **grown})


def convert(key: str, value: Any, where: str) -> Any:
    """The checked value of one key. Raises `BadSettings` that names `where`, key and type."""
    known = KEYS.get(key)
    if known is None:
        raise BadSettings(f"{where}: unknown key {_shown(key)}; {_advice(key)}")
    try:
        return known.check(value)
    except _Wrong as expected:
        raise BadSettings(f"{where}: {key!r} must be {expected}, not {_shown(value)}") from None


def _shown(value: Any) -> str:
    """A value that is not what it should be, however large it is."""
    try:
        return (str(value) if isinstance(value, (dict, list)) else repr(value))[:60]
    except (ValueError, RecursionError):  # a number of too many digits, a list in a list in a list
        return f"a {type(value).__name__} that is too long to show"


def from_text(key: str, text: str, where: str) -> Any:
    """The checked value that `text` (of an option or a variable) stands for. Raises
    `BadSettings`."""
    known = KEYS.get(key)
    value = known.parse(text) if known is not None else text
    if known is not None and known.parse is _pairs and value is text:
        raise BadSettings(f'{where}: expected GLOB:RULE, such as "tests/*:MPS101", not {text!r}')
    return with_known_rules(key, convert(key, value, where), where)


_SELECTORS = ("select", "ignore", "extend-select", "fixable", "unfixable")
_BY_GLOB = ("per-file-ignores", "extend-per-file-ignores")


def with_known_rules(key: str, value: Any, where: str) -> Any:
    """`value`, of an option or a variable. Raises `BadSettings` for a rule that does not exist:
    what is found out later, with the settings of a file, would be told of that file."""
    named: tuple[str, ...] = ()
    if key in _SELECTORS:
        named = value or ()
    elif key in _BY_GLOB:
        named = tuple(rule for _, rules in value for rule in rules)
    if named:
        from mpslint.settings.selectors import resolve

        for selector in named:
            resolve(selector, where)
    return value


def schema() -> dict[str, Any]:
    """The table as a JSON schema, in the form that SchemaStore takes for `[tool.mpslint]`."""
    defaults = Settings()
    properties = {}
    for key, (_, allowed, about, _) in KEYS.items():
        properties[key] = {"description": about[0].upper() + about[1:] + ".", **allowed}
        default = plain(key, getattr(defaults, key.replace("-", "_"), None))
        if default is not None:
            properties[key]["default"] = default
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": "https://json.schemastore.org/partial-mpslint.json",
        "title": "mpslint",
        "description": "Settings of mpslint: `[tool.mpslint]` in pyproject.toml, or mpslint.toml.",
        "type": "object",
        "properties": properties,
        "additionalProperties": False,
    }


def plain(key: str, value: Any) -> Any:
    """The value of a setting as it would stand in a settings file; None where it is not set."""
    import enum

    if isinstance(value, enum.Enum):
        return value.name.lower()
    if not isinstance(value, tuple):
        return value
    if KEYS[key].check is _version:
        return ".".join(map(str, value))
    if KEYS[key].check is _rules_by_glob:
        return {glob: list(rules) for glob, rules in value}
    return list(value)


def _advice(key: str) -> str:
    from mpslint.basics.nearest import nearest

    if key == "tool":
        return (
            "[tool.mpslint] is for pyproject.toml; in any other file, write the keys without it, "
            "at the top level"
        )
    near = nearest(key, KEYS)
    return f"did you mean {near!r}?" if near else "`mpslint config` lists the keys"
