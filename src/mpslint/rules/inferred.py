"""Whether what a rule only infers is told to anybody: else nobody need look for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.model import Confidence

if TYPE_CHECKING:
    from mpslint.rules.registry import Rule
    from mpslint.semantics.context import Context


def tells_inferred(context: Context, rule: Rule) -> bool:
    """Whether findings of the rule count that are not certain."""
    return context.all_count or (
        context.settings.least_confidence(rule) is not Confidence.CERTAIN
    )
