"""`mpslint clean`: remove what earlier runs kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.cli import OK, fail

if TYPE_CHECKING:
    from mpslint.cli.parsing import Parser


def parser() -> Parser:
    from mpslint.cli.parsing import Parser

    return Parser("clean", "Remove what earlier runs keep: findings, and builds of `--torch cpu`.")


def run(arguments: list[str]) -> int:
    from mpslint.errors import reason_of
    from mpslint.folders.cache_folder import open_folder
    from mpslint.verify import overlay

    parser().parse_args(arguments)
    try:
        builds = overlay.remove()
    except OSError as error:
        return fail(f"the builds of --torch cpu cannot be removed: {reason_of(error)}")
    if builds is not None:
        print(f"removed {builds}")
    folder = open_folder()
    if folder is None:
        return OK
    try:
        folder.remove()
    except OSError as error:
        return fail(f"{folder.path}: cannot be removed: {reason_of(error)}")
    finally:
        folder.close()
    print(f"removed {folder.path}")
    return OK
