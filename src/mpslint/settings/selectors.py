"""What `select`, `ignore` and their kin mean: codes, prefixes, names, ALL and DEFAULT.

The more specific selector wins (a code over a longer prefix over a shorter one over ALL);
at the same length `ignore` wins. What `per-file-ignores` names is off whatever else says.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from mpslint.errors import BadSettings

if TYPE_CHECKING:
    import re

    from mpslint.settings.settings import Settings

Selectors = tuple[str, ...]


@functools.lru_cache(maxsize=256)
def enabled_codes(
    select: Selectors | None,
    extend_select: Selectors,
    ignore: Selectors,
    always_off: Selectors = (),
    origin: str = "",
) -> frozenset[str]:
    """Codes of the rules that are on. Raises `BadSettings` for a selector without a rule."""
    rank: dict[str, tuple[int, bool]] = {}
    chosen = ("DEFAULT",) if select is None else select
    for wanted, selectors in ((True, (*chosen, *extend_select)), (False, ignore)):
        for selector in selectors:
            weight, codes = resolve(selector, origin)
            for code in codes:
                now = rank.get(code)
                if now is None or weight >= now[0]:
                    rank[code] = (weight, wanted)
    off = {code for selector in always_off for code in resolve(selector, origin)[1]}
    return frozenset(code for code, (_, wanted) in rank.items() if wanted and code not in off)


@functools.lru_cache(maxsize=256)
def asked_for(select: Selectors | None, extend_select: Selectors) -> frozenset[str]:
    """Codes of the rules that somebody asked for, by whatever but `DEFAULT`: of these all findings
    are wanted, of the others those that are on by default."""
    chosen = (*(select or ()), *extend_select)
    wanted = (selector for selector in chosen if selector.strip().upper() != "DEFAULT")
    return frozenset(code for selector in wanted for code in resolve(selector)[1])


def require_known(settings: Settings) -> None:
    """Raise `BadSettings` when a selector of `settings`, used or not, names no rule."""
    globs = settings.per_file_ignores + settings.extend_per_file_ignores
    for selector in (
        *(settings.select or ()),
        *settings.extend_select,
        *settings.ignore,
        *settings.fixable,
        *settings.unfixable,
        *(selector for _, selectors in globs for selector in selectors),
    ):
        resolve(selector, settings.origin)


@functools.lru_cache(maxsize=256)
def resolve(selector: str, origin: str = "") -> tuple[int, tuple[str, ...]]:
    """(how specific, codes) of one selector; a code or a name is the most specific."""
    from mpslint.rules.registry import all_rules

    rules = all_rules()
    wanted = selector.strip()
    upper = wanted.upper()
    if upper == "ALL":
        return 0, tuple(rule.code for rule in rules)
    if upper == "DEFAULT":
        return 1, tuple(rule.code for rule in rules if rule.default)
    named = tuple(rule.code for rule in rules if rule.name == wanted.lower())
    if named:
        return 100, named
    # "M" alone would read as a slip: a prefix has to spell the family.
    prefixed = tuple(rule.code for rule in rules if rule.code.startswith(upper))
    if prefixed and upper.startswith("MPS"):
        return (100 if upper in prefixed else 1 + len(upper)), prefixed
    raise BadSettings(_unknown(wanted, origin))


def _unknown(selector: str, origin: str) -> str:
    from mpslint.basics.nearest import nearest
    from mpslint.rules.registry import all_rules

    known = [text for rule in all_rules() for text in (rule.code, rule.name)]
    near = nearest(selector, known)
    advice = f"did you mean {near}?" if near else "see `mpslint rule --all`"
    place = f"{origin}: " if origin else ""
    return f"{place}unknown rule {selector[:60]!r}; {advice}"


def ignored_in_file(path: str, per_file: tuple[tuple[str, Selectors], ...], root: str) -> Selectors:
    """The selectors of `per-file-ignores` whose glob matches the file at `path`."""
    return tuple(
        selector
        for glob, selectors in per_file
        if matches(path, glob, root)
        for selector in selectors
    )


def matches(path: str, glob: str, root: str) -> bool:
    """Whether `glob` names the file: its base name, or its path (`*` crosses folders).

    A leading `!` turns the answer round, as in ruff.
    """
    import os

    if glob.startswith("!"):
        return not matches(path, glob[1:], root)
    full = os.path.abspath(path).replace(os.sep, "/")
    base = full.rpartition("/")[2]
    anchored = os.path.join(os.path.abspath(root), glob) if root else os.path.abspath(glob)
    named = _pattern(glob).match(base) or _pattern(anchored.replace(os.sep, "/")).match(full)
    return named is not None


@functools.cache
def _pattern(glob: str) -> re.Pattern[str]:
    """`fnmatch` keeps some hundred patterns, and would compile more of them for each file."""
    import re
    from fnmatch import translate

    return re.compile(translate(glob))
