"""Which GPU a program uses may be its user's choice (`--gpu 1`). A rewrite that no longer reads it
gives the same numbers here, where every choice is GPU 0, and is wrong on a machine with two.

Told by the text: what the original reads to name a CUDA device, and the patched script reads no
more often than the original did for other ends.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

_CALLS = {"cuda", "set_device", "device"}
_INDEXED = re.compile(r"\bcuda:")


class Lost(NamedTuple):
    """What chose the GPU, and in which line of the original."""

    name: str
    line: int


def lost(before: bytes, after: bytes) -> Lost | None:
    """The first choice of a GPU that the patched text does not make; None where it makes all."""
    try:
        old, new = ast.parse(before), ast.parse(after)
    except (SyntaxError, ValueError, RecursionError):
        return None
    chosen = list(_chosen(old))
    fixed = _constants(old)
    reads, kept = _reads(old), _reads(new)
    choices = Counter(name for name, _ in chosen)
    for name, line in chosen:
        if name not in fixed and kept[name] <= reads[name] - choices[name]:
            return Lost(name, line)
    return None


def _chosen(tree: ast.AST) -> Iterator[Lost]:
    """Each reading of a name that becomes a part of a CUDA device's name."""
    for node in ast.walk(tree):
        for part in _index_parts(node):
            for read in ast.walk(part):
                if name := _name(read):
                    yield Lost(name, getattr(node, "lineno", 0))


def _index_parts(node: ast.AST) -> Iterator[ast.expr]:
    """The expressions in a node that say which CUDA device is meant."""
    if isinstance(node, ast.JoinedStr):
        for word, value in zip(node.values, node.values[1:], strict=False):
            if isinstance(value, ast.FormattedValue) and _ends_in_cuda(word):
                yield value.value
    elif isinstance(node, ast.BinOp) and _is_cuda_text(node.left):
        yield node.right
    elif isinstance(node, ast.Call):
        yield from _arguments(node)


def _arguments(call: ast.Call) -> Iterator[ast.expr]:
    if not isinstance(call.func, ast.Attribute):
        return
    values = [*call.args, *(word.value for word in call.keywords if word.arg == "device")]
    name, owner = call.func.attr, call.func.value
    if name == "format" and _is_cuda_text(owner):
        yield from values
    elif name == "cuda" or (name in _CALLS and _last(owner) == "cuda"):
        yield from values[:1]
    elif name == "device" and values and _is_text(values[0], "cuda"):
        yield from values[1:]


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _is_text(node: ast.expr, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text


def _is_cuda_text(node: ast.expr) -> bool:
    found = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return found and _INDEXED.search(str(getattr(node, "value", ""))) is not None


def _ends_in_cuda(node: ast.expr) -> bool:
    value = node.value if isinstance(node, ast.Constant) else ""
    return isinstance(value, str) and value.endswith("cuda:")


def _name(node: ast.AST) -> str | None:
    """`gpu` or `args.gpu`, where it is read and is no function or module that is called upon."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        return ast.unparse(node) if isinstance(node.value, ast.Name) else None
    return None


def _reads(tree: ast.AST) -> Counter[str]:
    return Counter(name for node in ast.walk(tree) if (name := _name(node)))


def _constants(tree: ast.AST) -> set[str]:
    """Names that are never anything but one written number or text, and so choose nothing; names
    that are not variables of the file's own; the objects whose attributes are read.
    """
    bound: dict[str, list[bool]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for name in ast.walk(target):
                    if isinstance(name, ast.Name):
                        bound.setdefault(name.id, []).append(isinstance(node.value, ast.Constant))
        elif isinstance(node, ast.arg):
            bound.setdefault(node.arg, []).append(False)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.setdefault(node.id, [])
    owners = {
        node.value.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    builtin = {"str", "int", "len", "range", "max", "min"}
    settled = {name for name, values in bound.items() if values == [True]}
    return settled | owners | builtin
