"""The rules mpslint knows: each module below `mpslint.rules` registers itself here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from mpslint.model import Applicability, Finding, Severity

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

Check = Callable[["Context", "Rule"], Iterable[Finding]]


class Rule(NamedTuple):
    code: str
    name: str
    summary: str
    severity: Severity
    triggers: tuple[bytes, ...]
    """A file that holds none of these byte strings cannot have this finding."""
    also: tuple[bytes, ...]
    """Nor can one that lacks any of these."""
    default: bool
    """On without being asked for; the others are opt-in, and their page says why."""
    fix: Applicability | None
    """The best level at which the rule offers a fix, None for report only."""
    check: Check
    module: str

    @property
    def docs(self) -> str:
        """The rule's page: the docstring of its module."""
        import sys

        return (sys.modules[self.module].__doc__ or "").strip()

    @property
    def url(self) -> str:
        return rule_url(self.name)


def rule_url(name: str) -> str:
    """The rule's page, from its name alone: cached findings are shown without the rules."""
    return f"https://mpslint.readthedocs.io/rules/{name}"


_rules: dict[str, Rule] = {}


def rule(
    code: str,
    name: str,
    *,
    severity: Severity,
    triggers: tuple[bytes, ...],
    also: tuple[bytes, ...] = (),
    default: bool = True,
    fix: Applicability | None = None,
) -> Callable[[Check], Check]:
    """Register `check`; its module's docstring is the rule's page, the first line its summary.

    Raises `ValueError` when the code or the name is taken.
    """

    def register(check: Check) -> Check:
        import sys

        if code in _rules or any(r.name == name for r in _rules.values()):
            raise ValueError(f"rule {code} {name} is registered twice")
        doc = (sys.modules[check.__module__].__doc__ or "").strip()
        summary = doc.splitlines()[0] if doc else name
        _rules[code] = Rule(
            code, name, summary, severity, triggers, also, default, fix, check, check.__module__
        )
        return check

    return register


def all_rules() -> tuple[Rule, ...]:
    """Every rule, ordered by code. Importing the rule modules happens here, once."""
    from mpslint.rules import load

    load()
    return tuple(_rules[code] for code in sorted(_rules))
