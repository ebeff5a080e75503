"""Switches of the user's that a program has checked against the machine.

`if args.cuda and not torch.cuda.is_available(): raise`, `if self.use_cuda: assert
torch.cuda.is_available()`: behind such a check, CUDA is there wherever the switch holds. The check
may stand before the place in its function, in the constructor of its object, or before the one way
to the function; on the way the switch may be an argument, a parameter and an attribute.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from mpslint.semantics.flow import leaves
from mpslint.semantics.gated_moves import asks_machine, with_flags
from mpslint.semantics.index import FUNCTIONS, FunctionNode

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

Switches = frozenset[tuple[str, bool]]
"""Names and attributes as they are spelled, each with whether it holds."""
_DEPTH = 6
_SITES = 6


class Check(NamedTuple):
    """A statement that ends the program where these switches are so, and there is no CUDA."""

    statement: ast.stmt
    test: ast.expr
    switches: Switches


def switch_check(context: Context, node: ast.AST) -> ast.expr | None:
    """The test of the check that `node` stands behind: without CUDA the program has ended where
    the switches are as they have to be for `node` to run."""
    checks = _checks(context)
    return _before(context, node, _around(context, node)[0], _DEPTH) if checks else None


# checks


def _checks(context: Context) -> list[Check]:
    known = context.memo.get("checked-switches")
    if known is None:
        known = context.memo["checked-switches"] = list(_find_checks(context))
    assert isinstance(known, list)
    return known


def _find_checks(context: Context) -> Iterator[Check]:
    statements: list[ast.Assert | ast.If] = [*context.index.of(ast.Assert)]
    statements += [item for item in context.index.of(ast.If) if _ends(item.body)]
    for statement in statements:
        inner = _unless_cuda(context, statement.test, isinstance(statement, ast.Assert))
        if inner is None:
            continue
        outer, known = _around(context, statement)
        if known and inner | outer:
            yield Check(statement, statement.test, inner | outer)


def _ends(block: list[ast.stmt]) -> bool:
    """Whether a block ends the program, and not just the function or a turn of a loop."""
    return leaves(block) and not isinstance(block[-1], ast.Return | ast.Continue | ast.Break)


def _unless_cuda(context: Context, test: ast.expr, outcome: bool) -> Switches | None:
    """What has to be so for CUDA to be there once `test` has come out so; None: it need not be."""
    parts = [test]
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or) == outcome:
        parts = test.values
    switches: Switches = frozenset()
    asked = False
    for part in parts:
        implied = context.guards.implied(part, outcome)
        if "cuda" in implied and "impossible" not in implied:
            asked = any(asks_machine(context, item) for item in with_flags(context, part))
            if not asked:
                return None  # It looks at a device.
            continue
        found = _switches(part, not outcome)
        if found is None:
            return None
        switches |= found
    return switches if asked else None


def _switches(test: ast.expr, outcome: bool) -> Switches | None:
    """The switches that decide `test`, all of them; None where something else has a say."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _switches(test.operand, not outcome)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == outcome:
        found: Switches = frozenset()
        for value in test.values:
            switches = _switches(value, outcome)
            if switches is None:
                return None
            found |= switches
        return found
    spelled = _spelled(test)
    return frozenset({(spelled, outcome)}) if spelled is not None else None


def _spelled(node: ast.expr) -> str | None:
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    return ast.unparse(node) if isinstance(root, ast.Name) else None


def _around(context: Context, node: ast.AST) -> tuple[Switches, bool]:
    """The switches that are known where `node` runs, in its function, and whether nothing else
    decides that it does."""
    found: Switches = frozenset()
    complete = True
    child = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
            break
        if isinstance(parent, ast.If | ast.IfExp) and child is not parent.test:
            body = parent.body if isinstance(parent.body, list) else [parent.body]
            holds = any(item is child for item in body)
            for part in _parts(parent.test, holds):
                switches = _switches(part, holds)
                found |= switches or frozenset()
                complete = complete and switches is not None
        elif isinstance(parent, ast.stmt) and not isinstance(parent, ast.With):
            complete = complete and parent is context.index.statement(node)
        child = parent
    return found, complete


