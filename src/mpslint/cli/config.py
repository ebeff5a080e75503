"""`mpslint config`: the settings that hold for a path, and where they come from."""

from __future__ import annotations

import os
from typing import Any

from mpslint.cli import OK


def run(arguments: list[str]) -> int:
    from mpslint.cli.options import add_settings, find_settings
    from mpslint.cli.parsing import Parser

    options = Parser("config", "Show the settings that hold for a path.")
    options.add_argument("path", nargs="?", default=".", metavar="PATH")
    options.add_argument("--output-format", choices=("text", "json"), default="text")
    add_settings(options)
    given = options.parse_args(arguments)
    found = find_settings(given)
    is_folder = os.path.isdir(given.path)
    settings = found.for_folder(given.path) if is_folder else found.for_file(given.path)
    enabled = sorted(settings.enabled(given.path))
    values = {
        name.replace("_", "-"): _plain(value)
        for name, value in settings._asdict().items()
        if name not in ("root", "origin")
    }
    if given.output_format == "json":
        import json

        print(json.dumps({"file": settings.origin or None, **values, "rules": enabled}, indent=2))
        return OK
    print(f"# from {settings.origin or 'the defaults: no settings file was found'}")
    for name, value in values.items():
        print(f"{name} = {_toml(value)}" if value is not None else f"# {name} is not set")
    print(f"# rules that are on for {given.path}: {', '.join(enabled) or 'none'}")
    return OK


def _plain(value: Any) -> Any:
    """A setting as it would stand in a settings file."""
    import enum

    if isinstance(value, enum.Enum):
        return value.name.lower()
    if isinstance(value, tuple):
        if len(value) == 2 and all(isinstance(part, int) for part in value):
            return f"{value[0]}.{value[1]}"
        if value and all(isinstance(part, tuple) for part in value):
            return {glob: list(rules) for glob, rules in value}
        return list(value)
    return value


def _toml(value: Any) -> str:
    import json

    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)
