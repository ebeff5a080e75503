"""Loops that go back through a model and train nothing: what they want are the gradients of what
they give to it, of inputs or of masks, which they keep or hand back.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.semantics.syntax.index import Index

_NAMES_FOLLOWED = 3
"""`grad = x.grad`, `step = rate * grad.sign()`, `new = x + step`, and `x = new.clamp(0, 1)`."""


def only_asks_gradients(index: Index, loop: ast.AST) -> bool:
    """Whether a loop in which something goes `backward()`, in a file where no optimizer steps, does
    so for gradients that it reads: `saliency.append(x.grad.cpu())`.

    Who changes by a gradient what it is of (`delta.data += rate * delta.grad.sign()`) trains that,
    and gradients of parameters, drawn from a model in a loop of their own, may be anybody's.
    """
    if index.calls.get("step"):
        return False
    asked = [
        read.value
        for read in index.attributes.get("grad", ())
        if isinstance(read.ctx, ast.Load)
        and index.within(read, loop)
        and not _is_emptied(index, read)
    ]
    return bool(asked) and all(_is_kept(index, loop, owner) for owner in asked)


def _is_emptied(index: Index, read: ast.Attribute) -> bool:
    """`x.grad.zero_()`, `x.grad.data.zero_()` and `if x.grad is not None:`"""
    parent = index.parents[read]
    if isinstance(parent, ast.Compare):
        return True
    while isinstance(parent, ast.Attribute):
        if parent.attr == "zero_":
            return True
        parent = index.parents[parent]
    return False


def _is_kept(index: Index, loop: ast.AST, owner: ast.expr) -> bool:
    """Whether the loop changes nothing by the gradient of `owner`, which no inner loop draws."""
    name = ast.unparse(owner)
    drawn = {
        item.id
        for inner in ast.walk(loop)
        if isinstance(inner, ast.For) and inner is not loop
        for item in ast.walk(inner.target)
        if isinstance(item, ast.Name)
    }
    if any(isinstance(item, ast.Name) and item.id in drawn for item in ast.walk(owner)):
        return False
    made = _made_of(loop, name)
    return not any(
        _spells(target, name) and any(_spells(value, one) for one in made)
        for target, value in _changes(loop)
    )


def _made_of(loop: ast.AST, name: str) -> set[str]:
    """The name itself, and those that are given something made of it."""
    made = {name}
    for _ in range(_NAMES_FOLLOWED):
        for item in ast.walk(loop):
            if isinstance(item, ast.Assign) and any(_spells(item.value, one) for one in made):
                made.update(ast.unparse(target) for target in item.targets)
    return made


def _changes(loop: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is changed, and by what: by assignment, or by a method of its own in place."""
    for item in ast.walk(loop):
        if isinstance(item, ast.Assign):
            yield from ((target, item.value) for target in item.targets)
        elif isinstance(item, ast.AugAssign):
            yield item.target, item.value
        elif isinstance(item, ast.Call) and isinstance(item.func, ast.Attribute):
            if item.func.attr.endswith("_") and not item.func.attr.startswith("_"):
                yield from ((item.func.value, argument) for argument in item.args)


def _spells(node: ast.expr, name: str) -> bool:
    return any(
        isinstance(item, ast.Name | ast.Attribute) and ast.unparse(item) == name
        for item in ast.walk(node)
    )
