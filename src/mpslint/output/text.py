"""What the text formats share: colours, fix marks, the summary."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from mpslint.basics.printable import printable
from mpslint.findings.tally import Tally
from mpslint.model import Applicability
from mpslint.output.cells import cells, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mpslint.findings.results import FileResult
    from mpslint.model import Finding
    from mpslint.output import Style

_CODES = {
    "bold": "1",
    "red": "1;31",
    "yellow": "1;33",
    "blue": "1;34",
    "cyan": "36",
    "removed": "31",
    "added": "32",
}
_MARK = "[*]"
_SCANT = 16
"""Behind a path a message begins with at least so many columns, or on the next line."""
_NARROW = 40
"""A terminal of fewer columns is written to as if it had so many."""
_NOTHING = Tally()


def paint(text: str, color: str, style: Style) -> str:
    return f"\033[{_CODES[color]}m{text}\033[0m" if style.color else text


def columns_left(style: Style, taken: int) -> int | None:
    """Columns that are left of the terminal's; None where there is none."""
    return None if style.width is None else max(style.width, _NARROW) - taken


def fixable(finding: Finding, style: Style) -> bool:
    """Whether `mpslint fix`, as it would be called, changes this."""
    least = Applicability.UNSAFE if style.unsafe else Applicability.SAFE
    return finding.applicability is not None and finding.applicability >= least


def head(finding: Finding, style: Style) -> str:
    """`MPS101 [*] message`."""
    mark = f" [{paint('*', 'cyan', style)}]" if fixable(finding, style) else ""
    return f"{paint(finding.code, 'red', style)}{mark} {printable(finding.message)}"


def entry(lead: str, painted: str, finding: Finding, style: Style, indent: int) -> Iterator[str]:
    """A finding behind `lead` (`painted`, as it is shown): one line; on a terminal no wider ones
    than it, those behind the first indented."""
    room = columns_left(style, 0)
    if room is None:
        yield f"{painted} {head(finding, style)}"
        return
    # Where the terminal is too narrow for where and what, these stand on lines of their own.
    *above, last = wrapped(lead, room) if cells(lead) > room else [lead]
    shown = last if above else painted
    yield from above
    message = printable(finding.message)
    mark = head(finding, style).removesuffix(message).rstrip()
    taken = len(finding.code) + (4 if fixable(finding, style) else 0) + 1
    left = room - cells(last) - 1 - taken
    if left < _SCANT:
        yield shown.rstrip()
        shown, left = " " * (indent - 1), room - indent - taken
    first, *rest = wrapped(message, room - indent, left)
    yield f"{shown} {mark} {first}"
    yield from (" " * indent + part for part in rest)


def summary(results: Sequence[FileResult], style: Style, fixed: Tally = _NOTHING) -> str:
    """The closing lines: how many findings, and how many of them a fix would take away."""
    findings = [finding for result in results for finding in result.findings]
    first = _found(len(findings), fixed)
    if not findings:
        if fixed != _NOTHING:
            return first
        if any(result.error for result in results):
            return ""
        return "All checks passed!\n"
    safe = sum(fixable(finding, style) for finding in findings)
    unsafe = sum(finding.applicability is Applicability.UNSAFE for finding in findings)
    hidden = 0 if style.unsafe else unsafe
    return f"{first}{_offer(safe, hidden, style, has_fixed=bool(fixed.fixed))}"


def _found(left: int, fixed: Tally) -> str:
    """How much was found in the texts as they were, and what became of it."""
    if fixed == _NOTHING:
        return f"Found {count(left, 'error')}.\n"
    remaining = left - fixed.raised_left
    total = count(fixed.fixed + fixed.gone + remaining, "error")
    along = f"{fixed.gone} gone along, " if fixed.gone else ""
    first = f"Found {total} ({fixed.fixed} fixed, {along}{remaining} remaining).\n"
    return first + raised(fixed)


def raised(fixed: Tally) -> str:
    """What could not be seen before something was fixed: a line of its own, where there is some."""
    total = fixed.raised_fixed + fixed.raised_left
    if not total:
        return ""
    rest = f"{fixed.raised_fixed} fixed, {fixed.raised_left} remaining"
    return f"Fixes brought up {total} more ({rest}).\n"


def _offer(fixes: int, hidden: int, style: Style, *, has_fixed: bool) -> str:
    more = f"{hidden} more with `--unsafe-fixes`"
    if fixes:
        option = " --unsafe-fixes" if style.unsafe else ""
        tail = f" ({more})" if hidden else ""
        said = f"{_MARK} {fixes} fixable with `mpslint fix{option}`{tail}."
    elif hidden:
        said = f"No {'other ' if has_fixed else ''}safe fixes; {more}."
    else:
        return ""
    lines = "".join(f"{line}\n" for line in wrapped(said, columns_left(style, 0)))
    return lines.replace(_MARK, f"[{paint('*', 'cyan', style)}]", 1)


def count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def statistics(results: Sequence[FileResult], style: Style) -> str:
    """One line per rule, the most frequent first."""
    findings = [finding for result in results for finding in result.findings]
    numbers = Counter((finding.code, finding.name) for finding in findings)
    offered = {finding.code for finding in findings if fixable(finding, style)}
    width = len(str(max(numbers.values(), default=0)))
    lines = []
    for (code, name), number in sorted(numbers.items(), key=lambda item: (-item[1], item[0])):
        mark = "[*]" if code in offered else "[ ]"
        lines.append(f"{number:>{width}}\t{paint(code, 'red', style)}\t{mark} {name}\n")
    return "".join(lines)
