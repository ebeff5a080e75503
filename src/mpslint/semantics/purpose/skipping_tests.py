"""Tests that are skipped without CUDA: classes of them by what they inherit, a single one by what
it asks first (`if device == "cuda" and not torch.cuda.is_available(): pytest.skip()`). What a
decorator is told for them (`@expand(device="cuda")`) is for no other machine."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode
from mpslint.semantics.syntax.parameters import explicit_parameters
from mpslint.semantics.terms.facts_known import backend_word

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

# Fact: unittest's and pytest's fixtures of classes, and their ways to skip.
_FIXTURES = frozenset({"setUpClass", "setUp", "setup_class", "setup_method"})
_SKIPPING = frozenset({"SkipTest", "skipTest", "skip"})
_ASKED = "torch.cuda.is_available"
_WORD = b"SkipTest", b"skipTest", b"skip("
_BASES = 3


def is_for_skipped_tests(context: Context, node: ast.AST) -> bool:
    """Whether `node` is what a class of tests, or a test, is decorated with that is skipped without
    CUDA: a test that skips itself for the device that it is given by that decorator."""
    child = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, ast.ClassDef):
            return child in parent.decorator_list and _skips(context, parent, _BASES)
        if isinstance(parent, FUNCTIONS) and child in parent.decorator_list:
            return _skips_itself(context, parent, frozenset(_given_by(child)))
        if isinstance(parent, ast.stmt):
            return False
        child = parent
    return False


def skips_for_cuda(context: Context, node: ast.AST) -> bool:
    """Whether `node` stands in a test that skips itself for CUDA's device where there is no CUDA,
    and is come to where the device is not the CPU."""
    if b"skip" not in context.source.data or not context.guards.has(node, "no-cpu"):
        return False
    return any(
        isinstance(parent, FUNCTIONS)
        and _skips_itself(context, parent, {item.arg for item in _parameters(parent)})
        for parent in context.index.ancestors(node)
    )


def _parameters(function: FunctionNode) -> Iterator[ast.arg]:
    yield from explicit_parameters(function.args)


def _given_by(decorator: ast.AST) -> Iterator[str]:
    """The parameters that a decorator names: `parametrize("device,dtype", [...])`."""
    if not isinstance(decorator, ast.Call) or not decorator.args:
        return
    first = decorator.args[0]
    for item in first.elts if isinstance(first, ast.Tuple | ast.List) else [first]:
        if isinstance(item, ast.Constant) and isinstance(item.value, str):
            yield from (word.strip() for word in item.value.split(","))


def _skips_itself(context: Context, function: FunctionNode, given: Iterable[str]) -> bool:
    """Whether a test skips itself without CUDA where one of these parameters is CUDA's device."""
    for item in function.body:
        if not isinstance(item, ast.If):
            continue
        test, arms = _condition(context, item.test), (item.body, item.orelse)
        while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            if _misses(context, test):
                break
            test, arms = _condition(context, test.operand), arms[::-1]
        if any(map(_is_skip, arms[0])) and _asks_for_cuda_and_misses(
            context, test, frozenset(given)
        ):
            return True
    return False


def _condition(context: Context, test: ast.expr) -> ast.expr:
    """The condition that a name stands for, or the test itself."""
    return context.guards.behind(test) if isinstance(test, ast.Name) else test


def _asks_for_cuda_and_misses(context: Context, test: ast.expr, given: frozenset[str]) -> bool:
    if not isinstance(test, ast.BoolOp) or not isinstance(test.op, ast.And):
        return False
    rest = [part for part in test.values if not _misses(context, part)]
    return len(rest) == 1 < len(test.values) and _is_so_for_cuda(rest[0], given)


def _is_so_for_cuda(test: ast.expr, given: frozenset[str]) -> bool:
    """`device == "cuda"`, `"cuda" in device`, also as one of several."""
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.Or) and any(_is_so_for_cuda(x, given) for x in test.values)
    if not isinstance(test, ast.Compare) or len(test.ops) != 1:
        return False
    sides = (test.left, test.comparators[0])
    return isinstance(test.ops[0], ast.Eq | ast.In) and any(
        backend_word(word) == "cuda" and isinstance(name, ast.Name) and name.id in given
        for word, name in (sides, sides[::-1])
    )


def _skips(context: Context, cls: ast.ClassDef, bases: int) -> bool:
    """Whether a class skips its tests where there is no CUDA, itself or by a base."""
    if any(_asks_and_skips(context, item) for item in cls.body):
        return True
    if not bases:
        return False
    for base in cls.bases:
        bindings = context.names.bindings(base.id, base) if isinstance(base, ast.Name) else []
        for binding in bindings:
            if isinstance(binding.node, ast.ClassDef) and binding.node is not cls:
                if _skips(context, binding.node, bases - 1):
                    return True
        name = context.resolve(base)
        found = context.definition_elsewhere(name, _WORD) if name is not None else None
        for other in found.bindings if found is not None else ():
            if isinstance(other.node, ast.ClassDef):
                if _skips(found.context, other.node, bases - 1):  # type: ignore[union-attr]
                    return True
    return False


def _asks_and_skips(context: Context, item: ast.stmt) -> bool:
    if not isinstance(item, FUNCTIONS) or item.name not in _FIXTURES:
        return False
    return any(
        isinstance(statement, ast.If)
        and _asks(context, statement.test)
        and any(_is_skip(inner) for inner in statement.body)
        for statement in item.body
    )


def _asks(context: Context, test: ast.expr) -> bool:
    """Whether a test holds where there is no CUDA, be it for those alone whose device is CUDA's."""
    if isinstance(test, ast.BoolOp):
        return any(_asks(context, part) for part in test.values)
    return _misses(context, test)


def _misses(context: Context, test: ast.expr) -> bool:
    return (
        isinstance(test, ast.UnaryOp)
        and isinstance(test.op, ast.Not)
        and isinstance(test.operand, ast.Call)
        and context.resolve(test.operand.func) == _ASKED
    )


def _is_skip(statement: ast.stmt) -> bool:
    value = statement.exc if isinstance(statement, ast.Raise) else getattr(statement, "value", None)
    return isinstance(value, ast.Call) and last_name(value.func) in _SKIPPING
