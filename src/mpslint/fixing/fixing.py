"""Fix files in memory and keep what is needed to show, verify and write the outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.checking.checking import internal_error
from mpslint.errors import BadSource, MpslintError
from mpslint.fixing.fixer import FixResult, fix_source
from mpslint.model import Applicability, Severity
from mpslint.records import NamedTuple
from mpslint.sources.opening import open_source, texts_by_cell
from mpslint.sources.source import SourceFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mpslint.findings.results import FileResult
    from mpslint.fixing.fixer import Hidden
    from mpslint.project.project import Project
    from mpslint.settings.settings import Settings


class Planned(NamedTuple):
    """One file and what fixing makes of it; nothing is written yet."""

    path: str
    source: SourceFile
    result: FixResult
    new: bool = False
    """The file does not exist yet."""

    @property
    def changed(self) -> bool:
        return self.result.source.on_disk != self.source.on_disk

    @property
    def after(self) -> bytes:
        """The new bytes, in the file's own encoding."""
        return self.result.source.on_disk

    @property
    def before(self) -> bytes:
        return self.source.on_disk


def worth_fixing(result: FileResult, *, unsafe: bool) -> bool:
    """Whether some finding of the file comes with a fix of the level asked for."""
    level = Applicability.UNSAFE if unsafe else Applicability.SAFE
    return any(f.applicability is not None and f.applicability >= level for f in result.findings)


def may_become_safe(result: FileResult) -> bool:
    """Whether another file may be what speaks against a fix, which is fixed in the same run."""
    return any(
        one.applicability is Applicability.UNSAFE and one.severity is Severity.IGNORES
        for one in result.findings
    )


def plan(
    path: str,
    data: bytes,
    settings: Settings,
    *,
    unsafe: bool,
    project: Project | None = None,
    hidden: Hidden = frozenset(),
) -> Planned | str:
    """The file fixed in memory, or the one line that says why it cannot be; findings that are
    `hidden` stay as they are."""
    try:
        source = open_source(path, data)
        result = fix_source(source, settings, unsafe=unsafe, elsewhere=project, hidden=hidden)
        return Planned(path, source, result)
    except BadSource as error:
        return str(error)
    except MpslintError:
        raise
    except Exception as error:
        return internal_error(path, error)


def plan_helper(project: Project, planned: Iterable[Planned]) -> Planned | None:
    """The project's helper module, where the planned files import it and it is not there yet."""
    path = project.new_helper
    if path is None or not any(project.uses_helper(file.result.source) for file in planned):
        return None
    made = SourceFile(path, project.helper_source.encode())
    return Planned(path, SourceFile(path, b""), FixResult(made, (), (), 0, None), new=True)


def unified_diff(planned: Planned, shown: str) -> Iterator[str]:
    """The change as a patch: lines of the tokenizer, newlines as they stand in the file.

    A notebook's change is shown cell by cell.
    """
    after = texts_by_cell(planned.result.source)
    for cell, text in texts_by_cell(planned.source).items():
        if cell is None:
            yield from _diff(text, after[None], "/dev/null" if planned.new else shown, shown)
        else:
            # The last line of a cell has no newline by custom: not worth a remark.
            name = f"{shown}:cell {cell}"
            yield from _diff(f"{text}\n", f"{after[cell]}\n", name, name)


def _diff(before: str, after: str, old: str, new: str) -> Iterator[str]:
    import difflib

    one, two = _lines(SourceFile.from_text(before)), _lines(SourceFile.from_text(after))
    for line in difflib.unified_diff(one, two, old, new):
        if line.endswith(("\n", "\r")):
            yield line
        else:
            yield f"{line}\n\\ No newline at end of file\n"


def _lines(source: SourceFile) -> list[str]:
    import itertools

    bounds = itertools.pairwise([*source.starts, len(source.text)])
    return [source.text[start:end] for start, end in bounds if start < end]
