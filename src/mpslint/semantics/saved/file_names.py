"""How a file is named, as far as the code shows: `"%s_net_%s.pth"`, whatever fills it."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import last_name

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_NAMES_FOLLOWED = 3
"""`name = "%s.pth" % epoch`, `path = join(folder, name)`, `torch.save(state, path)`."""
# Fact: the placeholders of `%` (docs.python.org, printf-style formatting) and of `str.format`.
_HOLES = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?[sdifgr]|\{[^{}]*\}")
_HOLE = "{}"


def pattern_of(context: Context, place: ast.expr, depth: int = _NAMES_FOLLOWED) -> str:
    """The last part of a path with holes for what is not written out; empty where too little of it
    is written to tell it from others."""
    text = _text(context, place, depth).replace("\\", "/").rsplit("/", 1)[-1]
    return text if any(map(str.isalpha, text.replace(_HOLE, "").partition(".")[0])) else ""


def _text(context: Context, node: ast.expr, depth: int) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else _HOLE
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(context, part, 0) for part in node.values)
    if isinstance(node, ast.BinOp):
        if isinstance(node.op, ast.Mod):
            return _HOLES.sub(_HOLE, _text(context, node.left, depth))
        if isinstance(node.op, ast.Div):
            return _text(context, node.right, depth)
        if isinstance(node.op, ast.Add):
            return _text(context, node.left, depth) + _text(context, node.right, depth)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "format":
            return _HOLES.sub(_HOLE, _text(context, node.func.value, depth))
        if last_name(node.func) in ("join", "joinpath") and node.args:
            return _text(context, node.args[-1], depth)
    if isinstance(node, ast.Name) and depth:
        given = context.flow.reaching(node)
        value = given[0].value if len(given) == 1 and given[0].kind == "assign" else None
        if value is not None:
            return _text(context, value, depth - 1)
    return _HOLE
