"""What every other part of mpslint passes around: plain, immutable data.

Positions: `Span` and `Edit` are half-open ranges of *character offsets* into the decoded
text of a file (newlines as they stand in the file). `Finding.row`/`column` are 1-based, the
column counted in characters, as ruff and flake8 print them.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TypeVar

from mpslint.records import NamedTuple

_Told = TypeVar("_Told")


class Severity(enum.IntEnum):
    """What the flagged code does on a Mac, worst last (so that `>=` reads as "at least")."""

    SLOW = 1
    """Waits for the device, or moves data that could stay."""
    IGNORES = 2
    """Silently uses the CPU, or gives a wrong number."""
    BREAKS = 3
    """Raises."""

    @property
    def label(self) -> str:
        return self.name.lower()


class Applicability(enum.IntEnum):
    """Who may apply a fix: see "the device oracle" in docs/fixes.md."""

    DISPLAY = 1
    """Shown only: a human must choose."""
    UNSAFE = 2
    """Applied with `--unsafe-fixes`: device choices or numbers on CUDA may change."""
    SAFE = 3
    """On CUDA the same device choices and calls; elsewhere it no longer raises."""

    @property
    def label(self) -> str:
        return self.name.lower()


Level = Applicability | Callable[[], Applicability | None] | None
"""A level that is known, or that is found out when somebody asks."""


class Confidence(enum.IntEnum):
    """Whether a finding follows from facts in the file or from inference about values."""

    INFERRED = 1
    CERTAIN = 2

    @property
    def label(self) -> str:
        return self.name.lower()


class Span(NamedTuple):
    start: int
    end: int


class Edit(NamedTuple):
    """Replace `text[start:end]`, which must read `expect`, by `text`."""

    start: int
    end: int
    text: str
    expect: str


class Fix(NamedTuple):
    message: str
    edits: tuple[Edit, ...]
    applicability: Applicability
    follows: bool = False
    """It brings no tensor to MPS by itself: they go where others are, or to MPS less often."""
    waits: bool = False
    """It asks the machine, and would ask the device that another fix brings: it is made when there
    is no other left to make."""


Unfixed = Callable[[], str] | str | None
"""Why there is no fix, or what finds it out when somebody asks; None or empty: nothing is known."""


def doubtful(fix: Fix, reason: str) -> Fix:
    """The fix, unsafe, and saying why; as it is where there is no reason."""
    if not reason or reason in fix.message:
        return fix
    message = f"{fix.message} ({reason})"
    level = min(fix.applicability, Applicability.UNSAFE)
    return fix._replace(message=message, applicability=level)


class Unused(NamedTuple):
    """A comment, or a part of one, that silences nothing."""

    start: int
    end: int
    message: str
    edits: tuple[Edit, ...]
    """What takes it away."""


class Label(NamedTuple):
    """A related place of a finding (the guard, the loop, the definition)."""

    row: int
    column: int
    message: str
    cell: int | None = None
    """As in `Finding.cell`."""


def _once(find_out: Callable[[], _Told]) -> Callable[[], _Told]:
    """The same, found out when it is first asked for; what it takes is let go of then."""
    told: list[_Told] = []
    left = [find_out]

    def known() -> _Told:
        if not told:
            told.append(left[0]())
            left.clear()
        return told[0]

    return known


class Finding:
    """One diagnostic. Its fix is built on first use, because building may need libcst."""

    __slots__ = (
        "_build",
        "_claimed",
        "_fix",
        "_level",
        "_unfixed",
        "advice",
        "by_request",
        "cell",
        "code",
        "column",
        "confidence",
        "end_column",
        "end_row",
        "follows",
        "labels",
        "message",
        "name",
        "provided",
        "quiet",
        "reason",
        "row",
        "severity",
    )

    def __init__(
        self,
        code: str,
        name: str,
        message: str,
        severity: Severity,
        row: int,
        column: int,
        end_row: int,
        end_column: int,
        *,
        confidence: Confidence = Confidence.CERTAIN,
        labels: tuple[Label, ...] = (),
        provided: str = "",
        advice: str = "",
        by_request: bool = False,
        applicability: Level = None,
        fix: Callable[[], Fix | None] | Fix | None = None,
        unfixed: tuple[Unfixed, ...] = (),
    ) -> None:
        """`applicability`, `fix` and why there is none (`unfixed`, what says most first) may be
        functions that find it out when somebody asks."""
        self.code = code
        self.name = name
        self.message = message
        self.severity = severity
        self.row = row
        self.column = column
        self.end_row = end_row
        self.end_column = end_column
        self.confidence = confidence
        self.labels = labels
        self.advice = advice
        """The end of the message, where that says what works instead."""
        self.provided = provided
        """What has to be so for it, which no code says: `a checkpoint was saved on CUDA`. The
        message says it as well."""
        self.by_request = by_request
        """Its kind is told to those alone who ask for its rule, however sure it is."""
        self.cell: int | None = None
        """In a notebook, the 1-based number of the cell that rows are counted in."""
        self._level = applicability
        self._claimed = applicability is not None and not callable(applicability)
        """Nobody has looked whether the fix can be written here."""
        self.follows = False
        """Its fix, once built, will be one that `follows`."""
        self.quiet = False
        """It is told to nobody: its fix goes along with those of what reads the same."""
        self.reason: str | None = None
        """What the analysis of the fixed text has against its fix."""
        self._unfixed = unfixed
        self._fix: Fix | None = None
        self._build: Callable[[], Fix | None] | None = None
        if isinstance(fix, Fix):
            self._fix = fix
            self._level = fix.applicability
        else:
            self._build = fix

    @property
    def applicability(self) -> Applicability | None:
        """The level the rule offers a fix at, known without building it; None: no fix."""
        if callable(self._level):
            self._level = self._level()
        return self._level

    @applicability.setter
    def applicability(self, level: Applicability | None) -> None:
        self._level = level

    @property
    def fix(self) -> Fix | None:
        if self._build is not None:
            build, self._build = self._build, None
            self._fix = build()
            self._level = self._fix.applicability if self._fix else None
        return self._fix

    @property
    def unfixed(self) -> str:
        """Why there is no fix: one clause; empty where there is one."""
        if self.applicability is not None and self.fix is not None:
            return ""
        for one in self._unfixed:
            said = one() if callable(one) else one
            if said:
                self._unfixed = (said,)
                return said
        return ""

    def confirm(self) -> None:
        """Offer no fix that cannot be written. A level that a rule has found out stands, and is
        found out without the libraries that writing may need."""
        if self._claimed and self._level is not None:
            self._claimed = self.fix is None

    def offer(self, fix: Fix | None) -> None:
        """Offer this fix in place of what the rule had to offer."""
        self._fix, self._build = fix, None
        self.applicability = fix.applicability if fix is not None else None

    def doubt(self, reason: str) -> None:
        """Let the fix, which need not be built for that, be unsafe for this reason."""
        if self.applicability is None:
            return
        self.applicability = min(self.applicability, Applicability.UNSAFE)
        self.reason = reason
        build, known = self._build, self._fix
        self._fix = None

        def doubted() -> Fix | None:
            fix = build() if build is not None else known
            return doubtful(fix, reason) if fix is not None else None

        self._build = doubted

    def drop_fix(self, reason: str = "") -> None:
        """Offer no fix, whatever the rule has to offer; `reason` says why."""
        self._fix = self._build = self._level = None
        self._unfixed = (reason, *self._unfixed)

    def without_fix(self) -> Finding:
        """The same without a fix; it keeps nothing alive that one would be built from."""
        bare = Finding(
            self.code,
            self.name,
            self.message,
            self.severity,
            self.row,
            self.column,
            self.end_row,
            self.end_column,
            confidence=self.confidence,
            labels=self.labels,
            provided=self.provided,
            advice=self.advice,
            unfixed=tuple(one for one in self._unfixed if isinstance(one, str)),
        )
        bare.cell = self.cell
        return bare

    def twin(self) -> Finding:
        """The same, for one who offers another fix for it: what was not yet found out of the fix is
        found out once for both."""
        if self._build is not None:
            self._build = _once(self._build)
        if callable(self._level):
            self._level = _once(self._level)
        other = object.__new__(Finding)
        for name in Finding.__slots__:
            setattr(other, name, getattr(self, name))
        return other

    @property
    def fact(self) -> str:
        """The message without its advice: what stands in the way of others."""
        return self.message.removesuffix(f"; {self.advice}") if self.advice else self.message

    @property
    def sort_key(self) -> tuple[int, int, int, str, int, int]:
        place = (self.cell or 0, self.row, self.column)
        return (*place, self.code, self.end_row, self.end_column)

    def __repr__(self) -> str:
        return f"Finding({self.code} {self.place} {self.message!r})"

    @property
    def place(self) -> str:
        """`row:column`, in a notebook `cell N:row:column`."""
        return placed(self.cell, self.row, self.column)


def placed(cell: int | None, row: int, column: int) -> str:
    """A position as people read it."""
    return f"{row}:{column}" if cell is None else f"cell {cell}:{row}:{column}"
