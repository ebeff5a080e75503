"""Weights of a model that are turned into arrays where they lie.

`{key: value.numpy() for key, value in net.state_dict().items()}` copies nothing: it works as long
as the model is on the CPU, and raises TypeError once it is on a GPU.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

_RAISES = "may be given a tensor on MPS, which raises TypeError"
# Fact: `torch.nn.Module`, the methods that hand out its tensors.
_HANDING = frozenset({"parameters", "named_parameters", "buffers", "named_buffers", "state_dict"})
_TO_HOST = frozenset({"cpu", "to"})
_MAX_TEXT = 60

KINDS: frozenset[type[ast.AST]] = frozenset({ast.Call, ast.For, ast.comprehension})
"""The kinds of nodes that are asked for."""


def may_read(text: bytes) -> bool:
    """Whether a text may hold such a read: who moved the model there often stands elsewhere."""
    return b".numpy(" in text and any(name.encode() + b"(" in text for name in _HANDING)


def read(nodes: Sequence[ast.AST]) -> Iterator[tuple[int, str]]:
    """The rows of these reads; `nodes`: those of its `KINDS`."""
    drawn = {
        item.id
        for node in nodes
        if isinstance(node, ast.For | ast.comprehension) and _hands_out(node.iter)
        for item in ast.walk(node.target)
        if isinstance(item, ast.Name)
    }
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "numpy" and _is_of_weights(node.func.value, drawn):
                yield node.lineno, f"{ast.unparse(node)[:_MAX_TEXT]} {_RAISES}"


def _hands_out(node: ast.expr) -> bool:
    """`net.parameters()`, `enumerate(net.state_dict().items())`"""
    return any(
        isinstance(item, ast.Call)
        and isinstance(item.func, ast.Attribute)
        and item.func.attr in _HANDING
        for item in ast.walk(node)
    )


def _is_of_weights(node: ast.expr, drawn: set[str]) -> bool:
    """Whether something is a weight, or made of one, and was not brought to the host."""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                if node.func.attr in _TO_HOST:
                    return False
                if node.func.attr in _HANDING:
                    return True
            node = node.func
        elif isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        else:
            return False
    return node.id in drawn
