"""Models that only `DataParallel` moves: with one GPU it takes there what it wraps, and without
CUDA it leaves that on the CPU."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FUNCTIONS, walk
from mpslint.semantics.syntax.parameters import positional_names

_WRAPPER = "DataParallel"
_TORCH = "torch."
"""Its functions move no model that they are given: `torch.save(model, path)`."""
_MOVES = frozenset({"to", "cuda"})
_MODULES = frozenset({"nn", "torch.nn"})
_LOOKING = frozenset({"print", "len", "isinstance", "type", "hasattr", "id", "repr", "str"})
"""Builtins that move nothing."""


class Wrapped:
    """The wrappings of models that a file makes, of classes that stay where they are made."""

    def __init__(self, tree: ast.Module, stays: Callable[[str, str], bool]) -> None:
        """`stays`: whether a class of another module, by the name of that and its own, never moves
        itself."""
        nodes = list(walk(tree))
        self._calls = [node for node in nodes if isinstance(node, ast.Call)]
        self.found: list[tuple[str, ast.Call]] = []
        """Each with the name that it gets."""
        if not any(last_name(call.func) == _WRAPPER for call in self._calls):
            return
        self._classes = {
            node.name: stays_there(node) for node in nodes if isinstance(node, ast.ClassDef)
        }
        self._imported = {
            alias.asname or alias.name: ("." * node.level + (node.module or ""), alias.name)
            for node in nodes
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        self._stays_elsewhere = stays
        self._functions = {node.name: node for node in tree.body if isinstance(node, FUNCTIONS)}
        self._elsewhere = self._given_away()
        self._made: dict[str, list[ast.expr]] = {}
        for node in nodes:
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self._made.setdefault(target.id, []).extend(_ways(node.value))
        for name, values in self._made.items():
            if name in self._elsewhere:
                continue
            for value in values:
                if isinstance(value, ast.Call) and _wraps(value) and value.args:
                    if self._stays(value.args[0]):
                        self.found.append((name, value))

    def is_called(self, name: str) -> bool:
        """Whether a model is given inputs, under this name or that of a parameter for it."""
        names = {name}
        for call in self._calls:
            names.update(
                parameter for parameter, given in self._handed(call) if {name} == {*_names(given)}
            )
        return any(
            isinstance(call.func, ast.Name) and call.func.id in names and call.args
            for call in self._calls
        )

    def _stays(self, model: ast.expr, *, named: bool = True) -> bool:
        """Whether a model is as its class made it, on the CPU."""
        if isinstance(model, ast.Name):
            values = [one for one in self._made.get(model.id, ()) if not _wraps(one)]
            return (
                named
                and model.id not in self._elsewhere
                and bool(values)
                and all(self._stays(one, named=False) for one in values)
            )
        if not isinstance(model, ast.Call) or any(
            k.arg in ("device", None) for k in model.keywords
        ):
            return False
        holder, _, last = ast.unparse(model.func).rpartition(".")
        if holder:
            return holder in _MODULES and last[:1].isupper() and self._stay_inside(model)
        if last in self._classes:
            return self._classes[last]
        return last in self._imported and self._stays_elsewhere(*self._imported[last])

    def _stay_inside(self, model: ast.Call) -> bool:
        """Whether what a module of torch is given moves nothing: `nn.Sequential(first, second)`."""
        given = (*model.args, *(item.value for item in model.keywords))
        calls = [part for one in given for part in ast.walk(one) if isinstance(part, ast.Call)]
        return all(self._stays(call, named=False) for call in calls)

    def _given_away(self) -> set[str]:
        """The names of what a call moves, or may move since it is handed to it."""
        found: set[str] = set()
        for call in self._calls:
            found.update(self._moved(call))
        more = True
        while more:  # A function of the file moves what it is given, or hands it on.
            handed = {
                name
                for call in self._calls
                for parameter, given in self._handed(call)
                if parameter in found
                for name in _names(given)
            }
            more = not handed <= found
            found |= handed
        return found

    def _moved(self, call: ast.Call) -> Iterator[str]:
        if _moves(call):
            assert isinstance(call.func, ast.Attribute)
            yield from _names(call.func.value)
        if last_name(call.func) == _WRAPPER or ast.unparse(call.func).startswith(_TORCH):
            return
        if isinstance(call.func, ast.Name) and call.func.id in _LOOKING:
            return
        if isinstance(call.func, ast.Name) and self._parameters(call) is not None:
            return
        for given in (*call.args, *(item.value for item in call.keywords)):
            if isinstance(given, ast.Name | ast.List | ast.Tuple | ast.Dict):
                yield from _names(given)

    def _handed(self, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
        """What a call gives to a function of the file, by its parameters."""
        parameters = self._parameters(call)
        if parameters is not None:
            yield from zip(parameters, call.args, strict=False)
            for item in call.keywords:
                if item.arg is not None:
                    yield item.arg, item.value

    def _parameters(self, call: ast.Call) -> list[str] | None:
        """The parameters of the function of the file that a call runs; None where it is another, or
        takes what is not seen."""
        function = self._functions.get(call.func.id) if isinstance(call.func, ast.Name) else None
        if function is None or any(isinstance(item, ast.Starred) for item in call.args):
            return None
        arguments = function.args
        if arguments.vararg or arguments.kwarg or any(k.arg is None for k in call.keywords):
            return None
        return positional_names(arguments)


def moved_by_wrapper(
    tree: ast.Module, stays: Callable[[str, str], bool] = lambda *_: False
) -> Iterator[ast.Call]:
    """The wrappings of models that the file makes, and moves nowhere else."""
    for _, call in Wrapped(tree, stays).found:
        yield call


def stays_there(node: ast.ClassDef) -> bool:
    """Whether a class moves nothing itself."""
    return not any(map(_moves, ast.walk(node)))


def _ways(value: ast.expr) -> list[ast.expr]:
    return [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]


def _wraps(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == _WRAPPER


def _moves(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _MOVES
    )


def _names(node: ast.AST) -> Iterator[str]:
    return (one.id for one in ast.walk(node) if isinstance(one, ast.Name))
