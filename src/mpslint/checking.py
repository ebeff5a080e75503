"""Check the bytes of one file, and turn what goes wrong into one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from mpslint.errors import BadSource, MpslintError
from mpslint.reading import check_syntax
from mpslint.results import FileResult
from mpslint.screening import speaks_of_torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from mpslint.settings import Settings

_Result = TypeVar("_Result")


def guarded(path: str, check: Callable[[], _Result]) -> _Result | FileResult:
    """`check()`, or the one line that says why this file could not be checked."""
    try:
        return check()
    except BadSource as error:
        return FileResult(path, error=str(error))
    except RecursionError:
        return FileResult(path, error=f"{path}: nested too deeply to check; exclude this file")
    except (MpslintError, ImportError):
        raise  # the settings' or the installation's fault, not this file's
    except Exception as error:
        return FileResult(path, error=internal_error(path, error))


def internal_error(path: str, error: Exception) -> str:
    """One line for a fault of mpslint's own; the traceback is shown on request."""
    import os

    if os.environ.get("MPSLINT_TRACEBACK"):
        import traceback

        traceback.print_exc()
    reason = " ".join(f"{type(error).__name__}: {error}".split())
    return (
        f"{path}: internal error: {reason[:200]} "
        "(please report it; MPSLINT_TRACEBACK=1 shows where, `exclude` skips the file)"
    )


def check_bytes(path: str, data: bytes, settings: Settings, *, named: bool) -> FileResult:
    """Check bytes in hand; a file that is `named` must parse in any case. Raises `BadSource`."""
    if not speaks_of_torch(data):
        # Most files of most projects: nothing is imported for them.
        if named:
            check_syntax(path, data)
        return FileResult(path)
    from mpslint.linter import lint
    from mpslint.opening import located, open_source, unread

    source = open_source(path, data)
    tree = source.parse() if named else None
    findings = located(source, lint(source, settings, tree))
    return FileResult(path, findings, warning=unread(source))
