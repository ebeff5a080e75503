"""The name of a device, asked for, and the closed sets of names that it is looked up in."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mpslint.facts.priors import names_device
from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import keyword, last_name
from mpslint.semantics.syntax.options import options
from mpslint.semantics.terms.facts_known import BACKENDS, OTHER_DEVICES

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_CPU, _CUDA, _MPS = "cpu", "cuda", "mps"
_BACKENDS = frozenset({*BACKENDS, *OTHER_DEVICES, "hip", "gpu"})
"""What is the name of a device where it stands among others."""
_TYPED = "torch.cuda."
"""`"torch.cuda.FloatTensor"`, as `.type()` says of a tensor, beside `"torch.FloatTensor"`."""
_KEEPING = frozenset({"lower", "strip", "partition", "split"})
"""Methods of a text that leave the name of a device one."""
_OPTIONS = (ast.Attribute, ast.Subscript)
_SELF = "self"


class Subject(NamedTuple):
    """What is asked for its name."""

    is_typed: bool
    """Its `.type` is asked for: it is a device, and no text that a user chose."""
    node: ast.expr

    @property
    def text(self) -> str:
        return ast.unparse(self.node)

    @property
    def is_device(self) -> bool:
        return self.is_typed or names_device(last_name(self.node))


def backend_of(text: object) -> str | None:
    """The type of a device that a text names: `"cuda:0"`, `"torch.cuda.FloatTensor"`."""
    if not isinstance(text, str):
        return None
    if text.startswith("torch.") and text.endswith("Tensor"):
        return _CUDA if text.startswith(_TYPED) else "cpu"
    name = text.partition(":")[0].lower()
    return name if name in _BACKENDS else None


def is_closed(texts: Iterable[object]) -> bool:
    """Whether texts are names of devices and nothing else, CUDA's and the CPU's, and not MPS's:
    where the CPU is not named it is what goes the way of a third device today."""
    names = {backend_of(text) for text in texts}
    return {_CUDA, _CPU} <= names and not names & {None, _MPS}


def constants(node: ast.AST | None) -> list[object] | None:
    """What a collection that is written out holds, of a dict the keys; None: not only constants."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        if node.func.id in ("frozenset", "set", "tuple", "list"):
            node = node.args[0]
    items: list[ast.expr | None]
    if isinstance(node, ast.Dict):
        items = [*node.keys]
    elif isinstance(node, ast.Tuple | ast.List | ast.Set):
        items = [*node.elts]
    else:
        return None
    if not all(isinstance(item, ast.Constant) for item in items):
        return None
    return [item.value for item in items if isinstance(item, ast.Constant)]


def subject_of(node: ast.expr) -> Subject:
    """What an expression is about: `device` in `str(device).split(":")[0]`, in `device.type`."""
    is_typed = False
    while True:
        inner = _inside(node)
        if inner is None:
            return Subject(is_typed, node)
        is_typed |= isinstance(node, ast.Attribute) or _is_type_of_tensor(node)
        node = inner


def _inside(node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Attribute) and node.attr == "type":
        return node.value
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call):
        called = node.value.func
        if isinstance(called, ast.Attribute) and called.attr in _KEEPING:
            return called.value
    if isinstance(node, ast.Call):
        called = node.func
        if isinstance(called, ast.Attribute) and called.attr in _KEEPING:
            return called.value
        if isinstance(called, ast.Name) and called.id == "str" and len(node.args) == 1:
            return node.args[0]
        if _is_type_of_tensor(node) and isinstance(called, ast.Attribute):
            return called.value
    return None


def _is_type_of_tensor(node: ast.expr) -> bool:
    """`x.type()`"""
    if not isinstance(node, ast.Call) or node.args or node.keywords:
        return False
    return isinstance(node.func, ast.Attribute) and node.func.attr == "type"


def may_be_new(context: Context, subject: Subject) -> bool:
    """Whether another device may be asked for its name once a choice of the program asks for MPS:
    not what a user wrote (`args.device`), but where the program replaces it, or chooses it unless
    somebody does."""
    if subject.is_typed:
        return True
    node = subject.node
    if isinstance(node, ast.Name):
        bindings = context.names.bindings(node.id, node)
        values = [one.value for one in bindings if isinstance(one.value, _OPTIONS)]
        if not values or len(values) < len(bindings):
            return not isinstance(node.ctx, ast.Store)
        return any(may_be_new(context, Subject(False, value)) for value in values)
    if not isinstance(node, _OPTIONS):
        return True
    name = last_name(node) or _key(node)
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        if node.value.id == _SELF:
            return True
    return name is not None and (_is_stored(context, name) or _is_default(context, name))


def _key(node: ast.expr) -> str | None:
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return node.slice.value if isinstance(node.slice.value, str) else None
    return None


def _is_stored(context: Context, name: str) -> bool:
    """`args.device = torch.device(...)`, `cfg["device"] = ...`"""
    return any(
        isinstance(one.ctx, ast.Store) for one in context.index.attributes.get(name, ())
    ) or any(
        isinstance(one.ctx, ast.Store) and _key(one) == name
        for one in context.index.of(ast.Subscript)
    )


def _is_default(context: Context, name: str) -> bool:
    """Whether an option of the program is a choice of a device unless somebody says another."""
    for call in options(context.index, name):
        given = keyword(call, "default")
        if given is not None and not isinstance(given, ast.Constant):
            return True
        if isinstance(given, ast.Constant) and backend_of(given.value) == _CUDA:
            return True
    return False
