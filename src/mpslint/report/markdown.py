"""The report as Markdown: for a terminal, a pull request or a wiki."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.basics.printable import printable
from mpslint.pages import count
from mpslint.report.areas import areas
from mpslint.report.model import REMEDIES, SEVERITIES
from mpslint.report.summary import SETTLES, answer, hazards, rule_rows

if TYPE_CHECKING:
    from mpslint.report.areas import Area
    from mpslint.report.model import Cause, Place, Survey

_MOST_CAUSES, _MOST_PLACES, _DEPTH = 12, 10, 3
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#])")


def render(survey: Survey) -> str:
    return "\n".join(_lines(survey)) + "\n"


def _lines(survey: Survey) -> Iterator[str]:
    yield f"# Can {_plain(survey.title)} run on a Mac?"
    yield f"\n{answer(survey)}\n"
    yield (
        f"{count(len(survey.files), 'file')} read, {survey.torch_files} with PyTorch; "
        f"{survey.made}, mpslint {survey.version}."
    )
    yield from _remedies(survey)
    yield from _areas(survey)
    yield from _causes(survey)
    yield from _rules(survey)
    yield from _operators(survey)
    yield from _hazards(survey)
    yield from _runs(survey)
    if survey.unread:
        yield "\n## Not checked\n"
        yield from (f"- {_plain(line)}" for line in survey.unread)


def _plain(text: str) -> str:
    """Text that is none of ours, so that nothing in it is taken for Markdown or HTML."""
    return _SPECIAL.sub(r"\\\1", printable(re.sub(r"\s+", " ", text)))


def _code(text: str) -> str:
    """A code span of any text: fenced by more backticks than it holds, a pipe kept in a table."""
    text = printable(" ".join(text.split())).replace("|", "\\|")
    fence = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    pad = " " if "`" in text or not text else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _remedies(survey: Survey) -> Iterator[str]:
    yield "\n## What fixes alone would settle\n"
    yield f"| who | findings | {' | '.join(SEVERITIES)} | |"
    yield f"| --- | ---: |{' ---: |' * len(SEVERITIES)} --- |"
    for remedy in REMEDIES:
        cells = [str(survey.number(severity=name, remedy=remedy)) for name in SEVERITIES]
        total = survey.number(remedy=remedy)
        yield f"| {remedy} | {total} | {' | '.join(cells)} | {SETTLES[remedy]} |"
    if survey.emerging:
        yield f"\nAfter the fixes {survey.emerging} more would come to light."


def _areas(survey: Survey) -> Iterator[str]:
    tree = areas(survey)
    if not tree.children:
        return
    yield "\n## Where\n"
    yield f"| area | findings | {' | '.join(SEVERITIES)} |"
    yield f"| --- | ---: |{' ---: |' * len(SEVERITIES)}"
    for area in _down_to(tree, _DEPTH):
        cells = " | ".join(str(area.counts[name]) for name in SEVERITIES)
        yield f"| {_code(area.path)} | {area.total} | {cells} |"


def _down_to(area: Area, depth: int) -> Iterator[Area]:
    for child in area.children:
        yield child
        if depth > 1:
            yield from _down_to(child, depth - 1)


def _causes(survey: Survey) -> Iterator[str]:
    if not survey.causes:
        return
    yield "\n## Few places behind many findings\n"
    said = count(len(survey.causes), "place accounts", "places account")
    yield f"{said} for {survey.explained} of {count(len(survey.issues), 'finding')}.\n"
    yield from map(_cause, survey.causes[:_MOST_CAUSES])
    if len(survey.causes) > _MOST_CAUSES:
        yield f"- and {len(survey.causes) - _MOST_CAUSES} more"


def _cause(cause: Cause) -> str:
    said = count(len(cause.issues), "finding")
    if cause.uses:
        said += f", {count(len(cause.uses), 'use depends', 'uses depend')} on it"
    if cause.shared:
        said += f" ({cause.shared} of them on another selection as well)"
    bits = enumerate(cause.title.split("`"))
    title = "".join(_code(bit) if index % 2 else _plain(bit) for index, bit in bits)
    return f"- **{said}**: {title}, {_code(cause.place.shown)}"


def _rules(survey: Survey) -> Iterator[str]:
    rows = rule_rows(survey)
    if not rows:
        return
    yield "\n## By rule\n"
    yield f"| rule | findings | files | {' | '.join(REMEDIES)} | what it finds |"
    yield f"| --- | ---: | ---: |{' ---: |' * len(REMEDIES)} --- |"
    for row in rows:
        cells = " | ".join(str(row.remedies[remedy]) for remedy in REMEDIES)
        yield (
            f"| {row.rule.code} {row.rule.name} | {row.total} | {row.files} | {cells} "
            f"| {row.rule.summary.replace('|', chr(92) + '|')} |"
        )


def _operators(survey: Survey) -> Iterator[str]:
    if not survey.ops:
        return
    yield "\n## Operators without an MPS kernel\n"
    yield "| operator | calls | runs on MPS since torch | where |"
    yield "| --- | ---: | --- | --- |"
    for op in survey.ops:
        name = f"{_code(op.name)}{' (backward)' if op.backward else ''}"
        since = op.since or "none that is known"
        yield f"| {name} | {len(op.places)} | {since} | {_where(op.places)} |"


def _where(places: tuple[Place, ...]) -> str:
    more = f" and {len(places) - _MOST_PLACES} more" if len(places) > _MOST_PLACES else ""
    return ", ".join(_code(place.shown) for place in places[:_MOST_PLACES]) + more


def _hazards(survey: Survey) -> Iterator[str]:
    yield "\n## Memory and dtypes\n"
    for hazard in hazards(survey):
        if not hazard.rows:
            yield f"- {hazard.name}: nothing was found"
        for rule, places in hazard.rows:
            yield f"- {hazard.name}: {rule.code} {rule.summary} {_where(places)}"


def _runs(survey: Survey) -> Iterator[str]:
    yield "\n## What runs have shown\n"
    if not survey.verdicts and not survey.traces:
        yield "Nothing was run: what is said here was read."
    for report in survey.verdicts:
        said = f" ({_plain(report.reason)})" if report.reason else ""
        yield f"- {_code(report.script)}: **{report.verdict}**{said}"
        for run in report.runs:
            yield f"  - {run.name}: {run.verdict}, {_plain(run.reason)}"
    for trace in survey.traces:
        costly = [line for line in trace.lines if line.costs][:_MOST_PLACES]
        ended = "" if trace.ok else f", did not run to its end: {_plain(trace.reason)}"
        yield f"- {_code(trace.script)} on {trace.name}, {trace.step.title}{ended}"
        for line in costly:
            yield f"  - line {line.line}: {line.in_words()}, {_code(line.source)}"
