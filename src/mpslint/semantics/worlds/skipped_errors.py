"""What a `conftest.py` makes of a test that raises for want of CUDA: a hook around each test may
skip it then. Such a test is run where CUDA is, as one is that asks before."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.facts.machines import CUDA_ERRORS, SAID_WITHOUT_CUDA
from mpslint.facts.runtime import error_of
from mpslint.semantics.syntax.expressions import last_name, names_in
from mpslint.semantics.syntax.index import FUNCTIONS, walk
from mpslint.semantics.worlds.errors import kinds_of, may_catch
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.values import DEVICE, Value, cases_of, is_bare

# Fact: pytest's hooks in which a test is run, and its way to skip.
_AROUND_A_TEST = frozenset({"pytest_runtest_call", "pytest_pyfunc_call", "pytest_runtest_protocol"})
_RUNNING = frozenset({"runtest", "get_result"})
_SKIP = "skip"
_CUDA = "torch.cuda."
_LACKING = "AssertionError"
"""What torch raises where it is built without CUDA, with the first of the texts."""


def skipped_errors(tree: ast.Module) -> frozenset[str]:
    """The kinds of errors, of those that torch raises without CUDA, of which hooks of this
    `conftest.py` make a skip."""
    return frozenset(
        kind
        for hook in tree.body
        if isinstance(hook, FUNCTIONS) and hook.name in _AROUND_A_TEST
        for item in walk(hook)
        if isinstance(item, ast.Try) and any(map(_runs_test, item.body))
        for handler in item.handlers
        for kind in _skipped_by(handler)
    )


def is_dealt_with_by(skipped: frozenset[str]) -> bool:
    """Whether a hook that skips these deals with what a torch without CUDA raises."""
    return may_catch(skipped, _LACKING)


def lacking(kind: Kind, worlds: int, name: str, value: Value) -> int:
    """The worlds that raise such an error by what is done in them: by the name of a function of
    torch's, or by a device."""
    if kind is Kind.CALLED:
        return worlds if name.startswith(_CUDA) and error_of(name) == _LACKING else 0
    if kind is Kind.MOVED:
        return 0 if is_bare(value) else worlds
    found = 0
    for mask, atom in cases_of(value, worlds) if kind is Kind.PLACED else ():
        if atom.kind == DEVICE and atom.v == "cuda" and not atom.maybe:
            found |= mask
    return found


def _runs_test(statement: ast.stmt) -> bool:
    """`item.runtest()`, `outcome.get_result()`, `yield`"""
    return any(
        isinstance(item, ast.Yield)
        or (
            isinstance(item, ast.Call)
            and isinstance(item.func, ast.Attribute)
            and item.func.attr in _RUNNING
        )
        for item in walk(statement)
    )


def _skipped_by(handler: ast.ExceptHandler) -> Iterator[str]:
    kinds = kinds_of(handler.type)
    for statement in handler.body:
        if _skips(statement):
            yield from (kind for kind in kinds if kind in CUDA_ERRORS)
        elif isinstance(statement, ast.If) and any(map(_skips, statement.body)):
            if may_catch(kinds, _LACKING) and _asks_what_torch_says(statement.test, handler.name):
                yield _LACKING


def _skips(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Call) and last_name(value.func) == _SKIP


def _asks_what_torch_says(test: ast.expr, error: str | None) -> bool:
    """`str(error) == "Torch not compiled with CUDA enabled"`, `"not compiled" in str(error)`"""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    sides = [test.left, test.comparators[0]]
    said = [item.value for item in sides if isinstance(item, ast.Constant)]
    text = said[0] if len(said) == 1 and isinstance(said[0], str) else ""
    if not text or error not in names_in(test):
        return False
    if isinstance(test.ops[0], ast.Eq):
        return text == SAID_WITHOUT_CUDA[0]
    return isinstance(test.ops[0], ast.In) and text.lower() in SAID_WITHOUT_CUDA[0].lower()
