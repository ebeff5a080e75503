"""Check one file: read it, lint it, and turn what goes wrong into one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.errors import BadSource, MpslintError
from mpslint.reading import check_syntax, file_size, read_bytes, too_large
from mpslint.results import FileResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from mpslint.discovery import Target
    from mpslint.settings import Settings


def check_file(target: Target) -> FileResult:
    """The findings of one file; never raises for what the file itself is to blame for.

    Raises `BadSettings` for selectors that name no rule.
    """
    path, settings, named = target
    limit = settings.max_file_size
    skipped = too_large(file_size(path), limit) if limit else None
    if skipped:
        return FileResult(path, warning=f"{path}: {skipped}")
    return guarded(path, lambda: check_bytes(path, read_bytes(path), settings, named=named))


def guarded(path: str, check: Callable[[], FileResult]) -> FileResult:
    """`check()`, or the one line that says why this file could not be checked."""
    try:
        return check()
    except BadSource as error:
        return FileResult(path, error=str(error))
    except RecursionError:
        return FileResult(path, error=f"{path}: nested too deeply to check; exclude this file")
    except MpslintError:
        raise
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
    if b"torch" not in data:
        # Most files of most projects: nothing is imported for them.
        if named:
            check_syntax(path, data)
        return FileResult(path)
    from mpslint.linter import lint
    from mpslint.source import SourceFile

    source = SourceFile(path, data)
    tree = source.parse() if named else None
    return FileResult(path, tuple(lint(source, settings, tree)))
