"""Where the answers of a program's command line are kept, as far as all of it is seen."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.parameters import explicit_parameters, given_for

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.syntax.index import FunctionNode

PARSING = ("parse_args", "parse_known_args")
# Fact: `argparse`, `_AttributeHolder` and `_ActionsContainer`.
_ALL = frozenset({"__dict__", "_get_kwargs", "_actions", "_option_string_actions"})
"""Attributes of a parser, or of its answers, that have all options at once."""


def answers_of(context: Context, option: str) -> set[str] | None:
    """The names in which all answers of parsers are kept, also by those who are given them by a
    function of the file (`return parser.parse_args()`) or are handed them (`main(args)`); None
    where more than attributes of them may be taken, or that of this option in a way that is not
    seen."""
    held: list[ast.expr] = [call for word in PARSING for call in context.index.calls.get(word, ())]
    names: set[str] = set()
    followed: set[ast.AST] = set()
    while held:
        kept = _kept_in(context, held.pop(), followed, held)
        if kept is None:
            return None
        for name in kept:
            if name in names:
                continue
            if not _is_of_file(context, name) or not is_only_asked(context, name, option):
                return None
            names.add(name)
            held += (use for use in _reads(context, name) if _is_handed_on(context, use))
    return names


def is_only_asked(context: Context, name: str, option: str | None = None) -> bool:
    """Whether of what a name holds attributes alone are taken, be it by `getattr`, or it is
    printed, given back, or handed to a function of the file: nobody else gets hold of it.
    `option`: nor of this one by `getattr`."""
    return all(
        not gives_all(around)
        if isinstance(around := context.index.parents[use], ast.Attribute)
        else isinstance(around, ast.FormattedValue)
        or (option is not None and _is_handed_on(context, use))
        or _asks_for_another(around, name, option)
        for use in _reads(context, name)
    )


def gives_all(attribute: ast.Attribute) -> bool:
    """`start(**args.__dict__)`, `dict(args._get_kwargs())`"""
    return attribute.attr in _ALL


def _reads(context: Context, name: str) -> list[ast.Name]:
    return [use for use in context.index.names.get(name, ()) if isinstance(use.ctx, ast.Load)]


def _is_of_file(context: Context, name: str) -> bool:
    """Whether no other file of the project has this variable."""
    elsewhere = context.elsewhere
    if name not in context.names.module.bindings or elsewhere is None:
        return True
    return not elsewhere.takes(context.source.path, name)


def _is_handed_on(context: Context, held: ast.expr) -> bool:
    return isinstance(context.index.parents[held], ast.Return) or _taker(context, held) is not None


def _kept_in(
    context: Context, held: ast.expr, followed: set[ast.AST], pending: list[ast.expr]
) -> list[str] | None:
    """The names that get what `held` is; what gets it by a call of its function is `pending`. None
    where that is not seen."""
    kept = context.index.parents[held]
    if isinstance(kept, ast.Expr):
        return []
    if isinstance(kept, ast.Return):
        function = context.index.function(held)
        calls = _calls_of(context, function)
        if function is None or calls is None:
            return None
        if function not in followed:
            followed.add(function)
            pending += calls
        return []
    taker = _taker(context, held)
    if taker is not None:
        return [taker]
    if not isinstance(kept, ast.Assign) or len(kept.targets) != 1:
        return None
    target = kept.targets[0]
    if isinstance(target, ast.Tuple) and target.elts:
        target = target.elts[0]  # The rest of `parse_known_args` is a list of texts.
    return [target.id] if isinstance(target, ast.Name) else None


def _calls_of(context: Context, function: FunctionNode | None) -> list[ast.expr] | None:
    """All calls of a function of this file's alone; None where it may be called by others."""
    if function is None or not _is_of_file(context, function.name):
        return None
    if context.index.parents[function] is not context.tree or function.decorator_list:
        return None
    calls: list[ast.expr] = []
    for use in _reads(context, function.name):
        call = context.index.parents[use]
        if not isinstance(call, ast.Call) or call.func is not use:
            return None
        calls.append(call)
    return calls


def _taker(context: Context, held: ast.expr) -> str | None:
    """The parameter of a function of this file that a call gives what is held."""
    call = context.index.parents[held]
    call = context.index.parents[call] if isinstance(call, ast.keyword) else call
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return None
    found = context.names.bindings(call.func.id, call.func)
    function = found[0].node if len(found) == 1 else None
    if not isinstance(function, FUNCTIONS):
        return None
    for parameter in explicit_parameters(function.args):
        if given_for(function.args, call, parameter.arg) is held:
            return parameter.arg
    return None


def _asks_for_another(call: ast.AST, holder: str, option: str | None) -> bool:
    """`getattr(args, "use_amp", False)`, `print(args)`"""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return False
    if call.func.id == "print":
        return True
    first, second = (*call.args[:2], None, None)[:2]
    return (
        call.func.id in ("getattr", "hasattr")
        and isinstance(first, ast.Name)
        and first.id == holder
        and isinstance(second, ast.Constant)
        and second.value != option
    )
