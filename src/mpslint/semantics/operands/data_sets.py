"""What data sets and data modules compute: on samples, which lie on the CPU until a loop, or a
trainer, moves a batch of them.

A data set that moves something itself, and what somebody else may hand one of its methods, is
another matter.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.names.bases import inherits
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode
from mpslint.semantics.syntax.methods import method_of
from mpslint.semantics.syntax.parameters import explicit_parameters

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_SETS = ("torch.utils.data.", "torchvision.datasets.", "torch_geometric.data.")
_TRAINERS = frozenset({"lightning", "pytorch_lightning"})
_OF_TRAINERS = "LightningDataModule"
_BEHIND_THE_MOVE = frozenset({"transfer_batch_to_device", "on_after_batch_transfer"})
# Fact: lightning/pytorch/core/hooks.py, `DataHooks`: the batch is on the device there.
_OF_SAMPLES = frozenset({"__init__", "__getitem__", "__getitems__", "__iter__", "__next__"})
"""Methods that are given paths, numbers of samples, or what was read from files."""
_MOVING = ("to", "cuda", "mps")
_PLAIN = frozenset({"int", "str", "float", "bool"})
_CALLERS = 3
_NAMES = 6


def is_of_data_set(context: Context, node: ast.AST) -> bool:
    """Whether `node` stands in a class of data sets, or of what makes their loaders, which moves
    nothing, and computes with nothing that others may have handed to it."""
    klass = context.index.enclosing(node, ast.ClassDef)
    function = context.index.function(node)
    if klass is None or function is None or not is_data_class(context, klass):
        return False
    if function.name in _BEHIND_THE_MOVE or _moves(context, klass):
        return False
    call = context.index.parents[node]
    if isinstance(call, ast.Call) and call.func is node:
        node = call  # What a function is used with says where that computes.
    return not _comes_by_parameter(context, node, _NAMES) or _only_it_calls(
        context, klass, _method_around(context, function, klass), _CALLERS
    )


def is_data_class(context: Context, klass: ast.ClassDef) -> bool:
    """Whether objects of a class hold data, by what it inherits from."""
    known: dict[ast.ClassDef, bool]
    known = context.memo.setdefault("data sets", {})  # type: ignore[assignment]
    if klass not in known:
        is_model = method_of(klass, "forward") is not None
        known[klass] = not is_model and inherits(context, klass, _is_of_data)
    return known[klass]


def _is_of_data(name: str) -> bool | None:
    package, _, last = name.rpartition(".")
    if package.partition(".")[0] in _TRAINERS:
        return last == _OF_TRAINERS
    if name.startswith(_SETS):
        return "Dataset" in last or name.startswith(_SETS[1])
    return None


def _moves(context: Context, klass: ast.ClassDef) -> bool:
    """Whether a class moves, or makes, anything anywhere, but to the CPU."""
    index = context.index
    for name in _MOVING:
        for call in index.calls.get(name, ()):
            if isinstance(call.func, ast.Attribute) and index.within(call, klass):
                given = call.args[0] if call.args else keyword(call, "device")
                is_cast = given is not None and context.resolve(given) is not None
                is_cpu = isinstance(given, ast.Constant) and given.value == "cpu"
                if not is_cpu and not is_cast:
                    return True
    return any(
        item.arg in ("device", "map_location")
        and index.within(item, klass)
        and not (isinstance(item.value, ast.Constant) and item.value.value in ("cpu", None))
        for item in index.of(ast.keyword)
    )


def _method_around(context: Context, function: FunctionNode, klass: ast.ClassDef) -> FunctionNode:
    """The method of a class in which a function, be it one of its own, stands."""
    for parent in (function, *context.index.ancestors(function)):
        if isinstance(parent, FUNCTIONS) and context.index.parents[parent] is klass:
            return parent
    return function


def _comes_by_parameter(context: Context, node: ast.AST, names: int) -> bool:
    """Whether what is computed with is made of what a function is given, and may be a tensor."""
    for item in ast.walk(node):
        if not isinstance(item, ast.Name) or not isinstance(item.ctx, ast.Load):
            continue
        for binding in context.flow.reaching(item):
            if binding.kind == "parameter":
                if item.id not in ("self", "cls") and not _is_plain(binding.node):
                    return True
            elif binding.value is not None and names:
                if _comes_by_parameter(context, binding.value, names - 1):
                    return True
    return False


def _is_plain(parameter: ast.AST) -> bool:
    annotation = getattr(parameter, "annotation", None)
    return isinstance(annotation, ast.Name) and annotation.id in _PLAIN


def _only_it_calls(
    context: Context, klass: ast.ClassDef, method: FunctionNode, callers: int
) -> bool:
    """Whether a method is called by loaders, or by methods of such objects alone."""
    if method.name in _OF_SAMPLES:
        return True
    if not callers or method.name.startswith("__"):
        return False
    if not explicit_parameters(method.args):
        return True
    for use in context.index.attributes.get(method.name, ()):
        around = context.index.enclosing(use, ast.ClassDef)
        function = context.index.function(use)
        if not _is_own(use) or around is None or function is None:
            return False
        if not is_data_class(context, around):
            return False
        caller = _method_around(context, function, around)
        if caller is not method and not _only_it_calls(context, around, caller, callers - 1):
            return False
    if context.elsewhere is None:
        return True
    name = f"{klass.name}.{method.name}"
    calls = context.elsewhere.calls(context.source.path, name)
    return all(call is not None and _is_own(call.func) for call in calls)


def _is_own(use: ast.expr) -> bool:
    """`self.add_noise`"""
    return (
        isinstance(use, ast.Attribute)
        and isinstance(use.value, ast.Name)
        and use.value.id in ("self", "cls")
    )
