"""Which of the comments that silence findings silence none, and what takes them away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.model import Edit, Unused
from mpslint.rules.registry import UNUSED, all_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.findings.suppress import Code, Silence, Suppressions
    from mpslint.settings.settings import Settings
    from mpslint.sources.source import SourceFile

_INTERNAL = "MPS999"
"""What the flake8 plugin reports a fault of its own as; nobody can say when it is of use."""


def unused(source: SourceFile, suppressions: Suppressions, settings: Settings) -> list[Unused]:
    """The comments, and codes in them, that have silenced nothing, as far as that can be judged:
    the rules that they name must be on for the file."""
    enabled = settings.enabled(source.path)
    found = [_judged(source, silence, enabled) for silence in suppressions.silences]
    return [one for one in found if one is not None]


def _judged(source: SourceFile, silence: Silence, enabled: frozenset[str]) -> Unused | None:
    if silence.codes is None:
        return _blanket(source, silence, enabled)
    idle, strange = [], []
    for code in silence.codes:
        if code in silence.used or not _is_ours(code, silence):
            continue
        named = {rule.code for rule in all_rules() if code.names(rule.code, rule.name)}
        if not named:
            strange.append(code)
        elif named != {UNUSED} and named - {UNUSED} <= enabled:
            idle.append(code)
    kept = [code for code in silence.codes if code not in (*idle, *strange)]
    if not silence.codes and silence.ours:
        return _whole(source, silence, "this comment names no rule, so it silences nothing")
    if not idle and not strange:
        return None
    message = "; ".join(_sentences(idle, strange))
    if not kept:
        return _whole(source, silence, message)
    first, last = silence.codes[0], silence.codes[-1]
    text = source.text[first.start : last.end]
    parting = "," if "," in text and ", " not in text else ", " if "," in text else " "
    edit = Edit(first.start, last.end, parting.join(code.text for code in kept), text)
    return Unused(silence.start, silence.end, message, (edit,))


def _blanket(source: SourceFile, silence: Silence, enabled: frozenset[str]) -> Unused | None:
    """A bare `# mpslint: ignore`; a bare `# noqa` may be another tool's."""
    default = {rule.code for rule in all_rules() if rule.default}
    if silence.used or not silence.ours or not default <= enabled:
        return None
    return _whole(source, silence, "this comment silences nothing")


def _is_ours(code: Code, silence: Silence) -> bool:
    upper = code.text.upper()
    if upper == _INTERNAL:
        return False
    return silence.ours or (upper.startswith("MPS") and upper[3:].isdigit())


def _sentences(idle: list[Code], strange: list[Code]) -> Iterator[str]:
    if idle:
        yield f"{', '.join(code.text for code in idle)}: there is nothing to silence here"
    if strange:
        no_rule = "is no rule" if len(strange) == 1 else "are no rules"
        yield f"{', '.join(code.text for code in strange)} {no_rule}"


def _whole(source: SourceFile, silence: Silence, message: str) -> Unused:
    """The directive goes, with the reason behind it; what else the comment says stays."""
    comment, text = silence.comment, source.text
    end = comment.offset + len(comment.text)
    following = text.find("#", silence.end, end)
    start, stop = silence.start, end if following < 0 else following
    if comment.alone and (start, stop) == (comment.offset, end):
        # Nothing else stands on the line.
        row = comment.row
        start = source.starts[row - 1]
        stop = source.starts[row] if row < len(source.starts) else end
    elif stop == end:
        while start and text[start - 1] in " \t":
            start -= 1
    edit = Edit(start, stop, "", text[start:stop])
    return Unused(silence.start, silence.end, message, (edit,))
