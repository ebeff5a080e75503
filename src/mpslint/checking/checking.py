"""Check the bytes of one file, and turn what goes wrong into one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from mpslint.errors import BadSource, MpslintError
from mpslint.findings.results import FileResult
from mpslint.sources.reading import check_syntax
from mpslint.sources.screening import speaks_of_torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from mpslint.model import Finding
    from mpslint.project.layout.out_of_reach import OutOfReach
    from mpslint.project.neighbours import Neighbours
    from mpslint.semantics.elsewhere.elsewhere import Elsewhere
    from mpslint.settings.settings import Settings
    from mpslint.sources.source import SourceFile

    Around = dict[Settings, Neighbours | OutOfReach]
    """What is known around the files of each settings; it lasts as long as a run."""

_Result = TypeVar("_Result")
OLD_NAME = "MPS414"
"""The rule that tells of files that no Python of today parses for one word."""


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


def check_bytes(
    path: str, data: bytes, settings: Settings, *, named: bool, around: Around | None = None
) -> FileResult:
    """Check bytes in hand; a file that is `named` must parse in any case. Raises `BadSource`.

    `around` keeps what is known of modules that files import from their projects (they are read,
    never imported); None: nothing is to be asked of them.
    """
    if not speaks_of_torch(data):
        # Most files of most projects: nothing is imported for them.
        if named:
            check_syntax(path, data)
        return FileResult(path)
    from mpslint.checking.linter import linted
    from mpslint.sources.opening import located, open_source, unread

    source = open_source(path, data)
    tree = source.parse() if named else None
    elsewhere = neighbours_of(around, settings) if around is not None else None
    found = linted(source, settings, tree, elsewhere=elsewhere, whole=False)
    findings, untold = located(source, found.told), located(source, found.untold)
    for finding in (*findings, *untold):
        finding.confirm()
    warning = unread(source) or _kept_silent(source, findings)
    return FileResult(
        path,
        findings,
        None,
        warning,
        untold=untold,
        is_whole=found.is_whole,
        mended=tuple(sorted(found.mended)),
    )


def _kept_silent(source: SourceFile, findings: tuple[Finding, ...]) -> str | None:
    """That Python cannot parse the file, where the rule that says so is off."""
    from mpslint.sources.old_names import places

    old = places(source.text)
    if not old or any(finding.code == OLD_NAME for finding in findings):
        return None
    row, column = source.position(old[0])
    return f"{source.path}:{row}:{column}: `async` is a keyword since Python 3.7"


def neighbours_of(around: Around, settings: Settings) -> Elsewhere:
    """Who answers for the modules around files of these settings; made when first needed."""
    known = around.get(settings)
    if known is None:
        from mpslint.project.neighbours import Neighbours

        known = around[settings] = Neighbours(settings)
    return known
