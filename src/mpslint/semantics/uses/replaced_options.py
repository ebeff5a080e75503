"""Options whose answer is replaced before anybody reads it: their defaults place nothing.

`args = parser.parse_args()` and, below it, `args.device = torch.device(...)`: whatever `--device`
is, or is by default, nobody sees it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import walk
from mpslint.semantics.syntax.options import destination

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_PARSING = ("parse_args", "parse_known_args", "parse_intermixed_args")


def is_replaced_option(context: Context, row: int) -> bool:
    """Whether a line adds an option to a parser that this file alone asks, once, and the answer is
    replaced in the same block before it is read."""
    for call in context.index.calls.get("add_argument", ()):
        if not call.lineno <= row <= (call.end_lineno or 0):
            continue
        name, parser = destination(call), getattr(call.func, "value", None)
        if name is None or not isinstance(parser, ast.Name):
            return False
        scope = context.index.function(call)
        asked = [
            parse
            for word in _PARSING
            for parse in context.index.calls.get(word, ())
            if context.index.function(parse) is scope
        ]
        if len(asked) != 1 or not _asks(asked[0], parser.id):
            return False
        return _is_kept_here(context, parser, scope) and _is_replaced(context, asked[0], name)
    return False


def _asks(parse: ast.Call, parser: str) -> bool:
    holder = parse.func.value if isinstance(parse.func, ast.Attribute) else None
    return isinstance(holder, ast.Name) and holder.id == parser


def _is_kept_here(context: Context, parser: ast.Name, scope: ast.AST | None) -> bool:
    """Whether nobody else can ask the parser: of its name attributes alone are taken, here, and a
    parser of the module is taken by no other file."""
    uses = context.index.names.get(parser.id, ())
    mine = [use for use in uses if context.index.function(use) is scope]
    if scope is None:
        if len(mine) != len(uses):
            return False
        elsewhere = context.elsewhere
        if elsewhere is None or elsewhere.takes(context.source.path, parser.id):
            return False
    return all(
        isinstance(context.index.parents[use], ast.Attribute)
        for use in mine
        if isinstance(use.ctx, ast.Load)
    )


def _is_replaced(context: Context, parse: ast.Call, name: str) -> bool:
    kept = context.index.parents[parse]
    if not isinstance(kept, ast.Assign) or len(kept.targets) != 1:
        return False
    (target,) = kept.targets
    if isinstance(target, ast.Tuple) and target.elts:
        target = target.elts[0]  # The rest of `parse_known_args` is a list of texts.
    if not isinstance(target, ast.Name):
        return False
    for statement in _behind(context, kept):
        stored = _stored(statement, target.id, name)
        if any(_may_read(context, use, target.id, name) for use in walk(stored or statement)):
            return False
        if stored is not None:
            return True
    return False


def _behind(context: Context, statement: ast.stmt) -> Iterator[ast.stmt]:
    """The statements of the same block behind one."""
    parent = context.index.parents[statement]
    for block in ("body", "orelse", "finalbody"):
        items = getattr(parent, block, None)
        if isinstance(items, list) and statement in items:
            yield from items[items.index(statement) + 1 :]


def _stored(statement: ast.stmt, answers: str, name: str) -> ast.expr | None:
    """What a statement puts in the place of an answer."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    (target,) = statement.targets
    if not isinstance(target, ast.Attribute) or target.attr != name:
        return None
    is_of_answers = isinstance(target.value, ast.Name) and target.value.id == answers
    return statement.value if is_of_answers else None


def _may_read(context: Context, use: ast.AST, answers: str, name: str) -> bool:
    """Whether a node reads the answer of this name, or takes all answers, and may do so."""
    if isinstance(use, ast.Call) and isinstance(use.func, ast.Name):
        # A function of the file may know them by their name.
        return use.func.id in context.names.module.bindings
    if not isinstance(use, ast.Name) or use.id != answers:
        return False
    parent = context.index.parents[use]
    return not isinstance(parent, ast.Attribute) or parent.attr in (name, "__dict__")
