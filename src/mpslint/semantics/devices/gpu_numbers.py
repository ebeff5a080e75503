"""The number of the GPU that a device names, however it is given: in its text (`"cuda:1"`,
`f"cuda:{rank}"`), or beside its type (`torch.device("cuda", 1)`, `torch.device(type="cuda",
index=rank)`).
"""

from __future__ import annotations

import ast

from mpslint.records import NamedTuple
from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.index import Index
from mpslint.semantics.terms.device_text import FORMAT, LITERAL, PREFIX

_DEVICE = "torch.device"
_TYPE, _INDEX = "type", "index"


class Literal(NamedTuple):
    """A device written out: `"cuda"`, `"cuda:1"`, `f"cuda:{rank}"`."""

    node: ast.expr
    backend: str
    ordinal: int | None
    """The GPU it names; None where it names none."""
    number: ast.expr | None = None
    """What works out the number of the GPU; None where that is written out, or not said."""

    @property
    def computed_index(self) -> bool:
        return self.number is not None


def read(index: Index, names: Names, node: ast.Constant) -> Literal | None:
    """The device that a string is, or begins, with the number that it is given beside it."""
    literal = _in_text(index, node)
    made = device_made(index, names, literal.node) if literal is not None else None
    number = number_beside(names, made) if made is not None else None
    if literal is None or number is None or literal.ordinal is not None or literal.number:
        return literal
    written = written_out(number)
    if written is not None:
        return literal._replace(ordinal=written)
    return literal._replace(number=number)


def written(index: Index, names: Names, value: ast.expr) -> list[Literal]:
    """The devices that are written out in a value."""
    strings = (one for one in ast.walk(value) if isinstance(one, ast.Constant))
    return [
        literal
        for one in strings
        if isinstance(one.value, str) and (literal := read(index, names, one)) is not None
    ]


def _in_text(index: Index, node: ast.Constant) -> Literal | None:
    text = str(node.value)
    match = LITERAL.match(text)
    parent = index.parents[node]
    if match:
        ordinal = int(match.group(2)) if match.group(2) else None
        if isinstance(parent, ast.JoinedStr):  # `f"cuda"` holds nothing else
            whole = len(parent.values) == 1
            return Literal(parent, match.group(1), ordinal) if whole else None
        return Literal(node, match.group(1), ordinal)
    prefix = PREFIX.match(text)
    if prefix and isinstance(parent, ast.JoinedStr) and parent.values[0] is node:
        return Literal(parent, prefix.group(1), None, _formatted(parent))
    if prefix and isinstance(parent, ast.BinOp) and parent.left is node:
        return Literal(parent, prefix.group(1), None, _as_number(parent.right))
    template = FORMAT.match(text)
    if template:
        if isinstance(parent, ast.BinOp) and isinstance(parent.op, ast.Mod):
            return Literal(parent, template.group(1), None, _only(parent.right))
        if isinstance(parent, ast.Attribute) and parent.attr == "format":
            call = index.parents[parent]
            if isinstance(call, ast.Call):
                given = [*call.args, *(one.value for one in call.keywords)]
                number = given[0] if len(given) == 1 else call
                return Literal(call, template.group(1), None, number)
    return None


def _formatted(text: ast.JoinedStr) -> ast.expr:
    part = text.values[1] if len(text.values) == 2 else None
    return part.value if isinstance(part, ast.FormattedValue) and not part.format_spec else text


def _only(given: ast.expr) -> ast.expr:
    """`rank` of `"cuda:%d" % (rank,)`."""
    return given.elts[0] if isinstance(given, ast.Tuple) and len(given.elts) == 1 else given


def _as_number(text: ast.expr) -> ast.expr:
    """`rank` of `str(rank)`."""
    if isinstance(text, ast.Call) and isinstance(text.func, ast.Name) and text.func.id == "str":
        return text.args[0] if len(text.args) == 1 and not text.keywords else text
    return text


def device_made(index: Index, names: Names, node: ast.AST) -> ast.Call | None:
    """The `torch.device(...)` of which `node` is the type, or one that is chosen for it."""
    parent = index.parents.get(node)
    while isinstance(parent, ast.IfExp) and node is not parent.test:
        node, parent = parent, index.parents.get(parent)
    if isinstance(parent, ast.keyword) and parent.arg == _TYPE:
        node, parent = parent, index.parents.get(parent)
    is_type = isinstance(parent, ast.Call) and (node in parent.args[:1] or node in parent.keywords)
    if not isinstance(parent, ast.Call) or not is_type:
        return None
    return parent if names.resolve(parent.func) == _DEVICE else None


def type_given(call: ast.Call) -> ast.expr | None:
    """What a `torch.device(...)` is given first: a type, a text, a device, or a number alone."""
    if call.args:
        return call.args[0]
    return next((one.value for one in call.keywords if one.arg in (_TYPE, "device")), None)


def number_beside(names: Names, call: ast.AST) -> ast.expr | None:
    """The number that a `torch.device(...)` is given beside the type."""
    if not isinstance(call, ast.Call) or names.resolve(call.func) != _DEVICE:
        return None
    given = [*call.args[1:], *(one.value for one in call.keywords if one.arg == _INDEX)]
    is_none = not given or (isinstance(given[0], ast.Constant) and given[0].value is None)
    return None if is_none else given[0]


def written_out(number: ast.expr) -> int | None:
    """A number that stands there as such."""
    if isinstance(number, ast.Constant) and type(number.value) is int:
        return number.value
    return None
