"""The page of the rule that speaks at a place, or that a comment there names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.capabilities import get_capability

from mpslint.rules.registry import all_rules
from mpslint.server.diagnostics import range_of

if TYPE_CHECKING:
    from mpslint.rules.registry import Rule
    from mpslint.server.analysis import Analysis
    from mpslint.server.documents import Part

_SILENCE = re.compile(r"#[^#]*?(?:noqa|mpslint:\s*ignore)[^#]*", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z][\w-]*")


def hover(
    analysis: Analysis, part: Part, position: types.Position, client: types.ClientCapabilities
) -> types.Hover | None:
    """What the editor shows where the pointer rests; None for nothing."""
    offset = part.text.offset(position)
    at = part.text.position(offset)
    here = [
        (finding.code, where)
        for finding in analysis.findings
        if analysis.snapshot.parts[finding.cell] is part
        and _within(at, where := range_of(finding, part))
    ]
    rules = [rule for code in dict.fromkeys(code for code, _ in here) if (rule := _rule(code))]
    if rules:
        return _hover(rules, here[0][1], client)
    return _in_comment(part, offset, client)


def _in_comment(part: Part, offset: int, client: types.ClientCapabilities) -> types.Hover | None:
    line = part.text.position(offset).line
    start, end = part.text.starts[line], part.text.line_end(line)
    comment = _SILENCE.search(part.text.content, start, end)
    if comment is None:
        return None
    for word in _WORD.finditer(part.text.content, comment.start(), comment.end()):
        if word.start() <= offset <= word.end() and (rule := _rule(word[0])) is not None:
            return _hover([rule], part.text.range(*word.span()), client)
    return None


def _rule(named: str) -> Rule | None:
    """A rule by its code or its name."""
    rules = (rule for rule in all_rules() if named.upper() == rule.code or named == rule.name)
    return next(rules, None)


def _hover(rules: list[Rule], where: types.Range, client: types.ClientCapabilities) -> types.Hover:
    formats = get_capability(client, "text_document.hover.content_format", None) or ()
    kind = types.MarkupKind.Markdown
    if formats and kind not in formats:
        kind = types.MarkupKind.PlainText
    pages = [_page(rule, kind is types.MarkupKind.Markdown) for rule in rules]
    return types.Hover(types.MarkupContent(kind, "\n\n---\n\n".join(pages)), where)


def _page(rule: Rule, markdown: bool) -> str:
    fix = f"{rule.fix.label} fix" if rule.fix is not None else "no fix"
    facts = f"Severity: {rule.severity.label}; {fix}."
    page = f"# {rule.code} {rule.name}\n\n{facts}\n\n{rule.docs}"
    if rule.published is None:
        return page
    link = f"[{rule.name}]({rule.published})" if markdown else rule.published
    return f"{page}\n\n{link}"


def _within(position: types.Position, where: types.Range) -> bool:
    at = (position.line, position.character)
    start, end = where.start, where.end
    return (start.line, start.character) <= at <= (end.line, end.character)
