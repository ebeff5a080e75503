"""A device that one function selects, or asks a helper for, once, in front of its first use."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from mpslint.patterns.flat import of_chain, statement_of
from mpslint.patterns.insertion import insert_before
from mpslint.patterns.text import indent_unit, line_limit
from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import is_main_block, last_name, names_in
from mpslint.semantics.syntax.index import COMPREHENSIONS, FUNCTIONS, LOOPS

if TYPE_CHECKING:
    from mpslint.model import Edit
    from mpslint.semantics.context import Context
    from mpslint.semantics.syntax.index import FunctionNode

_NAMES = ("device", "torch_device", "default_device", "selected_device")
_OF_PRECISION = ("autocast", "GradScaler")
_NAMES_OF_DEFAULTS = ("default_device", "device_name")


class Own(NamedTuple):
    """A name of one function, and the line that binds it."""

    name: str
    edit: Edit
    is_string: bool = False


def outermost(context: Context, node: ast.AST) -> FunctionNode | None:
    """The function around `node` that stands in no other."""
    found = None
    for parent in context.index.ancestors(node):
        if isinstance(parent, FUNCTIONS):
            found = parent
    return found


def in_trial(
    context: Context, node: ast.AST, places: Iterable[ast.AST], function: str, value: str
) -> Own | None:
    """A device of what runs below `if __name__ == "__main__":`, where that alone needs one: a
    module that is mostly imported does not ask for it then. `function` makes it of `value`, a
    conditional expression of strings; without one `value` is the call of a helper."""
    owner = _below_main(context, node)
    if owner is None or any(_below_main(context, place) is not owner for place in places):
        return None
    if function and _is_default(context, node) and all(place is node for place in places):
        return _bound_in(context, owner, node, places, "", value, _NAMES_OF_DEFAULTS)
    return _bound_in(context, owner, node, places, function, value)


def is_apart(context: Context, node: ast.AST) -> bool:
    """Whether what stands there runs in a function, or below the test of `__name__`."""
    return context.index.function(node) is not None or _below_main(context, node) is not None


def _below_main(context: Context, node: ast.AST) -> ast.If | None:
    """The test of `__name__` that `node` stands below, in no function."""
    if context.index.function(node) is not None:
        return None
    for parent in context.index.ancestors(node):
        if is_main_block(parent) and not parent.orelse:
            return parent
    return None


def selection(
    context: Context, node: ast.AST, places: Iterable[ast.AST], torch: str, chain: str
) -> Own | None:
    """A selection of the function around `node`: `chain`, a conditional expression of strings.
    `places`: all that need a device in the file. Text, for the default of an option alone;
    mixed precision only asks for the type of what is chosen in the end."""
    owner = outermost(context, node)
    if _is_default(context, node) and all(
        place is node or (isinstance(place, ast.Call) and last_name(place.func) in _OF_PRECISION)
        for place in places
        if outermost(context, place) is owner
    ):
        return _bound(context, node, places, "", chain, _NAMES_OF_DEFAULTS)
    return _bound(context, node, places, f"{torch}.device", chain)


def _is_default(context: Context, node: ast.AST) -> bool:
    """`parser.add_argument("--device", default="cuda")`"""
    parent = context.index.parents[node]
    return isinstance(parent, ast.keyword) and parent.arg == "default"


def kept(context: Context, node: ast.AST, places: Iterable[ast.AST], call: str) -> Own | None:
    """What a helper gives, kept by the function around `node`."""
    return _bound(context, node, places, "", call)


def kept_by_program(
    context: Context, node: ast.AST, places: Iterable[ast.AST], call: str
) -> Own | None:
    """The same for what runs below `if __name__ == "__main__":`, where that asks more than once."""
    owner = _below_main(context, node)
    mine = [place for place in places if owner and _below_main(context, place) is owner]
    return _bound_in(context, owner, node, mine, "", call) if owner and len(mine) > 1 else None


def asks_often(context: Context, node: ast.AST, places: Iterable[ast.AST]) -> bool:
    """Whether the function around `node` needs the device in a loop, or more than once."""
    function = outermost(context, node)
    mine = [place for place in places if outermost(context, place) is function]
    return len(mine) > 1 or any(
        isinstance(parent, (*LOOPS, *COMPREHENSIONS)) and context.index.within(parent, function)
        for place in mine
        for parent in context.index.ancestors(place)
        if function is not None
    )


def runs_once(context: Context, node: ast.AST) -> bool:
    """Whether the program calls the function around `node` once, from its top: `main()`."""
    owner = outermost(context, node)
    if owner is None or context.index.parents[owner] is not context.tree:
        return False
    uses = [use for use in context.index.names.get(owner.name, ()) if isinstance(use.ctx, ast.Load)]
    return len(uses) == 1 and not any(
        isinstance(parent, (*FUNCTIONS, *LOOPS, *COMPREHENSIONS, ast.Lambda))
        for parent in context.index.ancestors(uses[0])
    )


def _bound(
    context: Context,
    node: ast.AST,
    places: Iterable[ast.AST],
    function: str,
    value: str,
    names: tuple[str, ...] = _NAMES,
) -> Own | None:
    owner = outermost(context, node)
    if owner is None or not any(context.index.within(node, item) for item in owner.body):
        return None
    return _bound_in(context, owner, node, places, function, value, names)


def _bound_in(
    context: Context,
    owner: FunctionNode | ast.If,
    node: ast.AST,
    places: Iterable[ast.AST],
    function: str,
    value: str,
    names: tuple[str, ...] = _NAMES,
) -> Own | None:
    needing = [
        place for place in (node, *places) if place is owner or context.index.within(place, owner)
    ]
    first = first_in_need(context, owner.body, needing)
    # What is bound below `if __name__ == "__main__":` is the module's.
    around = context.tree if isinstance(owner, ast.If) else owner
    taken = names_in(around)
    taken |= {item.arg for item in ast.walk(around) if isinstance(item, ast.arg)}
    name = next((name for name in names if name not in taken), None)
    if name is None or first is None:
        return None
    is_string = names is _NAMES_OF_DEFAULTS
    first = _before_parser(context, first) if is_string else first
    source = context.source
    indent = source.indentation(first.lineno)
    lines = _lines(context, f"{name} = ", function, value, indent)
    edit = insert_before(context, first, lines, above_comments=True)
    return Own(name, edit, is_string) if edit is not None else None


def _before_parser(context: Context, statement: ast.stmt) -> ast.stmt:
    """The statement that makes the object which a run of statements tells of options."""
    parent = context.index.parents[statement]
    block: list[ast.stmt] = getattr(parent, "body", [])
    told = _told(statement)
    if told is None or statement not in block:
        return statement
    for item in reversed(block[: block.index(statement)]):
        if isinstance(item, ast.Assign) and told in map(ast.unparse, item.targets):
            return item
        if _told(item) is None:
            break
    return statement


def _told(statement: ast.stmt) -> str | None:
    """`parser` of `parser.add_argument(...)`."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return None
    return ast.unparse(call.func.value)


