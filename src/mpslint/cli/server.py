"""`mpslint server`: serve an editor."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.cli import fail

if TYPE_CHECKING:
    from mpslint.cli.parsing import Parser


def parser() -> Parser:
    from mpslint.cli.parsing import Parser

    options = Parser("server", "Serve an editor: the Language Server Protocol over stdin, stdout.")
    options.add_argument(
        "--stdio", action="store_true", help="what it does anyway, for editors that ask for it"
    )
    return options


def run(arguments: list[str]) -> int:
    """Exit code 0 when the editor said goodbye, 1 when it just left."""
    parser().parse_args(arguments)
    try:
        from mpslint.server.main import serve
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol", "attrs", "cattrs"):
            raise
        return fail(
            "the editor server needs pygls 2 or newer, which is not installed here; "
            "run: pip install 'mpslint[server]'"
        )
    return serve()
