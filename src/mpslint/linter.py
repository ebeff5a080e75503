"""From a source file to findings: screen, parse, run the rules, drop what is suppressed.

Pure functions of source text and settings: nothing here reads files or runs the code it sees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.rules.registry import Rule, all_rules
from mpslint.suppress import Suppressions

if TYPE_CHECKING:
    import ast

    from mpslint.model import Finding
    from mpslint.settings import Settings
    from mpslint.source import SourceFile


def may_matter(data: bytes) -> bool:
    """Whether a file can have any finding at all: cheap, and never wrong when it says no."""
    return b"torch" in data


def wanted_rules(data: bytes, settings: Settings, path: str) -> list[Rule]:
    """The selected rules whose trigger words stand in the file."""
    if not may_matter(data):
        return []
    enabled = settings.enabled(path)
    return [
        rule
        for rule in all_rules()
        if rule.code in enabled and any(word in data for word in rule.triggers)
    ]


def lint(
    source: SourceFile, settings: Settings, tree: ast.Module | None = None, *, noqa: bool = True
) -> list[Finding]:
    """The findings of the selected rules in `source`, in order of position.

    `tree` is the file's stdlib tree where somebody has it already (flake8); without `noqa`
    comments of that kind silence nothing (flake8's `--disable-noqa`).
    Raises `BadSource` when the file does not parse.
    """
    rules = wanted_rules(source.data, settings, source.path)
    if not rules:
        return []
    from mpslint.semantics.context import Context

    suppressions = Suppressions(source, noqa=noqa)
    if suppressions.whole_file:
        return []
    context = Context(source, tree if tree is not None else source.parse(), settings)
    findings = [finding for rule in rules for finding in rule.check(context, rule)]
    kept = [
        finding
        for finding in findings
        if finding.severity >= settings.severity
        and finding.confidence >= settings.min_confidence
        and not suppressions.covers(finding)
    ]
    return sorted(kept, key=lambda finding: finding.sort_key)
