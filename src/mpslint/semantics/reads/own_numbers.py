"""Numbers that a module reads of its own parameters and buffers in each forward pass.

They lie where the module does, and change with a step of the optimizer at the most: what a forward
pass asks of them is known before it, and could be asked once, or stay on the device.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.loops.step_calls import called_by_name
from mpslint.semantics.reads.number_reads import read_tensor
from mpslint.semantics.steps.steps import Step
from mpslint.semantics.syntax.index import FunctionNode
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.terms.value_tables import REDUCTIONS
from mpslint.semantics.uses.own_attributes import is_stored_outside_init
from mpslint.semantics.values.placement import has_host_copy

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_CALLS_FOLLOWED = 2
_CASTS = frozenset({"to", "type_as", "type", "float", "half"})
_PARTS = ("data", "grad", "T")
_PARAMETERS = ("torch.nn.Parameter", "torch.nn.parameter.Parameter")


def own_numbers(context: Context) -> Iterator[Step]:
    """Reads of such numbers, outside loops as well."""
    if b"forward" not in context.source.data:
        return
    for name in ("item", "float", "int"):
        for call in context.index.calls.get(name, ()):
            tensor = call.args[0] if name == "int" and len(call.args) == 1 else None
            if name != "int":
                tensor = read_tensor(call)
            elif not isinstance(call.func, ast.Name) or call.keywords:
                continue
            if tensor is None or has_host_copy(tensor) or _is_number(tensor):
                continue
            if own_of(context, tensor) is None:
                continue
            function = context.passes.around(call)
            if function is None or hangs_on_numbers(context, call):
                continue
            if is_led_to(context, function):
                yield Step(call, tensor, function)


def is_led_to(context: Context, function: FunctionNode, calls: int = _CALLS_FOLLOWED) -> bool:
    """Whether a forward pass comes to `function` without asking for more than its settings: what it
    calls where numbers of a tensor are too large is no part of each."""
    if function.name == "forward":
        return True
    return bool(calls) and any(
        (caller := context.index.function(call)) is not None
        and is_led_to(context, caller, calls - 1)
        and not hangs_on_numbers(context, call)
        for call in called_by_name(context, function)
    )


def own_of(context: Context, tensor: ast.expr) -> ast.Attribute | None:
    """The parameter or buffer of the module around of which a tensor is made."""
    own = _root(context, tensor)
    return own if own is not None and _moves_along(context, own) else None


def is_own_vector(context: Context, node: ast.expr) -> bool:
    """`self.mask_token` and `self.mask_token.to(x.dtype)`, a parameter of the module of more than
    one number."""
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr not in _CASTS:
            return False
        node = node.func.value
    own = own_of(context, node) if isinstance(node, ast.Attribute) else None
    return own is node and any(
        isinstance(use.ctx, ast.Store)
        and isinstance(given := context.index.parents[use], ast.Assign)
        and isinstance(given.value, ast.Call)
        and any(map(_is_of_many, given.value.args))
        for use in context.index.attributes.get(node.attr, ())
    )


def _is_of_many(made: ast.expr) -> bool:
    """`torch.zeros(1, 1, dim)`, `torch.FloatTensor(512).uniform_()`: not of the one size 1."""
    while isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute):
        if any(not isinstance(n, ast.Constant) or n.value != 1 for n in made.args):
            return True
        made = made.func.value
    return False


def hangs_on_numbers(context: Context, node: ast.AST) -> bool:
    """Whether a test that decides on `node` asks for numbers of a tensor."""
    return any(
        isinstance(parent, ast.If) and _asks_for_numbers(context, parent.test)
        for parent in context.index.ancestors(node)
    )


def _asks_for_numbers(context: Context, test: ast.expr) -> bool:
    """`x.max() > 2`; and `self.training`, whether something is there yet, and what is drawn by
    lot (`random.random() < 0.01`)."""
    if any(
        (context.resolve(item.func) or "").startswith(("random.", "numpy.random."))
        for item in ast.walk(test)
        if isinstance(item, ast.Call)
    ):
        return True
    return context.values.of(test).kind is Kind.TENSOR or any(
        isinstance(item, ast.Attribute)
        and (
            item.attr in REDUCTIONS
            or item.attr == "training"
            or is_stored_outside_init(context, item)
            or _is_buffer_of_some(context, item.attr)
        )
        for item in ast.walk(test)
    )


def _is_buffer_of_some(context: Context, name: str) -> bool:
    """Whether a class of the file, or what it builds on, has a buffer of this name."""
    return any(
        bool(call.args) and isinstance(call.args[0], ast.Constant) and call.args[0].value == name
        for call in context.index.calls.get("register_buffer", ())
    )


def _is_number(node: ast.expr) -> bool:
    """`t.item()` of `int(t.item())`, which is told by itself."""
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return called and node.func.attr in ("item", "size", "dim", "numel")  # type: ignore[attr-defined]


def _root(context: Context, node: ast.expr) -> ast.Attribute | None:
    """`self.scale` of `self.scale.exp()` and of `torch.sigmoid(self.scale)`."""
    while True:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return node if node.value.id == "self" else None
        if isinstance(node, ast.Attribute) and node.attr not in _PARTS:
            return None  # `self.weight.shape`
        if isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call):
            library = (context.resolve(node.func) or "").startswith("torch.")
            if library and node.args:
                node = node.args[0]
            elif isinstance(node.func, ast.Attribute):
                node = node.func.value
            else:
                return None
        else:
            return None


def _moves_along(context: Context, own: ast.Attribute) -> bool:
    """Whether the class keeps a parameter or a buffer under this name."""
    klass = context.index.enclosing(own, ast.ClassDef)
    if not isinstance(klass, ast.ClassDef) or not context.values.is_module_class(klass):
        return False
    for call in context.index.calls.get("register_buffer", ()):
        if call.args and isinstance(call.args[0], ast.Constant) and call.args[0].value == own.attr:
            if context.index.within(call, klass):
                return True
    return any(
        isinstance(use.ctx, ast.Store)
        and isinstance(given := context.index.parents[use], ast.Assign)
        and isinstance(given.value, ast.Call)
        and context.resolve(given.value.func) in _PARAMETERS
        for use in context.index.attributes.get(own.attr, ())
        if context.index.within(use, klass)
    )
