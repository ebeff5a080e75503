"""Options of a program that it never reads, or of which all that it does with them is seen: what
they are by default places nothing by itself."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.options import destination
from mpslint.semantics.uses.parsed_answers import (
    PARSING,
    answers_of,
    gives_all,
    is_only_asked,
)

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.worlds.events import Event


def is_unread_option(context: Context, statement: ast.stmt) -> bool:
    """Whether a statement adds an option to a parser of this file alone, whose answers are read
    here by their names, and this one is not among them."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    parser, name = call.func.value, destination(call)
    if call.func.attr != "add_argument" or not isinstance(parser, ast.Name) or name is None:
        return False
    if any(
        text.value == name and not context.index.within(text, call)
        for text in context.index.strings
    ):
        return False
    answers = answers_of(context, name) if is_only_asked(context, parser.id) else None
    return bool(answers) and not any(
        not isinstance(use.value, ast.Name) or use.value.id in answers  # type: ignore[operator]
        for use in context.index.attributes.get(name, ())
    )


def option_at(context: Context, row: int) -> str | None:
    """The name of the option that a line adds to a parser of this file, where it and its answers
    are given back, or handed to functions of the project or of torch, and to nobody else."""
    for call in context.index.calls.get("add_argument", ()):
        if call.lineno <= row <= (call.end_lineno or 0) and isinstance(call.func, ast.Attribute):
            parser = call.func.value
            is_known = isinstance(parser, ast.Name) and _stays_in_project(context, parser.id)
            return destination(call) if is_known and _answers_stay(context) else None
    return None


def _answers_stay(context: Context) -> bool:
    for call in (call for word in PARSING for call in context.index.calls.get(word, ())):
        kept = context.index.parents[call]
        if isinstance(kept, ast.Return):
            continue
        if not isinstance(kept, ast.Assign) or len(kept.targets) != 1:
            return False
        (target,) = kept.targets
        if isinstance(target, ast.Tuple) and target.elts:
            target = target.elts[0]
        if not isinstance(target, ast.Name) or not _stays_in_project(context, target.id):
            return False
    return True


def _stays_in_project(context: Context, name: str) -> bool:
    elsewhere = context.elsewhere
    if name in context.names.module.bindings:
        if elsewhere is None or elsewhere.takes(context.source.path, name):
            return False
    return all(
        _is_seen(context, use)
        for use in context.index.names.get(name, ())
        if isinstance(use.ctx, ast.Load)
    )


def _is_seen(context: Context, use: ast.Name) -> bool:
    """Whether it is seen what becomes of a parser or of its answers here: an attribute is read,
    they are given back, or to a function that can be looked at."""
    parent = context.index.parents[use]
    if isinstance(parent, ast.Attribute):
        return not gives_all(parent)
    if isinstance(parent, ast.Return):
        return True
    call = context.index.parents[parent] if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or call.func is use:
        return False
    called = call.func
    if isinstance(called, ast.Name):
        found = context.names.bindings(called.id, called)
        if len(found) == 1 and isinstance(found[0].node, (*FUNCTIONS, ast.ClassDef)):
            return True
        if called.id == "print":
            return True
    qualified = context.resolve(called) or ""
    return qualified.startswith("torch.") or (
        "." in qualified and context.definition_elsewhere(qualified) is not None
    )


def is_followed_option(context: Context, event: Event) -> bool:
    """Whether an event is that of an option of a parser of this file alone, whose answer is read
    here by its name, to be chosen, compared or placed: what a Mac gets of it is told there."""
    call = event.use
    name = destination(call) if isinstance(call, ast.Call) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or name is None:
        return False
    parser = call.func.value
    if call.func.attr != "add_argument" or not isinstance(parser, ast.Name):
        return False
    answers = answers_of(context, name) if is_only_asked(context, parser.id) else None
    reads = [
        use
        for use in context.index.attributes.get(name, ())
        if isinstance(use.value, ast.Name) and use.value.id in (answers or ())
    ]
    return bool(reads) and all(_is_seen_through(context, use) for use in reads)


def _is_seen_through(context: Context, use: ast.Attribute) -> bool:
    parent = context.index.parents[use]
    if isinstance(use.ctx, ast.Store):
        return False  # Another device in place of the one that is not there: what a port begins at.
    if isinstance(parent, ast.Call) and parent.func is not use:
        called = parent.func
        is_move = isinstance(called, ast.Attribute) and called.attr == "to"
        return is_move or context.resolve(called) == "torch.device"
    return isinstance(parent, ast.IfExp | ast.Compare | ast.FormattedValue)
