"""The choices between CUDA and the CPU that a file is told of: selections, and tests that decide.

What an `if` moves to CUDA is told with its test where that is told: it is one cause, and one edit.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

from mpslint.facts.priors import matches
from mpslint.patterns.gates import opens_all
from mpslint.patterns.only_copied import goes_to_state_dict
from mpslint.patterns.only_edited import is_only_edited
from mpslint.patterns.read_to import is_read_to
from mpslint.records import NamedTuple
from mpslint.semantics.devices.chains import Chain
from mpslint.semantics.packages.cuda_packages import computes_without_mps
from mpslint.semantics.purpose.test_code import is_all_of_a_test
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.uses.leftovers import is_never_default
from mpslint.semantics.wide.wide_default import computes_in_float64, goes_beside_float64
from mpslint.semantics.worlds.choices import Choice, Written, choices, written
from mpslint.semantics.worlds.events import Event, Kind
from mpslint.semantics.worlds.refused import refusal_before

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_TOLD = "choices that are told"
_RULE = "MPS103"


class ToldSelection(NamedTuple):
    """A conditional that chooses a device."""

    chain: Chain
    given: Written | None = None
    """The CUDA device of it that a Mac gets."""
    tests: tuple[ast.expr, ...] = ()
    """What decides it, which may stand on another line: a flag."""
    casts: bool = False
    """It is for autocast alone."""


class ToldTest(NamedTuple):
    """A test that decides between CUDA and something else."""

    test: ast.expr
    choice: Choice
    moves: tuple[ast.Call, ...]
    """The `.cuda()` that only its arm makes, and that are told with it."""


def told_choices(context: Context) -> list[ToldSelection | ToldTest]:
    """Each choice that leaves a Mac's GPU out, once."""
    if _TOLD not in context.memo:
        context.memo[_TOLD] = list(_told(context))
    return cast("list[ToldSelection | ToldTest]", context.memo[_TOLD])


def told_with_tests(context: Context) -> set[ast.Call]:
    """The moves that need no finding of their own, since that of a test has them."""
    if not context.tells(_RULE):
        return set()
    return {
        move for told in told_choices(context) if isinstance(told, ToldTest) for move in told.moves
    }


def _told(context: Context) -> Iterator[ToldSelection | ToldTest]:
    if computes_without_mps(context):
        return  # The CPU is right: MPS would raise where these data are met.
    seen: set[ast.AST] = set()
    for found in written(context.worlds):
        for chain in context.chains.without_mps:
            if context.index.within(found.node, chain.cuda_arm) and chain.node not in seen:
                seen.add(chain.node)
                if not _left_out(context, chain.node):
                    yield ToldSelection(chain, given=found)
    for choice in choices(context.worlds, partial(_decides_nothing, context)):
        around = _written_as(context, choice)
        if choice.casts and not (around and context.placement.program_uses_devices):
            continue  # Whether anything is on a device that it could be for is not known.
        for chain in around:
            if chain.node not in seen:
                seen.add(chain.node)
                if not _left_out(context, chain.node):
                    yield ToldSelection(chain, tests=choice.tests, casts=choice.casts)
        for test in choice.tests if not around else ():
            if not _left_out(context, test):
                yield ToldTest(test, choice, _moves_behind(context, test, choice))


def _moves_behind(context: Context, test: ast.expr, choice: Choice) -> tuple[ast.Call, ...]:
    """The moves that a Mac does not come to since the `if` of `test` alone says so, where one fix
    opens all of them."""
    gate = _decided_by(context, test)
    if gate is None:
        return ()
    found = [
        event.call
        for event in context.worlds.without_twin
        if event.kind is Kind.MOVED
        and event.tests == {test}
        and not event.on_mac
        and event.once_ported
        and event.arm
        and context.index.within(event.call, gate)
        and not is_read_to(context, event.call)
        and refusal_before(context.worlds, event) is None
    ]
    if not found or not opens_all(context, choice.tests):
        return ()
    return tuple(sorted(found, key=lambda call: (call.lineno, call.col_offset)))


def _decided_by(context: Context, test: ast.expr) -> ast.If | ast.IfExp | None:
    """The one conditional that a test decides, where it stands there or under a name of its own."""
    asked: ast.AST = test
    kept = context.index.parents.get(test)
    if isinstance(kept, ast.Assign) and kept.value is test:
        if len(kept.targets) != 1 or not isinstance(kept.targets[0], ast.Name):
            return None
        name = kept.targets[0].id
        uses = [u for u in context.index.names.get(name, ()) if u is not kept.targets[0]]
        if len(uses) != 1 or context.index.function(uses[0]) is not context.index.function(test):
            return None
        asked = uses[0]
    child = asked
    for parent in context.index.ancestors(asked):
        if isinstance(parent, ast.If | ast.IfExp):
            return parent if parent.test is child else None
        if isinstance(parent, ast.stmt):
            return None
        child = parent
    return None


def _decides_nothing(context: Context, event: Event) -> bool:
    """Whether a device is one of a checkpoint alone, from which modules copy to where they are, or
    which is edited and saved again; or one of a test that does nothing at all without CUDA."""
    if event.cuda_alone and is_all_of_a_test(context, event.node):
        return True
    if is_read_to(context, event.node):
        return True
    return (
        event.kind is Kind.LOADED
        and isinstance(event.node, ast.Call)
        and (goes_to_state_dict(context, event.node) or is_only_edited(context, event.node))
    )


def _written_as(context: Context, choice: Choice) -> list[Chain]:
    """The conditional expressions or statements that are the choice, where they are of a kind that
    the fix knows how to extend: several, where each way comes to one of its own."""
    decisive = (*choice.tests, *choice.devices)
    found = [
        chain
        for chain in context.chains.without_mps
        if any(context.index.within(node, chain.node) for node in decisive)
    ]
    # One that stands in another is told with it.
    return [
        chain
        for chain in found
        if not any(
            other is not chain and context.index.within(chain.node, other.node) for other in found
        )
    ]


def _left_out(context: Context, node: ast.AST) -> bool:
    """Whether the choice is right without MPS: what is made there would be float64, or a comment in
    it, or right above it, speaks of MPS, or the text of its function says no to it: that was
    decided. Or it is made for nobody: the default of a parameter that all calls give."""
    if isinstance(node, ast.expr) and is_never_default(context, node):
        return True
    if computes_in_float64(context, node) or goes_beside_float64(context, node):
        return True
    source = context.source
    first = max(context.index.statement(node).lineno - 1, 1)
    rows = range(first, source.position(source.span(node)[1])[0] + 1)
    if any(matches("mps-words", source.line(row).partition("#")[2]) for row in rows):
        return True
    function = context.index.function(node)
    return isinstance(function, FUNCTIONS) and _says_no_to_mps(ast.get_docstring(function) or "")


def _says_no_to_mps(text: str) -> bool:
    """Whether a part of a sentence that speaks of MPS, and not of CUDA, denies something: `MPS is
    not supported`. What only lists it (`CUDA, MPS or the CPU`) promises it, and so does what takes
    it where CUDA is not there."""
    return any(
        matches("mps-words", part) and matches("denials", part) and "cuda" not in part.lower()
        for paragraph in text.split("\n\n")
        for sentence in " ".join(paragraph.split()).split(". ")
        for part in sentence.split(",")
    )
