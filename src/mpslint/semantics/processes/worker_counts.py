"""How many worker processes a `DataLoader` is given: none, some, or nobody knows."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.names.assigned import Assigned
from mpslint.semantics.names.unpacked import bound_part
from mpslint.semantics.syntax.options import options
from mpslint.semantics.syntax.parameters import given_for
from mpslint.semantics.worlds.machines import MAC

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mpslint.semantics.context import Context
    from mpslint.semantics.names.names import Binding
    from mpslint.semantics.processes.main_module import MainModule

LOADERS = frozenset(
    {
        "torch.utils.data.DataLoader",
        "torch_geometric.loader.DataLoader",
        "torch_geometric.data.DataLoader",
        "monai.data.DataLoader",
    }
)
"""Classes that start a process for each of their `num_workers`."""
_PLACE = 5
"""Where `DataLoader` takes them, if not by name."""
_CORES = frozenset(
    {"os.cpu_count", "multiprocessing.cpu_count", "torch.multiprocessing.cpu_count"}
    | {"psutil.cpu_count", "os.process_cpu_count"}
)
_DEPTH = 8


class WorkerCounts:
    """The worker processes of loaders, in a program or in a file by itself."""

    def __init__(self, context: Context, program: MainModule | None = None) -> None:
        self._context = context
        self._program = program
        self._assigned: dict[int, Assigned] = {}

    def starts_some(self, context: Context, loader: ast.Call) -> bool:
        """Whether a loader surely has worker processes on a Mac, unless a user says otherwise."""
        given = _given(loader)
        if given is not None:
            return self._some(context, given, _DEPTH) is True
        for keyword in loader.keywords:
            if keyword.arg is None and self._in_mapping(context, keyword.value, _DEPTH):
                return True
        return False

    def _in_mapping(self, context: Context, node: ast.expr, depth: int) -> bool:
        """Whether what is handed on as `**kwargs` has workers in it, on the way of a Mac."""
        if depth == 0:
            return False
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "num_workers":
                    return self._some(context, value, depth - 1) is True
        elif isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id == "dict":
                given = _given(node)
                return given is not None and self._some(context, given, depth - 1) is True
        elif isinstance(node, ast.IfExp):
            arms = _open(context, (node.body, node.orelse))
            return self._in_each(context, arms, depth)
        elif isinstance(node, ast.Name):
            bindings = context.flow.reaching(node)
            ways = [bound_part(one, node.id) for one in bindings if _open(context, (one.node,))]
            return self._in_each(context, ways, depth)
        return False

    def _in_each(self, context: Context, ways: Sequence[ast.expr | None], depth: int) -> bool:
        """Of several ways nobody knows which a Mac takes."""
        return bool(ways) and all(
            way is not None and self._in_mapping(context, way, depth - 1) for way in ways
        )

    def _some(self, context: Context, node: ast.expr, depth: int) -> bool | None:
        """Whether a number is more than none; None: not known."""
        if depth == 0:
            return None
        if isinstance(node, ast.Constant):
            return node.value > 0 if isinstance(node.value, int) else None
        if isinstance(node, ast.Call):
            return self._call(context, node, depth)
        if isinstance(node, ast.IfExp):
            arms = _open(context, (node.body, node.orelse))
            return self._all(context, arms, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Add | ast.FloorDiv):
            return self._all(context, (node.left, node.right), depth)
        if isinstance(node, ast.Name):
            return self._name(context, node, depth)
        if isinstance(node, ast.Attribute):
            return self._attribute(context, node, depth)
        return None

    def _call(self, context: Context, node: ast.Call, depth: int) -> bool | None:
        if context.resolve(node.func) in _CORES:
            return True
        if isinstance(node.func, ast.Name) and node.func.id in ("int", "min"):
            items = node.args
            if len(items) == 1 and isinstance(items[0], ast.List | ast.Tuple):
                items = items[0].elts
            return self._all(context, items, depth)
        return None

    def _all(self, context: Context, nodes: Iterable[ast.AST], depth: int) -> bool | None:
        found = {
            self._some(context, node, depth - 1) for node in nodes if isinstance(node, ast.expr)
        }
        return found.pop() if len(found) == 1 else None

    def _name(self, context: Context, node: ast.Name, depth: int) -> bool | None:
        found: set[bool | None] = set()
        for binding in context.flow.reaching(node):
            if binding.kind == "parameter":
                found.add(self._parameter(context, binding, depth))
            elif _open(context, (binding.node,)):
                part = bound_part(binding, node.id)
                found.add(None if part is None else self._some(context, part, depth - 1))
        return found.pop() if len(found) == 1 else None

    def _parameter(self, context: Context, binding: Binding, depth: int) -> bool | None:
        """What the calls that the program comes to give; where nobody knows them, the default."""
        function = context.index.function(binding.node)
        if function is None or not isinstance(binding.node, ast.arg):
            return None
        calls = self._program.calls_of.get(function, ()) if self._program is not None else ()
        default = binding.value
        found: set[bool | None] = set()
        for place in calls:
            assert isinstance(place.node, ast.Call)
            given = argument(context, place.node, function, binding.node)
            if given is not None:
                found.add(self._some(place.context, given, depth - 1))
            elif default is not None:
                found.add(self._some(context, default, depth - 1))
        if not calls and default is not None:
            return self._some(context, default, depth - 1)
        return found.pop() if len(found) == 1 else None

    def _attribute(self, context: Context, node: ast.Attribute, depth: int) -> bool | None:
        """An option of the program by its default, or what the file sets the attribute to."""
        assigned = self._assigned.setdefault(id(context), Assigned(context.index)).to(node)
        if assigned:
            return self._all(context, assigned, depth)
        found = self._in_class(context, node)
        if found is not None:
            return self._some(context, found, depth - 1)
        for where in self._program.contexts if self._program is not None else (context,):
            added = [*options(where.index, node.attr)]
            if len(added) == 1:
                named = {item.arg: item.value for item in added[0].keywords}
                return (
                    self._some(where, named["default"], depth - 1) if "default" in named else None
                )
        return None

    def _in_class(self, context: Context, node: ast.Attribute) -> ast.expr | None:
        """What a class of the file, whose name is written before the dot, has by this name."""
        if isinstance(node.value, ast.Name):
            for binding in context.names.bindings(node.value.id, node.value):
                if isinstance(binding.node, ast.ClassDef):
                    for item in binding.node.body:
                        if isinstance(item, ast.Assign) and any(
                            isinstance(target, ast.Name) and target.id == node.attr
                            for target in item.targets
                        ):
                            return item.value
        return None


def argument(
    context: Context, call: ast.Call, function: ast.AST, parameter: ast.arg
) -> ast.expr | None:
    """What a call gives a parameter; None where it leaves it out, or it cannot be told."""
    arguments = context.index.parents.get(parameter)
    if not isinstance(arguments, ast.arguments):
        return None
    is_method = isinstance(context.index.parents.get(function), ast.ClassDef)
    return given_for(arguments, call, parameter.arg, skipped=int(is_method))


def _given(loader: ast.Call) -> ast.expr | None:
    for keyword in loader.keywords:
        if keyword.arg == "num_workers":
            return keyword.value
    if len(loader.args) > _PLACE and not any(isinstance(x, ast.Starred) for x in loader.args):
        return loader.args[_PLACE]
    return None


def _open(context: Context, nodes: Iterable[ast.AST]) -> list[ast.expr]:
    """Those that a Mac comes to as the file is written: workers that come with CUDA are told when
    somebody has opened the choice to MPS."""
    return [node for node in nodes if context.worlds.comes_to(node) & MAC]  # type: ignore[misc]
