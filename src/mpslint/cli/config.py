"""`mpslint config`: the settings that hold for a path, and where they come from."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from mpslint.cli import OK

if TYPE_CHECKING:
    from mpslint.cli.parsing import Parser


def parser() -> Parser:
    from mpslint.cli.options import add_settings
    from mpslint.cli.parsing import Parser

    options = Parser("config", "Show the settings that hold for a path.")
    options.add_argument("path", nargs="?", default=".", metavar="PATH")
    options.add_argument("--output-format", choices=("text", "json"), default="text")
    add_settings(options)
    return options


def run(arguments: list[str]) -> int:
    from mpslint.cli.options import find_settings
    from mpslint.settings.table import EXTEND, KEYS, plain

    given = parser().parse_args(arguments)
    found = find_settings(given)
    is_folder = os.path.isdir(given.path)
    settings = found.for_folder(given.path) if is_folder else found.for_file(given.path)
    enabled = sorted(settings.enabled(given.path))
    values = {
        key: plain(key, getattr(settings, key.replace("-", "_"))) for key in KEYS if key != EXTEND
    }
    if given.output_format == "json":
        import json

        print(json.dumps({"file": settings.origin or None, **values, "rules": enabled}, indent=2))
        return OK
    from mpslint.basics.printable import printable

    if not os.path.lexists(given.path):
        said = f"warning: {given.path}: no such file or folder; these settings would hold for it"
        print(printable(said), file=sys.stderr)
    lines = [f"# from {settings.origin or 'the defaults: no settings file was found'}"]
    for name, value in values.items():
        lines.append(f"{name} = {_toml(value)}" if value is not None else f"# {name} is not set")
    lines.append(f"# rules that are on for {given.path}: {', '.join(enabled) or 'none'}")
    print("\n".join(map(printable, lines)))
    return OK


def _toml(value: Any) -> str:
    import json

    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)
