"""What fixes alone would settle: every file is fixed in memory, as `mpslint fix` would do it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mpslint.fixing.fixing import plan, worth_fixing
from mpslint.records import NamedTuple
from mpslint.report.model import PERSON, SAFE, UNSAFE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.findings.results import FileResult
    from mpslint.fixing.fixer import FixResult
    from mpslint.model import Finding
    from mpslint.project.project import Project
    from mpslint.settings.settings import Settings


class Remedies(NamedTuple):
    by_finding: tuple[str, ...]
    """Who settles each finding of a file, in order."""
    emerging: int
    """Findings that are there only after all fixes."""


def remedies(result: FileResult, data: bytes, settings: Settings, project: Project) -> Remedies:
    """Who settles the findings of a file whose content is `data`."""
    levels = [PERSON] * len(result.findings)
    emerging = 0
    for unsafe, level in ((True, UNSAFE), (False, SAFE)):
        if not worth_fixing(result, unsafe=unsafe):
            continue
        planned = plan(result.path, data, settings, unsafe=unsafe, project=project)
        if isinstance(planned, str) or planned.result.error is not None:
            continue
        settled, new = _settled(result.findings, planned.result)
        for index in settled:
            levels[index] = level
        emerging = new if unsafe else emerging
    return Remedies(tuple(levels), emerging)


def _settled(findings: Sequence[Finding], fixed: FixResult) -> tuple[set[int], int]:
    """Which findings are gone after the fixes, and how many have come to light.

    A fix that landed names its finding; others go with it, and are known by their number only.
    """
    landed = Counter((fix.code, fix.row, fix.cell) for fix in fixed.applied)
    settled = set()
    for index, finding in enumerate(findings):
        key = (finding.code, finding.row, finding.cell)
        if landed[key]:
            landed[key] -= 1
            settled.add(index)
    left, new = Counter(finding.code for finding in fixed.remaining), 0
    open_ = Counter(f.code for i, f in enumerate(findings) if i not in settled)
    gone = open_ - left
    new = (left - open_).total()
    for index, finding in enumerate(findings):
        if index not in settled and gone[finding.code] > 0:
            gone[finding.code] -= 1
            settled.add(index)
    return settled, new
