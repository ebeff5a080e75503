"""How a file is named, as far as the code shows: `"%s_net_%s.pth"`, whatever fills it; and by which
spellings the same file is meant (`path.as_posix()`, `folder / "model.pth"`).
"""

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
# Fact: methods of `pathlib.Path` and functions that give the same path in another form.
_SAME_PATH = frozenset({"absolute", "as_posix", "expanduser", "resolve"})
_OF_PATHS = frozenset({"str", "os.fspath", "pathlib.Path", "os.path.abspath", "os.path.expanduser"})
# Fact: POSIX, pathname resolution: slashes in a row are one; `https://` is no path.
_SEPARATORS = re.compile(r"(?<!:)/{2,}")


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


def spelling_of(context: Context, place: ast.expr, *, named: bool = False) -> str:
    """A path as one text, however it is put together: `folder / "a.pth"`, `f"{folder}/a.pth"` and
    `os.path.join(folder, "a.pth")` are the same. With `named`, names of written texts are these."""
    text = _SEPARATORS.sub("/", _spelled(context, place, named=named))
    return text.removeprefix("./")


def _spelled(context: Context, node: ast.expr, *, named: bool) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(_spelled(context, part, named=named) for part in node.values)
    if isinstance(node, ast.FormattedValue) and node.format_spec is None and node.conversion < 0:
        return _spelled(context, node.value, named=named)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Div):
        between = "/" if isinstance(node.op, ast.Div) else ""
        sides = (node.left, node.right)
        return between.join(_spelled(context, side, named=named) for side in sides)
    if isinstance(node, ast.Call):
        parts = _parts(context, node)
        if parts:
            return "/".join(_spelled(context, part, named=named) for part in parts)
    if named and isinstance(node, ast.Name) and (text := _text_of(context, node)) is not None:
        return text
    return f"{{{ast.unparse(node)}}}"


def _parts(context: Context, call: ast.Call) -> list[ast.expr]:
    """What a call makes a path of, one part below the other."""
    if call.keywords or any(isinstance(item, ast.Starred) for item in call.args):
        return []
    name = context.resolve(call.func) or last_name(call.func)
    if name in ("os.path.join", "pathlib.Path") or (name in _OF_PATHS and len(call.args) == 1):
        return call.args
    if isinstance(call.func, ast.Attribute):
        if call.func.attr == "joinpath":
            return [call.func.value, *call.args]
        if call.func.attr in _SAME_PATH and not call.args:
            return [call.func.value]
    return []


def _text_of(context: Context, name: ast.Name) -> str | None:
    """The text that a name is given where it is given no other."""
    given = context.flow.reaching(name)
    value = given[0].value if len(given) == 1 and given[0].kind == "assign" else None
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else None