def first_in_need(
    context: Context, block: list[ast.stmt], needing: Sequence[ast.AST]
) -> ast.stmt | None:
    """The first statement that needs the device: in the arm that alone needs it, where one does."""

    def needs(item: ast.AST) -> bool:
        return any(place is item or context.index.within(place, item) for place in needing)

    first = next((item for item in block if needs(item)), None)
    arms = [first.body, first.orelse] if isinstance(first, ast.If) else []
    for arm in arms:
        inside = [p for p in needing if any(context.index.within(p, item) for item in arm)]
        if len(inside) == len(needing) and not _is_elif(context, arm):
            return first_in_need(context, arm, needing)
    return first


def _is_elif(context: Context, arm: list[ast.stmt]) -> bool:
    parent = context.index.parents[arm[0]] if arm else None
    return (
        isinstance(parent, ast.If)
        and arm == parent.orelse
        and arm[0].col_offset == parent.col_offset
    )


def _lines(context: Context, head: str, function: str, value: str, indent: str) -> list[str]:
    """`device = torch.device(...)`, without its indentation, in as few lines as fit."""
    source = context.source
    limit, unit = line_limit(source), indent_unit(source)
    whole = f"{head}{function}({value})" if function else f"{head}{value}"
    width = len(indent.expandtabs())
    if width + len(whole) <= limit or (not function and " if " not in value):
        return [whole]
    if width + len(unit) + len(value) > limit:
        return statement_of(
            [
                (f"{head}{function}({one})" if function else f"{head}{one}", test)
                for one, test in of_chain(value)
            ],
            unit,
        )
    return [f"{head}{function}(", f"{unit}{value}", ")"]
