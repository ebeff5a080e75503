"""From a source file to findings: screen, parse, run the rules, drop what is suppressed.

Pure functions of source text and settings: nothing here reads files or runs the code it sees.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from mpslint.findings.suppress import Suppressions, may_be_unused, may_silence
from mpslint.model import Confidence, Severity
from mpslint.porting.bringing import hangs_on_others
from mpslint.porting.foreseen import cast_doubt
from mpslint.porting.in_the_way import is_for_a_port, weighing, weighs
from mpslint.records import NamedTuple
from mpslint.rules.registry import UNUSED, Rule, all_rules, by_code
from mpslint.sources.screening import Demand, names_in, names_torch, speaks_of_torch
from mpslint.sources.source import SourceFile

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Sequence

    from mpslint.model import Finding
    from mpslint.semantics.context import Context
    from mpslint.semantics.elsewhere.elsewhere import Elsewhere
    from mpslint.semantics.syntax.index import Index
    from mpslint.settings.settings import Settings

_LEFT_OUT = "the settings leave out the fixes of this rule"
_CAUSE = "MPS213"
"""The code that tells of imports of packages for CUDA alone."""


class Screen:
    """Says from the bytes of a file which rules can have a finding in it, and is never wrong
    when it says none: a rule whose trigger words are absent has nothing to look at."""

    __slots__ = ("_sure", "demands", "rules", "words")

    def __init__(self, codes: frozenset[str], sure: frozenset[str] = frozenset()) -> None:
        """`sure`: the codes of which only certain findings are told."""
        self.rules = [rule for rule in all_rules() if rule.code in codes]
        self._sure = {
            rule.code: Demand((), rule.certain)
            for rule in self.rules
            if rule.certain and rule.code in sure
        }
        self.demands = [
            Demand(rule.names, (*rule.also, rule.triggers), called=rule.called)
            for rule in self.rules
        ]
        demands = (*self.demands, *self._sure.values())
        self.words = sorted({word for demand in demands for word in demand.words()})

    def about(self, data: bytes) -> list[Rule]:
        """The rules that are about such a file at all, whatever words stand in it."""
        named = names_torch(data)
        return [rule for rule in self.rules if named or rule.unnamed]

    def select(self, data: bytes) -> list[Rule]:
        """The rules to run on a file of these bytes; what neither names torch nor a device for it
        is not our business."""
        if not speaks_of_torch(data):
            return []
        unnamed = not names_torch(data)
        names = names_in(data)
        # Each name once: a fifth of the text, in which all words that are (part of) names stand.
        text = b" ".join(names)
        present = {word for word in self.words if word in text}
        rules = [
            rule
            for rule, demand in zip(self.rules, self.demands, strict=True)
            if (rule.unnamed or not unnamed) and demand.met(data, names, present)
        ]
        idle = {code for code, demand in self._sure.items() if not demand.met(data, names, present)}
        if idle and not may_be_unused(data):  # Else what does not count may be silenced.
            return [rule for rule in rules if rule.code not in idle]
        return rules


_screens: dict[tuple[frozenset[str], frozenset[str]], Screen] = {}


def screen_for(settings: Settings, path: str) -> Screen:
    """The screen of the rules that are on for a file; one for each set of rules."""
    codes = settings.enabled(path)
    key = codes, _sure(settings)
    screen = _screens.get(key)
    if screen is None:
        screen = _screens[key] = Screen(*key)
    return screen


def _screen_for_others(settings: Settings, path: str) -> Screen | None:
    """That of the rules which are off for a file, and decide on the fixes of those that are on;
    None where there are none."""
    codes = settings.enabled(path)
    others = weighing() - codes
    if not others or not is_for_a_port(codes):
        return None
    key = others, frozenset[str]()
    screen = _screens.get(key)
    if screen is None:
        screen = _screens[key] = Screen(*key)
    return screen


@lru_cache(16)
def _sure(settings: Settings) -> frozenset[str]:
    """The codes of the rules of which only certain findings are told, and whose text shows where
    there is none."""
    return frozenset(
        rule.code
        for rule in all_rules()
        if rule.certain and settings.least_confidence(rule) is Confidence.CERTAIN
    )


Found = tuple[list["Finding"], list["Finding"]]


class Sharing(Protocol):
    """Who shares the run of a file with its rules."""

    def begins(self, context: Context) -> None:
        """Before the rules ask."""

    def ends(self, context: Context) -> None:
        """Once they have asked, while there is what they asked."""


class Linted(NamedTuple):
    """What is found in a file."""

    told: list[Finding]
    """The findings of the selected rules that count, in order of position."""
    untold: list[Finding]
    """Those that are told to nobody, and decide on fixes all the same."""
    is_whole: bool = True
    """Nobody need look for more of these."""
    alike: Sequence[Finding] = ()
    """What rules that are on say of code that runs for nobody, or are not sure of: where
    a fix changes what reads the same, it goes along."""
    mended: frozenset[int] = frozenset()
    """As in `FileResult.mended`."""

    @property
    def both(self) -> Found:
        return self.told, self.untold


def lint(
    source: SourceFile,
    settings: Settings,
    tree: ast.Module | Callable[[SourceFile], Index] | None = None,
    *,
    noqa: bool = True,
    elsewhere: Elsewhere | None = None,
    screened: bool = True,
    levels: bool = True,
    pause: Callable[[], None] | None = None,
) -> list[Finding]:
    """The findings of the selected rules in `source`, in order of position.

    `tree` is the file's stdlib tree where somebody has it already (flake8), or what makes it with
    its index where somebody can do so in less time (an editor's server); without `noqa` comments of
    that kind silence nothing (flake8's `--disable-noqa`).
    `elsewhere` tells of names that the file imports from its project. Not `screened`, all
    selected rules are run whatever words stand in the file; that must change no finding. Without
    `levels` nobody will ask how safe a fix is, and it is not found out.
    `pause` is called before each rule: what it raises ends a check that nobody waits for any more.
    Raises `BadSource` when the file does not parse.
    """
    return _linted(
        source,
        settings,
        tree,
        noqa=noqa,
        elsewhere=elsewhere,
        screened=screened,
        levels=levels,
        pause=pause,
    ).told


def linted(
    source: SourceFile,
    settings: Settings,
    tree: ast.Module | None = None,
    *,
    elsewhere: Elsewhere | None = None,
    pause: Callable[[], None] | None = None,
    whole: bool = True,
    sharing: Sharing | None = None,
) -> Linted:
    """What `lint` finds, and what else decides on fixes: unless the `whole` is wanted, only where
    there is a fix in the file for which that counts. `sharing`: somebody else who asks what the
    file does. Raises `BadSource`."""
    return _linted(
        source,
        settings,
        tree,
        elsewhere=elsewhere,
        untold=True,
        whole=whole,
        sharing=sharing,
        pause=pause,
    )


def _linted(
    source: SourceFile,
    settings: Settings,
    tree: ast.Module | Callable[[SourceFile], Index] | None,
    *,
    noqa: bool = True,
    elsewhere: Elsewhere | None,
    screened: bool = True,
    levels: bool = True,
    untold: bool = False,
    whole: bool = False,
    sharing: Sharing | None = None,
    pause: Callable[[], None] | None,
) -> Linted:
    screen = screen_for(settings, source.path)
    others = _screen_for_others(settings, source.path) if untold else None
    rules = screen.select(source.data) if screened else screen.about(source.data)
    judge = rules[-1] if rules and rules[-1].code == UNUSED and may_be_unused(source.data) else None
    rules = [rule for rule in rules if rule.code != UNUSED]
    if not rules and judge is None and not whole:
        return Linted([], [], others is None)
    unasked = others.select(source.data) if others is not None else []
    if not rules and not unasked and judge is None:
        return Linted([], [])
    from mpslint.checking.moot import is_about_the_cpu, is_moot
    from mpslint.porting.mended import mended_rows
    from mpslint.semantics.context import Context
    from mpslint.semantics.purpose.smoke_tests import is_smoke_test
    from mpslint.semantics.purpose.unrun_tests import is_unrun_test
    from mpslint.semantics.purpose.waits_of_tests import is_wait_of_a_test
    from mpslint.semantics.uses.config_keys import is_unread_key
    from mpslint.semantics.uses.idle_devices import is_idle_device
    from mpslint.semantics.uses.leftovers import is_leftover
    from mpslint.semantics.uses.never_chosen import is_never_chosen
    from mpslint.semantics.uses.overridden import is_overridden

    index = None
    if tree is None:
        tree = source.parse() if elsewhere is None else elsewhere.tree(source)
    elif callable(tree):
        index = tree(source)
        tree = index.tree
    context = Context(source, tree, settings, elsewhere, index)
    if sharing is not None:
        sharing.begins(context)
    context.all_count = judge is not None
    findings = _found(context, rules, pause)
    told_of = {id(finding) for finding in findings}
    is_whole = not unasked or whole or any(map(hangs_on_others, findings))
    if unasked and is_whole:
        context.all_told = True
        findings += _found(context, unasked, pause, chosen=False)
        context.all_told = False
    if levels:
        cast_doubt(context, findings)
    mended = mended_rows(context, findings) if levels and untold else frozenset[int]()
    findings = [one for one in findings if not is_about_the_cpu(context, one)]
    if sharing is not None:
        sharing.ends(context)
    context.worlds.release()
    if findings and elsewhere is not None:
        for_cuda = elsewhere.for_cuda_alone(source.path)
        if for_cuda is not None:
            # What the project lacks is told once, where it imports that.
            findings = [one for one in findings if one.code == _CAUSE and not for_cuda.is_built]
    findings = [
        one
        for one in findings
        if not is_moot(context, one)
        and not is_never_chosen(context, one.row)
        and not is_overridden(context, one.row)
        and not is_unread_key(context, one)
    ]
    idle = {
        id(one)
        for one in findings
        if is_leftover(context, one.row)
        or is_idle_device(context, one.row)
        or is_smoke_test(context, one.row)
        or is_unrun_test(context, one.row)
        or is_wait_of_a_test(context, one)
    }
    if len(findings) == (0 if untold else len(idle)) and judge is None:
        return Linted([], [], is_whole, mended=mended)
    # Reading comments needs the tokenizer, which costs more than all rules together.
    # Rows of a notebook's tree are not those of its text.
    plain = tree if type(source) is SourceFile else None
    suppressions = Suppressions(source, noqa=noqa, tree=plain)
    if suppressions.whole_file:
        return Linted([], [])
    kept = [finding for finding in findings if not suppressions.covers(finding)]
    alike = [one for one in kept if id(one) in idle and id(one) in told_of]
    kept = [one for one in kept if id(one) not in idle]
    if judge is not None:
        from mpslint.checking.unused import unused

        context.unused = unused(source, suppressions, settings)
        kept += [
            finding
            for finding, one in zip(_found(context, [judge]), context.unused, strict=True)
            if not suppressions.covers_judgement(finding, one.start)
        ]
        told_of |= {id(finding) for finding in kept if finding.code == UNUSED}
    kept.sort(key=lambda finding: finding.sort_key)
    counting = [one for one in kept if id(one) in told_of and counts(one, settings)]
    if not untold:
        return Linted(counting, [], is_whole)
    alike += [one for one in kept if id(one) in told_of and not counts(one, settings)]
    told_of = {id(finding) for finding in counting}
    beside = [one for one in kept if id(one) not in told_of and one.severity > Severity.SLOW]
    return Linted(counting, [one for one in beside if weighs(one)], is_whole, alike, mended)


def suppressed(source: SourceFile, settings: Settings) -> list[Finding]:
    """The findings that comments silence, in order of position. Raises `BadSource`."""
    if not may_silence(source.data):
        return []
    from mpslint.semantics.context import Context

    rules = [r for r in screen_for(settings, source.path).select(source.data) if r.code != UNUSED]
    if not rules:
        return []
    context = Context(source, source.parse(), settings)
    findings = _found(context, rules)
    context.worlds.release()
    suppressions = Suppressions(source)
    silent = [
        finding
        for finding in findings
        if counts(finding, settings) and (suppressions.whole_file or suppressions.covers(finding))
    ]
    return sorted(silent, key=lambda finding: finding.sort_key)


def _found(
    context: Context,
    rules: list[Rule],
    pause: Callable[[], None] | None = None,
    *,
    chosen: bool = True,
) -> list[Finding]:
    """What the rules say, whatever comments and levels say of it; with all fixes of rules that
    nobody has `chosen`."""
    found = []
    for rule in rules:
        if pause is not None:
            pause()
        may_fix = not chosen or context.settings.may_fix(rule.code)
        for finding in rule.check(context, rule):
            if not may_fix:
                finding.drop_fix(_LEFT_OUT if rule.fix is not None else "")
            found.append(finding)
    return found


def counts(finding: Finding, settings: Settings) -> bool:
    """Whether a finding is at least as bad and as sure as the settings ask for, and of a kind that
    is told."""
    rule = by_code(finding.code)
    if finding.quiet or (finding.by_request and not settings.asks_for(rule)):
        return False
    least = settings.least_confidence(rule)
    return finding.severity >= settings.severity and finding.confidence >= least
