"""Whether a program chooses the precision that it computes in, so that devices may well differ.

Names count, and texts that are arguments; comments and documentation do not. TF32 is no such
choice: only a real GPU has it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from mpslint.verify.launch import Launch

_LOW = {
    "autocast", "GradScaler", "half", "float16", "bfloat16", "fp16", "bf16",
    "set_float32_matmul_precision",
}  # fmt: skip
_HIGH = {"float64", "double", "complex128"}
_MIXED = {"autocast", "GradScaler"}


class Choice(NamedTuple):
    """high: more of it than mps has, of which float32 is the nearest; else less than float32."""

    word: str
    high: bool


def chosen(text: bytes, but_for_autocast: bool = False) -> Choice | None:
    """How a program chooses its precision: the first word with which it takes less than float32,
    else the first with which it takes more.
    """
    left_out = _MIXED if but_for_autocast else set()
    words = [word for word in _words(text) if word not in left_out]
    for choices, high in ((_LOW, False), (_HIGH, True)):
        for word in words:
            if word in choices:
                return Choice(word, high)
    return None


def narrower(reference: Launch, patched: Launch) -> str | None:
    """Whether a run puts numbers of fewer digits on its device than the original on its own: on
    other data that may show where it does not on these.
    """
    if "cpu" in (reference.kind, patched.kind) or "real" in (reference.kind, patched.kind):
        return None  # not seen there
    one, two = (set(run.value("halves", [])) for run in (reference, patched))
    if one or not two:
        return None
    return f"it computes in {' and '.join(sorted(two))}, which the original does not"


def is_mixed(text: bytes) -> bool:
    """Whether it uses autocast or a GradScaler."""
    return any(word in _MIXED for word in _words(text))


def _words(text: bytes) -> Iterator[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    left_out: set[int] = set()
    own = {name for node in ast.walk(tree) if (name := _bound(node))}
    for node in ast.walk(tree):
        if id(node) in left_out:
            continue
        if isinstance(node, ast.Call):
            if _is_off(node):
                left_out.update(id(part) for part in ast.walk(node))
                continue
            if _name(node) in _MIXED:  # which type it takes is its own matter
                values = [*node.args, *(keyword.value for keyword in node.keywords)]
                left_out.update(id(part) for value in values for part in ast.walk(value))
                continue
            yield from _texts(node)
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Name) and node.id not in own:
            yield node.id


def _bound(node: ast.AST) -> str | None:
    """A name that the program gives to something of its own: `half = width / 2`."""
    if isinstance(node, ast.arg):
        return node.arg
    return node.id if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else None


def _texts(call: ast.Call) -> Iterator[str]:
    for value in [*call.args, *(keyword.value for keyword in call.keywords)]:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield value.value


def _name(call: ast.Call) -> str:
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def _is_off(call: ast.Call) -> bool:
    """`autocast(enabled=False)` and the like choose nothing, nor does to ask for all of float32."""
    if _name(call) == "set_float32_matmul_precision":
        return any(isinstance(one, ast.Constant) and one.value == "highest" for one in call.args)
    return any(
        keyword.arg == "enabled"
        and isinstance(keyword.value, ast.Constant)
        and keyword.value.value is False
        for keyword in call.keywords
    )
