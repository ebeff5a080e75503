"""Arms that nobody in the project opens: a parameter that is False in each call, for being given
so or for not being given at all, is False; and so is an attribute that is False from the start, of
which nobody has the name but who asks for it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from mpslint.facts.priors import is_set_by_libraries
from mpslint.semantics.elsewhere.elsewhere import Given, Outcome
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode
from mpslint.semantics.syntax.parameters import positional_parameters
from mpslint.semantics.uses.defined import Defined, asked_for, definitions_around
from mpslint.semantics.uses.known_bases import line

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_SAME = ast.Is | ast.Eq
_OTHER = ast.IsNot | ast.NotEq
_SETTERS = ("setattr", "__setattr__", "__dict__", "vars")
"""What sets attributes by other texts than their names."""


class Calls(Protocol):
    """Who knows what the project's calls give."""

    def refuses(self, path: str, given: Given, outcome: Outcome, kept: str) -> bool: ...


def is_never_chosen(context: Context, row: int, others: Calls | None = None) -> bool:
    """Whether a line stands in an arm of a test that comes out otherwise in all calls, as `others`
    tell of these: the rest of the project, unless somebody else is named."""
    others = others if others is not None else context.elsewhere
    if others is None:
        return False
    for defined in definitions_around(context, row):
        if isinstance(defined.node, FUNCTIONS):
            for test, outcome in _tests(defined.node, row):
                if _is_refused(context, others, defined, test, outcome):
                    return True
    return any(
        _is_shut(context, function, row)
        for function in context.index.functions()
        if _holds(function, row) and context.index.function(function) is not None
    )


def _is_shut(context: Context, function: FunctionNode, row: int) -> bool:
    """Whether a line stands in an arm that all calls of a function leave alone which stands in
    another, so that nobody calls it but who stands there."""
    if function.decorator_list:
        return False
    scope = context.names.scope_of(function)
    calls: list[ast.Call] = []
    for use in context.index.names.get(function.name, ()):
        if context.names.owner(function.name, use) is not scope:
            continue
        call = context.index.parents[use]
        if not isinstance(call, ast.Call) or call.func is not use:
            return False
        calls.append(call)
    return bool(calls) and all(_leaves_alone(context, call, function, row) for call in calls)


def is_closed_by(context: Context, call: ast.Call, node: ast.AST) -> bool:
    """Whether a node stands in an arm of its function that this call of it leaves alone, for a
    constant that it gives or by what it leaves to a default."""
    function = context.index.function(node)
    if function is None:
        return False
    return _leaves_alone(context, call, function, node.lineno)  # type: ignore[attr-defined]


def _leaves_alone(context: Context, call: ast.Call, function: FunctionNode, row: int) -> bool:
    for test, outcome in _tests(function, row):
        test, asked_of = _compared(test, outcome)
        asked = _parameter(context, function, test) if isinstance(test, ast.Name) else None
        if asked is None:
            continue
        if asked.left_out_by(call):
            if asked.default and asked_of.refuses(asked.default[0]):
                return True
        elif asked.by(call):
            value = asked.of(call)
            if isinstance(value, ast.Constant) and asked_of.refuses(value.value):
                return True
    return False


def _tests(function: FunctionNode, row: int) -> Iterator[tuple[ast.expr, bool]]:
    """The tests below which a line stands, each as it comes out there; of `and`, all parts."""
    block: list[ast.stmt] | None = function.body
    while block is not None:
        found = next((item for item in block if _holds(item, row)), None)
        block = None
        if isinstance(found, ast.If):
            outcome = bool(found.body) and _in_block(found.body, row)
            if outcome or _in_block(found.orelse, row):
                yield from _parts(found.test, outcome)
                block = found.body if outcome else found.orelse
        elif isinstance(found, ast.For | ast.While | ast.With | ast.Try | ast.AsyncWith):
            inner = (getattr(found, field, []) for field in ("body", "orelse", "finalbody"))
            block = next((items for items in inner if items and _in_block(items, row)), None)
        elif isinstance(found, FUNCTIONS):
            return  # What is defined here may be called later.


def _holds(item: ast.stmt, row: int) -> bool:
    return item.lineno <= row <= (item.end_lineno or item.lineno)


def _in_block(block: list[ast.stmt], row: int) -> bool:
    return bool(block) and block[0].lineno <= row <= (block[-1].end_lineno or 0)


def _parts(test: ast.expr, outcome: bool) -> Iterator[tuple[ast.expr, bool]]:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _parts(test.operand, not outcome)
    elif isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) is outcome:
        for part in test.values:
            yield from _parts(part, outcome)
    else:
        yield test, outcome


