"""What a switch of the user's is where nobody says anything: the default of a parameter, of an
option of the program, or of what is written at the top of a file."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.options import options
from mpslint.semantics.syntax.parameters import positional_parameters
from mpslint.semantics.syntax.saying import SAYING
from mpslint.semantics.uses.leftovers import is_never_default

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_MOST_STEPS = 8
_FLAGS = {"store_true": False, "store_false": True}
"""What an option is that is not given, by what giving it does."""
_SAYING = (*SAYING, "critical", "exception")
_EXITS = ("sys.exit", "os._exit", "exit", "quit")
_SAME = ast.Is | ast.Eq
_OTHER = ast.IsNot | ast.NotEq


def is_default(context: Context, test: ast.expr, outcome: bool) -> bool:
    """Whether a test comes out so in a run in which nobody chooses; False where that is open."""
    return _Defaults(context).truth(test, _MOST_STEPS) is outcome


def is_asked_for(context: Context, test: ast.expr) -> bool:
    """Whether nobody comes to a test, or to its end, who leaves all switches as they are: `if
    args.trace and not torch.cuda.is_available():`, where `--trace` has to be given."""
    child: ast.AST = test
    parent = context.index.parents[child]
    while isinstance(parent, ast.BoolOp | ast.UnaryOp):
        if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And):
            if any(is_default(context, part, False) for part in parent.values if part is not child):
                return True
        child, parent = parent, context.index.parents[parent]
    around = tests_around(context, test)
    return any(is_default(context, other, not outcome) for other, outcome in around)


def is_asked_for_by_default(context: Context, test: ast.expr) -> bool:
    """Whether everybody comes to a test who leaves all switches as they are, of which there are
    some: `if args.cuda and not torch.cuda.is_available():`, where `--cuda` is on by itself."""
    child: ast.AST = test
    parent = context.index.parents[child]
    switches: list[tuple[ast.expr, bool]] = []
    while isinstance(parent, ast.BoolOp | ast.UnaryOp):
        if isinstance(parent, ast.BoolOp):
            holds = isinstance(parent.op, ast.And)
            switches += [(part, holds) for part in parent.values if part is not child]
        child, parent = parent, context.index.parents[parent]
    switches += tests_around(context, test)
    return bool(switches) and all(
        is_default(context, switch, outcome) for switch, outcome in switches
    )


def has_another_way(context: Context, node: ast.AST) -> bool:
    """Whether a node stands under a switch by which its function elsewhere does one thing or the
    other (`if config.parallel: run_parallel(jobs)` `else: run_serial(jobs)`), and which is not
    known to be on by default: who does without what is asked for here goes the other way."""
    function = context.index.function(node)
    for test, outcome in tests_around(context, node):
        if not isinstance(test, ast.Name | ast.Attribute) or is_default(context, test, outcome):
            continue
        text = ast.unparse(test)
        for other in context.index.of(ast.If):
            if context.index.function(other) is not function or other.test is test:
                continue
            if ast.unparse(other.test) != text:
                continue
            asked, without = (other.body, other.orelse) if outcome else (other.orelse, other.body)
            if _works(asked) and _works(without) and not _ends(context, without):
                return True
    return False


def _works(arm: Iterable[ast.AST]) -> bool:
    """Whether an arm calls something that is more than a word to who runs it: `print("one device")`
    is no way of doing the work."""
    for node in arm:
        if isinstance(node, ast.Call):
            if last_name(node.func) not in _SAYING:
                return True
        elif isinstance(node, ast.If):  # What it asks is not what it does.
            if _works((*node.body, *node.orelse)):
                return True
        elif _works(ast.iter_child_nodes(node)):
            return True
    return False


def _ends(context: Context, arm: list[ast.stmt]) -> bool:
    """Whether an arm does not go on: it raises, or leaves the program."""
    return any(
        isinstance(item, ast.Raise)
        or (
            isinstance(item, ast.Expr)
            and isinstance(item.value, ast.Call)
            and (context.resolve(item.value.func) or last_name(item.value.func)) in _EXITS
        )
        for item in arm
    )


def tests_around(context: Context, node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """The tests that have to come out so for a node, up to the function that it stands in."""
    child = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, ast.If | ast.IfExp) and child is not parent.test:
            body = parent.body if isinstance(parent.body, list) else [parent.body]
            yield parent.test, child in body
        elif isinstance(parent, FUNCTIONS):
            return
        child = parent


class _Defaults:
    def __init__(self, context: Context) -> None:
        self._context = context

    def truth(self, test: ast.expr, steps: int) -> bool | None:
        """What a test says by default; None: not known."""
        if steps == 0:
            return None
        if isinstance(test, ast.Constant):
            return bool(test.value)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inner = self.truth(test.operand, steps - 1)
            return None if inner is None else not inner
        if isinstance(test, ast.BoolOp):
            ends = isinstance(test.op, ast.Or)
            parts = [self.truth(part, steps - 1) for part in test.values]
            if ends in parts:
                return ends
            return None if None in parts else not ends
        if isinstance(test, ast.Compare):
            return self._compared(test, steps)
        behind = self._context.guards.behind(test)
        if behind is not test:
            return self.truth(behind, steps - 1)
        if isinstance(test, ast.Name):
            return self._parameter(test, steps)
        if isinstance(test, ast.Call):
            return self._looked_up(test)
        return self._option(test) if isinstance(test, ast.Attribute | ast.Subscript) else None

    def _compared(self, test: ast.Compare, steps: int) -> bool | None:
        """`use_cuda is True`, `args.cuda == 1`"""
        (operator, *more), (other, *_) = test.ops, test.comparators
        if more or not isinstance(other, ast.Constant) or other.value not in (0, 1):
            return None
        left = self.truth(test.left, steps - 1)
        if left is None or not isinstance(operator, _SAME | _OTHER):
            return None
        return (left == other.value) == isinstance(operator, _SAME)

    def _looked_up(self, call: ast.Call) -> bool | None:
        """`config.get("use_cuda", True)`, and `getattr(args, "use_cuda", True)`"""
        *before, default = call.args or [call]
        is_method = isinstance(call.func, ast.Attribute) and call.func.attr in ("get", "pop")
        is_asked = isinstance(call.func, ast.Name) and call.func.id == "getattr"
        if len(before) != (1 if is_method else 2) or not (is_method or is_asked):
            return None
        value = default.value if isinstance(default, ast.Constant) else None
        return value if isinstance(value, bool) else None

    def _parameter(self, name: ast.Name, steps: int) -> bool | None:
        """What a parameter is that callers may leave out. Where all of them give it, or it is given
        a new value, the default says nothing."""
        bindings = self._context.names.bindings(name.id, name)
        if len(bindings) != 1 or bindings[0].kind != "parameter":
            return None
        default = bindings[0].value
        if default is None or self._is_always_given(bindings[0].node, default):
            return None
        return self.truth(default, steps - 1)

    def _is_always_given(self, parameter: ast.AST, default: ast.expr) -> bool:
        """Whether every call gives the parameter: all that are seen here, or in the project."""
        arguments = self._context.index.parents.get(parameter)
        function = self._context.index.parents.get(arguments) if arguments is not None else None
        if not isinstance(arguments, ast.arguments) or not isinstance(function, FUNCTIONS):
            return True
        if is_never_default(self._context, default):
            return True
        assert isinstance(parameter, ast.arg)
        owner = self._context.index.parents.get(function)
        is_method = isinstance(owner, ast.ClassDef)
        called = function.name
        if isinstance(owner, ast.ClassDef) and called == "__init__":
            called = owner.name
        calls = self._context.index.calls.get(called, ())
        positional = positional_parameters(arguments)
        place = positional.index(parameter) - is_method if parameter in positional else None
        return bool(calls) and all(_gives(call, parameter.arg, place) for call in calls)

    def _option(self, asked: ast.Attribute | ast.Subscript) -> bool | None:
        """What an option of the program is that is not given: `args.fast`, `options["fast"]`."""
        if not isinstance(asked.value, ast.Name):
            return None
        key = asked.slice if isinstance(asked, ast.Subscript) else None
        name = asked.attr if isinstance(asked, ast.Attribute) else getattr(key, "value", None)
        found = [*options(self._context.index, name)] if name is not None else []
        if len(found) != 1:
            return None
        named = {keyword.arg: keyword.value for keyword in found[0].keywords}
        if "default" in named:
            default = named["default"]
            return bool(default.value) if isinstance(default, ast.Constant) else None
        action = named.get("action")
        return _FLAGS.get(str(action.value)) if isinstance(action, ast.Constant) else None


def _gives(call: ast.Call, name: str, place: int | None) -> bool:
    """Whether a call says what a parameter is; one that hands on a list of arguments may."""
    if any(keyword.arg in (name, None) for keyword in call.keywords):
        return True
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return True
    return place is not None and len(call.args) > place
