"""Whether what stands for a GPU is its number, or None, for certain: `.cuda(args.gpu)` also takes
text and a `torch.device`, `torch.device("cuda", args.gpu)` does not."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import names_in
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.options import options
from mpslint.semantics.uses.attribute_stores import Unknown, stored
from mpslint.semantics.uses.defined import asked_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from mpslint.semantics.context import Context
    from mpslint.semantics.elsewhere.elsewhere import Given
    from mpslint.semantics.names.names import Binding

    Ask = Callable[[Context, str | Given], bool]
    """Asks the rest of the project about an attribute, or about what is given for a parameter."""

_NUMBERS = "what is a whole number"
_DEPTH = 6
_ASSIGNED = ("assign", "annotate", "walrus")
# Fact: what these give, by the documentation of torch.cuda and torch.distributed.
_GIVING = frozenset(
    {
        "torch.cuda.current_device",
        "torch.cuda.device_count",
        "torch.distributed.get_rank",
        "torch.distributed.get_world_size",
    }
)


def is_whole_number(context: Context, value: ast.expr) -> bool:
    """Whether an expression is a whole number or None."""
    numbers = context.memo.setdefault(_NUMBERS, Numbers(_ask_project, {}))
    assert isinstance(numbers, Numbers)
    return numbers.is_one(context, value)


def _ask_project(context: Context, asked: str | Given) -> bool:
    around = context.elsewhere
    return around is not None and around.gives_numbers(context.source.path, asked)


class Numbers:
    def __init__(self, ask: Ask, known: dict[tuple[str, int], bool | None] | None = None) -> None:
        """`known`: keeps what a file says of an attribute, for who asks of one file alone."""
        self._ask = ask
        self._known = known
        self._asked: set[tuple[Context, str]] = set()

    def is_one(self, context: Context, value: ast.expr | None, depth: int = _DEPTH) -> bool:
        """Whether an expression is a whole number or None."""
        if value is None or depth <= 0:
            return False
        if isinstance(value, ast.Constant):
            return value.value is None or type(value.value) is int
        if isinstance(value, ast.IfExp):
            return all(self.is_one(context, one, depth) for one in (value.body, value.orelse))
        if isinstance(value, ast.BoolOp):
            return all(self.is_one(context, one, depth) for one in value.values)
        if isinstance(value, ast.UnaryOp):
            return isinstance(value.op, ast.USub) and self.is_one(context, value.operand, depth)
        if isinstance(value, ast.BinOp):
            return isinstance(value.op, ast.Add | ast.Sub | ast.Mod | ast.FloorDiv) and all(
                self.is_one(context, one, depth) for one in (value.left, value.right)
            )
        if isinstance(value, ast.Call):
            called = value.func
            if isinstance(called, ast.Name) and context.names.owner(called.id, called) is None:
                return called.id == "int"
            return context.resolve(called) in _GIVING
        if isinstance(value, ast.Name):
            bindings = context.flow.reaching(value) or context.names.bindings(value.id, value)
            return bool(bindings) and all(self._binds(context, one, depth - 1) for one in bindings)
        if isinstance(value, ast.Subscript):
            value = value.value  # `args.device[0]`: a list, by `nargs="+"`, of what its type is.
        if not isinstance(value, ast.Attribute):
            return False
        here = self.kept(context, value.attr, depth)
        return self._ask(context, value.attr) if here is None else here

    def kept(self, context: Context, name: str, depth: int = _DEPTH) -> bool | None:
        """Whether all that a file puts under an attribute of this name, of whatever object, is
        whole numbers, or None; None: it puts nothing there."""
        if (context, name) in self._asked:
            return True  # `args.gpu = args.gpu or 0`: what it is for the rest, it is here.
        # What is taken to be so for the sake of another question is kept by nobody.
        known = self._known if self._known is not None and not self._asked else {}
        if (name, depth) in known:
            return known[name, depth]
        self._asked.add((context, name))
        try:
            known[name, depth] = self._kept(context, name, depth)
            return known[name, depth]
        finally:
            self._asked.remove((context, name))

    def _kept(self, context: Context, name: str, depth: int) -> bool | None:
        added = [*options(context.index, name)]
        try:
            values = stored(context, name)
        except Unknown:
            return False
        if not added and not values:
            return None
        listed = [one for value in values for one in _parts(value)]
        return all(map(_takes_numbers, added)) and all(
            self.is_one(context, one, depth - 1) for one in listed
        )

    def _binds(self, context: Context, binding: Binding, depth: int) -> bool:
        if isinstance(binding.node, ast.arg):
            return self._is_given(context, binding.node, binding.value, depth)
        return binding.kind in _ASSIGNED and self.is_one(context, binding.value, depth)

    def _is_given(
        self, context: Context, parameter: ast.arg, default: ast.expr | None, depth: int
    ) -> bool:
        """Whether a parameter says that it is a number, or is given nothing else."""
        if parameter.annotation is not None:
            return _names_numbers(parameter.annotation)
        if default is not None and not self.is_one(context, default, depth):
            return False
        function = context.index.function(parameter)
        if not isinstance(function, FUNCTIONS):
            return False
        asked = asked_for(context, function, parameter)
        return asked is not None and self._ask(context, asked)


def _parts(value: ast.expr) -> list[ast.expr]:
    return value.elts if isinstance(value, ast.List | ast.Tuple) else [value]


def _takes_numbers(option: ast.Call) -> bool:
    """`add_argument("--gpu", type=int)`: without a type, what is given is text, and `cuda:1` one
    that `.cuda()` takes."""
    kinds = [one.value for one in option.keywords if one.arg == "type"]
    return any(isinstance(one, ast.Name) and one.id == "int" for one in kinds)


def _names_numbers(annotation: ast.expr) -> bool:
    """`int`, `int | None`, `Optional[int]`"""
    words = names_in(annotation)
    words |= {one.attr for one in ast.walk(annotation) if isinstance(one, ast.Attribute)}
    return "int" in words and words <= {"int", "Optional", "Union", "typing"}
