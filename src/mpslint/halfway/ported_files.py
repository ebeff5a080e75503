"""What fixes make of one file for a port: what they open to MPS, and what still asks for CUDA there
once they are made."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.model import Confidence, Severity
from mpslint.porting.bringing import is_aid, ran, silences
from mpslint.porting.in_the_way import is_mended, keeps_out, raises_there_alone, stays_untold
from mpslint.project.runs.left_behind import lacks_kernel
from mpslint.records import NamedTuple
from mpslint.sources.opening import spoken

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterable, Sequence

    from mpslint.fixing.fixer import Made
    from mpslint.halfway.ways import Name
    from mpslint.model import Finding
    from mpslint.porting.landed import Applied
    from mpslint.sources.source import SourceFile

_CHOOSING = "MPS103"
"""The code that tells of choices of a device which never ask for MPS."""
_TWINS = "MPS2"
"""Codes of the rules about what is CUDA's alone: their fixes are for a Mac."""


class Left(NamedTuple):
    """Something that still asks for CUDA once all fixes are made."""

    row: int
    path: str
    """Where the cause is: for a fix that is not made, what is in its way."""
    line: str
    """The line, as people read it."""
    message: str
    raises: bool = True
    """A program ends there without CUDA."""
    code: str = ""
    """Of the finding that tells of it, where one does."""
    lacks_kernel: bool = False
    """A program ends there once it comes to MPS, and ran on the CPU."""
    is_doubt: bool = False
    """Nobody knows what becomes of tensors on MPS there."""
    only_if_ran: bool = False
    """What is in doubt would end a program with CUDA as well, or may end none: it speaks against
    fixes of lines alone to which a Mac came before."""
    beside: Name | None = None
    """It is left in programs alone that run this part, too."""

    is_untold: bool = False
    """No rule that is on tells of it: what is mended beside it for CUDA counts."""
    splits: bool = False
    """It is known to keep something on the CPU, whoever makes whatever is on offer: what is on MPS
    would meet that."""

    @property
    def raises_on_mps(self) -> bool:
        """Whether it ends a program that goes on as long as its tensors are on the CPU."""
        return self.lacks_kernel or self.is_doubt


class Opened(NamedTuple):
    """A fix that brings tensors to MPS, or one that is of use only where these come, or where the
    program goes on."""

    key: tuple[str, int]
    row: int
    ran: bool
    """A Mac came there before, with its tensors on the CPU."""
    brings: bool = True
    """It brings tensors to MPS itself."""
    silences: bool = False
    """It takes away a warning, which a program that ends does not live to see."""

    def left_unmade(self, blocked: Left) -> Left:
        """What is left where it is not made, for what is in its way: a line that raises today still
        does."""
        if self.ran:
            return blocked._replace(row=self.row, only_if_ran=False, beside=None)
        told = blocked._replace(row=self.row, raises=True, code=self.key[0], beside=None)
        return told._replace(lacks_kernel=False, is_doubt=False, is_untold=False)

    def is_kept_out_by(self, left: Left) -> bool:
        """Whether it is worth nothing beside this. What mends an error does so on the CPU, too, and
        is lost on those alone who end there before or after: not beside one of its own kind, say
        in a place where no statement fits, which whoever asks for the fix will mend as well. An
        operator that MPS lacks costs nothing where no Mac came before, and others may never call
        it."""
        if self.silences:
            return left.raises and not left.raises_on_mps
        if left.is_doubt:
            # What goes to CUDA alone has been there, and nothing else has ever been on the way.
            return self.brings and (self.ran or not left.only_if_ran)
        if left.lacks_kernel and not (self.ran and self.brings):
            return False
        if self.brings:
            return True
        if left.is_untold:
            return self.key[0].startswith(_TWINS)
        return left.code != self.key[0] and (self.ran or left.raises)

    def is_undone_by(self, left: Left) -> bool:
        """Whether this is known to end a program that goes on today: it would have its tensors on
        two devices."""
        return self.ran and self.brings and left.splits


class Against(NamedTuple):
    """Why a fix had better not be made."""

    reason: str
    is_known: bool = False
    """Nobody need try it: it ends a program that a Mac runs today."""


class Ported(NamedTuple):
    """A file as it becomes."""

    before: Callable[[], ast.Module | None] | None
    """Gives its tree as it was, in whose rows the fixes are told; None: it stays as it is."""
    after: Callable[[], ast.Module | None] | None
    """Gives its tree as it becomes; None: as it is. Most files are on no way, and not parsed."""
    opened: Sequence[Opened]
    left: Sequence[Left]
    mended: frozenset[int] = frozenset()
    """The rows in which what may be float64 is cast before it is moved, as it becomes."""


def untouched(path: str, findings: Iterable[Finding], untold: Iterable[Finding] = ()) -> Ported:
    """A file that nothing is fixed in."""
    own = os.path.abspath(path)
    left = [left_in(own, one) for one in findings if keeps_out(one)]
    for one in filter(stays_untold, untold):
        left.append(unmended_in(own, one, one.row) if is_mended(one) else left_in(own, one))
    return Ported(None, None, (), left)


def unmended_in(path: str, finding: Finding, row: int) -> Left:
    """What a finding leaves whose own fix is not among those of the run, and which raises on MPS
    alone: who ran on the CPU would end there, and who ended before is no worse off."""
    return left_in(path, finding, row)._replace(lacks_kernel=True)


def left_in(path: str, finding: Finding, row: int | None = None) -> Left:
    """What a finding of the file at an absolute path leaves there; `row`: the one in the text that
    is parsed, where people see another."""
    left = _left(finding, path, spoken(finding.cell, finding.row))
    return left if row is None else left._replace(row=row)


def ported(
    source: SourceFile,
    made: Made,
    applied: Iterable[Applied],
    tree_of: Callable[[SourceFile], ast.Module | None],
) -> Ported:
    """A file of which fixes made another text; those that were `applied` bring tensors to MPS."""
    from mpslint.porting.judging import Trace

    trace = Trace(source, made.passes)
    left = []
    staying = [one for one in made.untold if stays_untold(one)]
    for one in (*filter(keeps_out, made.findings), *staying):
        line = trace.line(made.source.starts[one.row - 1])
        told = _left(one, os.path.abspath(source.path), line)
        is_unmended = one in staying and is_mended(one)
        left.append(told._replace(lacks_kernel=True) if is_unmended else told)
    opened = [
        Opened(
            one.key,
            source.position(one.at)[0],
            ran(one.code, one.severity),
            not is_aid(one.code, one.severity),
            silences(one.code),
        )
        for one in applied
    ]
    return Ported(lambda: tree_of(source), lambda: tree_of(made.source), opened, left)


def _left(finding: Finding, path: str, line: str) -> Left:
    raises = finding.severity is Severity.BREAKS and not raises_there_alone(finding)
    left = Left(finding.row, path, line, finding.fact, raises, finding.code, lacks_kernel(finding))
    is_choice = finding.code == _CHOOSING and finding.severity is Severity.IGNORES
    is_certain = finding.confidence is Confidence.CERTAIN
    return left._replace(splits=is_choice and is_certain and finding.applicability is None)
