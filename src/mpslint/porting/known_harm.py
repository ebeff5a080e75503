"""Fixes that would end, for certain, a program which a Mac runs on the CPU today.

What nobody can know puts a fix in doubt. What is known is no choice to be left to anybody: an
operator without a kernel in the class that chooses the device, an object of the project's own whose
`to` refuses all devices but two. There is no fix then, and the reason names the place.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.basics.brief import brief
from mpslint.model import Severity
from mpslint.porting.bringing import brings
from mpslint.porting.in_the_way import weighs
from mpslint.project.runs.left_behind import CLOSED, KERNEL, UNEVEN, lacks_kernel, places
from mpslint.semantics.destinations.own_to import refusing_to
from mpslint.semantics.destinations.saved_from_host import left_on_host
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.sources.opening import spoken_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mpslint.model import Finding
    from mpslint.semantics.context import Context

_ENDING = frozenset({KERNEL, UNEVEN, CLOSED})
_HOME = "brings back where CUDA is alone what goes to the CPU to be saved"
_MOST = 60
_ALL = (0, 0)


def leave_known_harm(context: Context, findings: Sequence[Finding]) -> None:
    """Takes away, at whatever level, what would bring to MPS what is known to end there."""
    moving = [one for one in findings if _moves(one)]
    if not moving or "mps" not in context.settings.device_order:
        return
    refused = [*refusing_to(context)]
    for call, why in refused:
        for one in moving:
            if one.severity is Severity.IGNORES or one.row == call.lineno:
                one.drop_fix(f"{context.line(call)}: {why}")
    widening = [one for one in moving if one.severity is Severity.IGNORES and _moves(one)]
    if not widening:
        return
    harm = list(_ending(context, findings))
    for one in widening:
        around = _owner(context, one.row)
        told = next((why for row, why in harm if _owner(context, row) == around), None)
        if told is not None:
            one.drop_fix(told)


def _moves(finding: Finding) -> bool:
    return brings(finding.code) and not finding.follows and finding.applicability is not None


def _ending(context: Context, findings: Sequence[Finding]) -> Iterator[tuple[int, str]]:
    """The rows in which a program ends once its tensors are on MPS, each with the reason."""
    for one in findings:
        if lacks_kernel(one) and weighs(one) and one.applicability is None:
            line = spoken_line(context.source, context.source.starts[one.row - 1])
            yield one.row, f"{line}: {one.fact}"
    mended = {one.row for one in findings if _moves(one)}
    for call in left_on_host(context):
        if call.lineno in mended:
            continue
        spelled = brief(context.source.segment(call), _MOST)
        yield call.lineno, f"{context.line(call)}: {spelled} {_HOME}"
    for place in places(context):
        if place.why in _ENDING and not place.is_mended:
            yield place.row, f"{place.line}: {place.text} {place.why}"


def _owner(context: Context, row: int) -> tuple[int, int]:
    """The rows of the class or function of the module around one; what the module itself does
    is one as well."""
    for statement in context.tree.body:
        if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            last = statement.end_lineno or statement.lineno
            if statement.lineno <= row <= last:
                return statement.lineno, last
    return _ALL
