"""File names that a run numbers.

`args.save + "_epoch_" + str(i) + ".pth"` and the same with another number are written by the same
run, one after the other.
"""

from __future__ import annotations

import ast

_NUMBERED = frozenset({"str", "repr", "round"})
"""What turns a number into a part of a name."""
_LEAST = 3
"""A text that two names have in common, shorter than this, says nothing of them."""
_HOLE = "\0"


def numbered_place(node: ast.expr) -> str | None:
    """A file name as text, with a hole for each number; None where it has none, or where no text
    tells it from others."""
    shape = _shape(node)
    texts = (item.value for item in ast.walk(node) if isinstance(item, ast.Constant))
    written = sum(len(text) for text in texts if isinstance(text, str))
    return shape if _HOLE in shape and written >= _LEAST else None


def _shape(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(_shape, node.values))
    if isinstance(node, ast.FormattedValue):
        return f"({ast.unparse(node.value)})" if isinstance(node.value, ast.Attribute) else _HOLE
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mod):
        after = _HOLE if isinstance(node.op, ast.Mod) else _shape(node.right)
        return _shape(node.left) + after
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Name) and function.id in _NUMBERED:
            return _HOLE
        if isinstance(function, ast.Attribute) and function.attr == "format":
            return _shape(function.value) + _HOLE
        if isinstance(function, ast.Attribute) and function.attr == "join":
            return "/".join(map(_shape, node.args))
    return f"({ast.unparse(node)})"
