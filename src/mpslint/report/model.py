"""What a report is made of: plain data, so that each format shows the same."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mpslint.model import Severity
from mpslint.records import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mpslint.model import Finding
    from mpslint.verify.report import Report
    from mpslint.verify.tracing import Trace

SAFE, UNSAFE, PERSON = "safe", "unsafe", "person"
REMEDIES = (SAFE, UNSAFE, PERSON)
"""Who settles a finding: `mpslint fix`, `mpslint fix --unsafe-fixes`, or a person."""
SEVERITIES = tuple(severity.label for severity in sorted(Severity, reverse=True))


class Place(NamedTuple):
    """A line of the project, with its text."""

    path: str
    row: int
    text: str = ""
    cell: int | None = None

    @property
    def shown(self) -> str:
        if self.cell is None:
            return f"{self.path}:{self.row}"
        return f"{self.path}:cell {self.cell}:{self.row}"


class Issue(NamedTuple):
    """One finding, where it stands, and who settles it."""

    finding: Finding
    place: Place
    remedy: str
    """One of `REMEDIES`."""
    fix: str
    """What the fix would do, empty where there is none."""

    @property
    def severity(self) -> str:
        return self.finding.severity.label


class Cause(NamedTuple):
    """One place of the project that stands behind several findings."""

    kind: str
    """`selection`, `switch`, `loop`, `test` or `unselected`."""
    title: str
    place: Place
    issues: tuple[int, ...]
    """Indices into `Survey.issues`; each issue belongs to one cause at most."""
    uses: tuple[Place, ...] = ()
    """Of a selection: where the device that it chooses is used."""
    shared: int = 0
    """So many of these may use what another selection chooses as well: the name is selected again,
    and a function may be called before or after that."""


class OpUse(NamedTuple):
    """An operator that MPS runs only from some torch release on, and where it is called."""

    name: str
    backward: bool
    since: str | None
    """The first release with a kernel, None for none that is known."""
    places: tuple[Place, ...]


class Broken(NamedTuple):
    """A file that does not parse, and one that imports it whatever happens."""

    path: str
    importer: str


class Survey(NamedTuple):
    """All that a report says of a project."""

    title: str
    paths: tuple[str, ...]
    version: str
    made: str
    """The day, as in 2026-01-31."""
    files: Mapping[str, bool]
    """Each file that was looked at, and whether it speaks of torch."""
    issues: tuple[Issue, ...]
    causes: tuple[Cause, ...]
    ops: tuple[OpUse, ...]
    emerging: int
    """Findings that come to light only after the fixes."""
    unread: tuple[str, ...]
    """One line for each file that could not be checked."""
    verdicts: tuple[Report, ...] = ()
    traces: tuple[Trace, ...] = ()
    """What runs have shown, where somebody ran them."""
    broken: tuple[Broken, ...] = ()

    @property
    def torch_files(self) -> int:
        return sum(self.files.values())

    def number(self, *, severity: str | None = None, remedy: str | None = None) -> int:
        """How many findings are of this severity and are settled like this."""
        return sum(
            severity in (None, issue.severity) and remedy in (None, issue.remedy)
            for issue in self.issues
        )

    @property
    def explained(self) -> int:
        """How many findings the causes account for."""
        return sum(len(cause.issues) for cause in self.causes)


def tally(issues: Iterable[Issue]) -> dict[str, int]:
    """Findings by severity, the worst first; every severity is there."""
    counts = Counter(issue.severity for issue in issues)
    return {severity: counts[severity] for severity in SEVERITIES}