def _parts(test: ast.expr, outcome: bool) -> list[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == outcome:
        return test.values
    return [test]


# the way to a place


def _before(context: Context, place: ast.AST, switches: Switches, depth: int) -> ast.expr | None:
    """The check that is passed before `place`, where `switches` are known."""
    function = context.index.function(place)
    aliases = _aliases(context, function)
    switches |= _renamed(switches, aliases)
    for check in _checks(context):
        if context.index.function(check.statement) is not function:
            continue
        if check.switches <= switches and _passed(context, check, place):
            return check.test
    if function is None or depth == 0:
        return None
    owner = context.index.parents[function]
    if isinstance(owner, ast.ClassDef) and not _constructs(function):
        found = _constructed(context, owner, switches, depth)
        if found is not None:
            return found
    return _called(context, function, switches, depth)


def _passed(context: Context, check: Check, place: ast.AST) -> bool:
    """Whether `check` comes before `place`, and nothing sets its switches in between."""
    child = context.index.statement(place)
    while True:
        for statement in context.index.block(child):
            if statement is child:
                break
            if context.index.within(check.statement, statement):
                return not _set_between(context, check, place)
        parent = context.index.parents[child]
        if not isinstance(parent, ast.stmt) or isinstance(parent, (*FUNCTIONS, ast.ClassDef)):
            return False
        child = parent


def _set_between(context: Context, check: Check, place: ast.AST) -> bool:
    first, last = check.statement.lineno, getattr(place, "lineno", 0)
    return any(
        first < target.lineno < last
        for spelled, _ in check.switches
        for target in _targets(context, spelled)
        if context.index.function(target) is context.index.function(place)
    )


def _targets(context: Context, spelled: str) -> Iterator[ast.Name | ast.Attribute]:
    """Where a file gives `a.b` or `a` a value."""
    root, *attributes = spelled.split(".")
    for name in context.index.names.get(root, ()):
        if isinstance(name.ctx, ast.Store):
            yield name
    for attribute in attributes:
        for target in context.index.attributes.get(attribute, ()):
            if isinstance(target.ctx, ast.Store):
                text = ast.unparse(target)
                if spelled == text or spelled.startswith(f"{text}."):
                    yield target


def _constructed(
    context: Context, owner: ast.ClassDef, switches: Switches, depth: int
) -> ast.expr | None:
    """The check in the constructor of an object, or before the file makes it."""
    constructor = next(
        (item for item in owner.body if isinstance(item, FUNCTIONS) and _constructs(item)), None
    )
    own = frozenset(item for item in switches if item[0].startswith("self."))
    if constructor is None or not own:
        return None
    for spelled, _ in own:
        for target in _targets(context, spelled):
            around = context.index.function(target)
            if around is not constructor and context.index.within(target, owner):
                return None
    own |= _renamed(own, _aliases(context, constructor))
    for check in _checks(context):
        if context.index.function(check.statement) is constructor and check.switches <= own:
            return check.test
    return _called(context, constructor, own, depth)


def _constructs(function: FunctionNode) -> bool:
    return function.name == "__init__"


def _aliases(context: Context, function: FunctionNode | None) -> list[tuple[str, str]]:
    """The attributes that a constructor sets to its parameters: `self.use_cuda = use_cuda`."""
    if function is None or not _constructs(function):
        return []
    given = {item.arg for item in (*function.args.args, *function.args.kwonlyargs)}
    return [
        (ast.unparse(target), statement.value.id)
        for statement in function.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Name)
        for target in statement.targets
        if isinstance(target, ast.Attribute) and statement.value.id in given
    ]


def _renamed(switches: Switches, aliases: list[tuple[str, str]]) -> Switches:
    """The switches under their other names."""
    pairs = [*aliases, *((two, one) for one, two in aliases)]
    return frozenset(
        (other + spelled[len(name) :], holds)
        for spelled, holds in switches
        for name, other in pairs
        if spelled == name or spelled.startswith(f"{name}.")
    )


def _called(
    context: Context, function: FunctionNode, switches: Switches, depth: int
) -> ast.expr | None:
    """The check that is passed before every call of `function` in the file."""
    callers = context.guards.callers
    owner = context.index.parents[function]
    called: FunctionNode | ast.ClassDef = function
    if _constructs(function) and isinstance(owner, ast.ClassDef):
        called = owner
    if not switches or callers.named_by_frameworks(called):
        return None
    found: ast.expr | None = None
    sites = callers.mentions(called)
    for site in sites if len(sites) <= _SITES else ():
        call = context.index.parents[site]
        if not isinstance(call, ast.Call) or call.func is not site:
            return None
        given = _given(context, function, call, switches) | _around(context, call)[0]
        found = _before(context, call, given, depth - 1)
        if found is None:
            return None
    return found


def _given(
    context: Context, function: FunctionNode, call: ast.Call, switches: Switches
) -> Switches:
    """What switches in `function` are where it is called: its parameters are the arguments."""
    arguments = _arguments(context, function, call)
    found: set[tuple[str, bool]] = set()
    for spelled, holds in switches:
        root, dot, rest = spelled.partition(".")
        if root in arguments:
            argument = arguments[root]
            text = _spelled(argument) if argument is not None else None
            if text is not None:
                found.add((text + dot + rest, holds))
        elif root != "self" or ast.unparse(call.func).startswith("self."):
            if not _is_local(context, function, root):
                found.add((spelled, holds))
    return frozenset(found)


def _is_local(context: Context, function: FunctionNode, name: str) -> bool:
    return any(
        isinstance(use.ctx, ast.Store) and context.index.function(use) is function
        for use in context.index.names.get(name, ())
    )


def _arguments(
    context: Context, function: FunctionNode, call: ast.Call
) -> dict[str, ast.expr | None]:
    """What a call gives to each parameter of `function`; None where it cannot be told."""
    names = [item.arg for item in (*function.args.posonlyargs, *function.args.args)]
    if isinstance(context.index.parents[function], ast.ClassDef) and names[:1] == ["self"]:
        names = names[1:]
    known: dict[str, ast.expr | None] = dict.fromkeys(names)
    known.update(dict.fromkeys(item.arg for item in function.args.kwonlyargs))
    if not any(isinstance(item, ast.Starred) for item in call.args):
        known.update(zip(names, call.args, strict=False))
    known.update((item.arg, item.value) for item in call.keywords if item.arg is not None)
    return known
