"""The rules mpslint knows: what each module below `mpslint.rules` declares.

What is known of a rule without its code (name, level, trigger words) stands in the generated
module `mpslint.rules.index`, so that a run imports the modules of only those rules that can have
something to say about a file.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Confidence, Finding, Severity
from mpslint.records import NamedTuple

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

UNUSED = "MPS900"
"""The rule that looks at what the others found, and runs last."""
Check = Callable[["Context", "Rule"], Iterable[Finding]]


class Rule(NamedTuple):
    code: str
    name: str
    summary: str
    severity: Severity
    triggers: tuple[bytes, ...]
    """A file that holds none of these byte strings cannot have this finding."""
    also: tuple[tuple[bytes, ...], ...]
    """Nor can one that lacks all of a group of these, for any of the groups."""
    names: tuple[bytes, ...]
    """Nor one in which none of these stands as a whole name; where empty, none has to."""
    called: bool
    """Nor one in which none of these names is called, or taken under another name."""
    default: bool
    """On without being asked for; the others are opt-in, and their page says why."""
    unnamed: bool
    """Looks at files that name a CUDA device though they never name torch, too."""
    fix: Applicability | None
    """The best level at which the rule offers a fix, None for report only."""
    module: str
    least: Confidence = Confidence.INFERRED
    """Findings less sure than this are opt-in, as a rule can be."""
    certain: tuple[tuple[bytes, ...], ...] = ()
    """A file that lacks all of a group of these cannot have a certain finding."""
    partly: bool = False
    """Some kinds of its findings are told to those alone who ask for the rule."""
    unfixed: str = ""
    """Why a finding has no fix, where nothing nearer is known."""

    @property
    def check(self) -> Check:
        """Finds this rule's findings in a file. Imports the rule's module."""
        if self.code not in _declared:
            from importlib import import_module

            import_module(self.module)
        known = _declared[self.code]
        if known[0] != self:
            raise RuntimeError(f"{self.module} changed: run `python docs/generate.py`")
        return known[1]

    def tells_inferred(self, context: Context) -> bool:
        """Whether findings count in a file that are not certain: else nobody need look for them."""
        if context.all_count:
            return True
        return context.settings.least_confidence(self) is not Confidence.CERTAIN

    @property
    def docs(self) -> str:
        """The rule's page: the docstring of its module."""
        from importlib import import_module

        return (import_module(self.module).__doc__ or "").strip()

    @property
    def url(self) -> str:
        return rule_url(self.name)

    @property
    def published(self) -> str | None:
        return published_url(self.name)


DOCS_URL = "MPSLINT_DOCS_URL"
"""The environment variable that says where the documentation is published."""


def rule_url(name: str) -> str:
    """The rule's page, from its name alone: cached findings are shown without the rules.

    Where no site is named, that is its path in the repository: an address that is nobody's would
    lead nowhere, or somewhere worse.
    """
    return published_url(name) or f"docs/rules/{name}.md"


def published_url(name: str) -> str | None:
    """The address of a rule's page, for formats that take nothing else; None without a site."""
    site = docs_site()
    return site and f"{site}/rules/{name}/"


def docs_site() -> str | None:
    """The address of the published documentation, without a slash at its end; None without one."""
    return os.environ.get(DOCS_URL, "").rstrip("/") or None


_declared: dict[str, tuple[Rule, Check]] = {}
"""What the rule modules imported so far said."""


def rule(
    code: str,
    name: str,
    *,
    severity: Severity,
    triggers: tuple[bytes, ...],
    also: tuple[tuple[bytes, ...], ...] = (),
    names: tuple[bytes, ...] = (),
    called: bool = False,
    default: bool = True,
    unnamed: bool = False,
    fix: Applicability | None = None,
    least: Confidence = Confidence.INFERRED,
    certain: tuple[tuple[bytes, ...], ...] = (),
    partly: bool = False,
    unfixed: str,
) -> Callable[[Check], Check]:
    """Declare `check`; its module's docstring is the rule's page, the first line its summary.

    Raises `ValueError` when the code or the name is taken.
    """

    def register(check: Check) -> Check:
        if code in _declared or any(known.name == name for known, _ in _declared.values()):
            raise ValueError(f"rule {code} {name} is declared twice")
        doc = (sys.modules[check.__module__].__doc__ or "").strip()
        summary = doc.splitlines()[0] if doc else name
        known = Rule(
            code,
            name,
            summary,
            severity,
            triggers,
            also,
            names,
            called,
            default,
            unnamed,
            fix,
            check.__module__,
            least,
            certain,
            partly,
            unfixed,
        )
        _declared[code] = (known, check)
        return check

    return register


@functools.lru_cache(maxsize=1)
def all_rules() -> tuple[Rule, ...]:
    """Every rule, ordered by code, from the index; no rule's module is imported."""
    from mpslint.rules.index import RULES

    return tuple(
        Rule(
            code,
            name,
            summary,
            Severity(severity),
            triggers,
            also,
            names,
            called,
            default,
            unnamed,
            None if fix is None else Applicability(fix),
            f"{__package__}.{module}",
            Confidence(least),
            certain,
            partly,
            unfixed,
        )
        for (
            code,
            name,
            module,
            severity,
            fix,
            default,
            unnamed,
            triggers,
            also,
            names,
            called,
            summary,
            least,
            certain,
            partly,
            unfixed,
        ) in RULES
    )


def by_code(code: str) -> Rule:
    """The rule with this code. Raises `KeyError`."""
    return _by_code()[code]


@functools.lru_cache(maxsize=1)
def _by_code() -> dict[str, Rule]:
    return {rule.code: rule for rule in all_rules()}


def declared_rules() -> tuple[Rule, ...]:
    """Every rule as its module declares it, ordered by code. Imports all of them."""
    from mpslint.rules import load

    load()
    return tuple(_declared[code][0] for code in sorted(_declared))