def _is_refused(
    context: Context, others: Calls, defined: Defined, test: ast.expr, outcome: bool
) -> bool:
    """Whether a test asks for a parameter, or for what a constructor keeps of one, and comes out
    otherwise in all calls."""
    function, owner = defined
    assert isinstance(function, FUNCTIONS)
    test, asked_of = _compared(test, outcome)
    if isinstance(test, ast.Name):
        return _is_answered(context, others, function, test, asked_of, "")
    if not isinstance(test, ast.Attribute) or owner is None:
        return False
    held = _kept(context, owner, test)
    maker = context.index.function(held) if held is not None else None
    if held is None or maker is None or context.index.parents[maker] is not owner:
        return False
    if isinstance(held, ast.Constant) and maker.name == "__init__":
        return asked_of.refuses(held.value) and not _may_be_set(context, test.attr)
    return any(
        isinstance(name, ast.Name)
        and _is_answered(context, others, maker, name, asked_of, test.attr)
        for name, _ in _of_kept(held, asked_of)
    )


def _may_be_set(context: Context, attribute: str) -> bool:
    """Whether anybody may set an attribute of objects, by a text or as all attributes at once too,
    or a library does, which looks for modules that have it."""
    if is_set_by_libraries(attribute) or any(
        context.index.names.get(name) or context.index.attributes.get(name) for name in _SETTERS
    ):
        return True
    return context.elsewhere is None or context.elsewhere.changes_objects(
        context.source.path, "", frozenset({attribute})
    )


def _compared(test: ast.expr, outcome: bool) -> tuple[ast.expr, Outcome]:
    """What a test asks of: `mode`, of `mode != "fast"`; and how it comes out."""
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        (operator,), (other,) = test.ops, test.comparators
        if isinstance(other, ast.Constant) and isinstance(operator, _SAME | _OTHER):
            return test.left, Outcome(isinstance(operator, _SAME) is outcome, (other.value,))
    return test, Outcome(outcome)


def _of_kept(held: ast.expr, asked_of: Outcome) -> Iterator[tuple[ast.expr, bool]]:
    """What must be so of the parts of a kept value: `use_gpu and torch.cuda.is_available()`."""
    if asked_of.compared:
        yield held, True
    else:
        yield from ((part, so) for part, so in _parts(held, asked_of.holds) if so is asked_of.holds)


def _is_answered(
    context: Context,
    others: Calls,
    function: FunctionNode,
    name: ast.Name,
    asked_of: Outcome,
    kept: str,
) -> bool:
    """Whether what a parameter of the function is says otherwise in all calls."""
    asked = _parameter(context, function, name)
    if asked is None:
        return False
    return others.refuses(context.source.path, asked, asked_of, kept)


def _parameter(context: Context, function: FunctionNode, name: ast.Name) -> Given | None:
    """The parameter of the function that a name stands for, where nothing else gets that name and
    its default, if there is one, is a constant."""
    bindings = context.names.bindings(name.id, name)
    if len(bindings) != 1 or bindings[0].kind != "parameter":
        return None
    parameter, default = bindings[0].node, bindings[0].value
    if default is not None and not isinstance(default, ast.Constant):
        return None
    if context.index.function(parameter) is not function or not isinstance(parameter, ast.arg):
        return None
    asked = asked_for(context, function, parameter) or _of_inner(context, function, parameter)
    if asked is None or default is None:
        return asked
    return asked._replace(default=(default.value,))


def _of_inner(context: Context, function: FunctionNode, parameter: ast.arg) -> Given | None:
    """The same of a function that stands in another."""
    if context.index.function(function) is None or function.decorator_list:
        return None
    positional = positional_parameters(function.args)
    place = positional.index(parameter) if parameter in positional else None
    return Given(function.name, parameter.arg, place, method=False)


def _kept(context: Context, owner: ast.ClassDef, attribute: ast.Attribute) -> ast.expr | None:
    """The one value that a class keeps under `self.name`, where nothing else of the file sets an
    attribute of that name."""
    if not isinstance(attribute.value, ast.Name) or attribute.value.id != "self":
        return None
    stores = [
        use
        for use in context.index.attributes.get(attribute.attr, ())
        if not isinstance(use.ctx, ast.Load) and not _is_of_stranger(context, use, owner)
    ]
    if len(stores) != 1 or context.index.enclosing(stores[0], ast.ClassDef) is not owner:
        return None
    if any(_binds(item, attribute.attr) for item in owner.body):
        return None
    statement = context.index.parents[stores[0]]
    return statement.value if isinstance(statement, ast.Assign) else None


def _is_of_stranger(context: Context, store: ast.Attribute, owner: ast.ClassDef) -> bool:
    """Whether an attribute is set of `self` in a class that has nothing in common with another one
    of the file: neither is derived from the other, and no class from both."""
    setter = context.index.enclosing(store, ast.ClassDef)
    if setter is None or setter is owner:
        return False
    if not isinstance(store.value, ast.Name) or store.value.id != "self":
        return False
    return not any(
        {setter, owner} <= {known for _, known, _ in line(context, item)} | {item}
        for item in context.index.of(ast.ClassDef)
    )


def _binds(statement: ast.stmt, name: str) -> bool:
    """`training = False` in the body of a class."""
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        targets = [statement.target]
    return any(isinstance(item, ast.Name) and item.id == name for item in targets)
