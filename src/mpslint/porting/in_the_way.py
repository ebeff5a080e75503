"""What findings say of a program that is ported, whoever is told of them: what keeps a Mac, or its
GPU, out.

A program raises where it raises, however few rules somebody has selected, and whichever kinds of
findings are told when they are asked for. So what a fix has to know is asked of a set of rules that
is always the same, those that are on without being asked for: a fix is as safe beside few rules as
beside all of them. What comments silence is left out: their author has looked at it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Confidence, Severity
from mpslint.porting.bringing import DTYPES, OPENING, brings, is_aid, silences
from mpslint.project.runs.left_behind import lacks_kernel
from mpslint.rules.registry import all_rules, by_code

if TYPE_CHECKING:
    from mpslint.model import Finding
    from mpslint.settings.settings import Settings


@lru_cache(1)
def weighing() -> frozenset[str]:
    """The codes of the rules whose findings decide on fixes, be they told or not."""
    return frozenset(
        rule.code for rule in all_rules() if rule.default and rule.severity >= Severity.IGNORES
    )


@lru_cache(64)
def is_for_a_port(codes: frozenset[str]) -> bool:
    """Whether a fix of one of these rules hangs on what else is in the way."""
    return any(
        rule.fix is not None and (brings(code) or silences(code) or is_aid(code, rule.severity))
        for code in codes
        for rule in (by_code(code),)
    )


def is_narrow(settings: Settings, path: str) -> bool:
    """Whether fixes are made of a file, and others that are on without being asked for are not:
    what is safe beside all of them has to be found out with all of them."""
    codes = settings.enabled(path)
    return is_for_a_port(codes) and (
        not weighing() <= codes
        or settings.severity > Severity.IGNORES
        or settings.min_confidence is Confidence.CERTAIN
        or settings.baseline is not None
        or not all(map(settings.may_fix, weighing()))
    )


def weighs(finding: Finding) -> bool:
    """Whether a finding decides on fixes: it would be told without being asked for, or is of a kind
    that is told by request alone."""
    rule = by_code(finding.code)
    return rule.default and not finding.quiet and finding.confidence >= rule.least


def raises_there_alone(finding: Finding) -> bool:
    """Whether it tells of what raises only once a tensor is on MPS."""
    return finding.code in DTYPES or lacks_kernel(finding)


def keeps_out(finding: Finding) -> bool:
    """Whether a finding that is left keeps a Mac, or its GPU, out, for sure. What raises on MPS
    alone is brought there by nothing safe, even where it is inferred."""
    if not weighs(finding):
        return False
    if raises_there_alone(finding):
        return True
    if finding.confidence is not Confidence.CERTAIN:
        return False
    if finding.severity is Severity.BREAKS:
        return True
    return finding.severity is Severity.IGNORES and finding.code.startswith(OPENING)


def is_mended(finding: Finding) -> bool:
    """Whether a safe fix takes away what a finding tells of."""
    return finding.applicability is Applicability.SAFE


def stays_untold(finding: Finding) -> bool:
    """Whether what nobody is told of keeps a Mac out once all that is told is fixed. Somebody who
    fixes rule by rule will mend what has a safe fix as well; until then only what raises on MPS
    alone is worse than before."""
    return keeps_out(finding) and (not is_mended(finding) or raises_there_alone(finding))
