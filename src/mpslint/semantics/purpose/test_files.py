"""Files that a runner of tests reads: by their names, and by what stands in them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.paths import is_among_tests, is_test

if TYPE_CHECKING:
    from mpslint.semantics.context import Context


def is_test_file(context: Context) -> bool:
    """Whether pytest reads this file and finds something: a name says nothing by itself."""
    return is_test(context.source.path) and _holds_tests(context)


def lies_among_tests(context: Context) -> bool:
    """Whether a file lies in a folder of tests of its project."""
    around = context.elsewhere
    return around is not None and is_among_tests(around.place(context.source.path))


def _holds_tests(context: Context) -> bool:
    """Whether pytest would find something in a file that has the name of a test. What reads its
    arguments is a program, and so is what only tries a net out, by whatever name."""
    if context.index.calls.get("parse_args"):
        return False
    tops = {(binding.qualified or "").split(".")[0] for _, binding in context.names.every_binding()}
    return bool(tops & {"pytest", "unittest"}) or any(
        item.name.startswith(("test", "Test"))
        for item in (*context.index.functions(), *context.index.of(ast.ClassDef))
    )


def only_holds_scaler(context: Context) -> bool:
    """Whether a file of tests has a gradient scaler for what it is: nothing in it scales a loss, so
    that it does not matter where the scaler is on."""
    return not context.index.calls.get("scale") and is_test_file(context)
