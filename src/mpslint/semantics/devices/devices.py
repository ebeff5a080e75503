"""Device literals, the places that expect a device, and the device names at hand.

A string is a device only where a device is expected: `"cuda"` in a log text, a dictionary key
or a comparison is not.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from mpslint.facts.priors import names_device
from mpslint.records import NamedTuple
from mpslint.semantics.devices.devices_at_hand import DeviceName, DevicesAtHand
from mpslint.semantics.devices.gpu_numbers import Literal as Literal
from mpslint.semantics.devices.gpu_numbers import read, written_out
from mpslint.semantics.devices.result_devices import ResultDevices
from mpslint.semantics.names.flow import Flow
from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FUNCTIONS, Index
from mpslint.semantics.syntax.methods import method_of
from mpslint.semantics.syntax.parameters import defaults_of, positional_parameters
from mpslint.semantics.values.values import FACTORIES, LIKE_FACTORIES, Kind, Values

_DEVICE_METHODS = frozenset(
    ["to", "to_empty", "new_tensor", "new_zeros", "new_ones", "new_full", "new_empty"]
)
_DEVICE_FUNCTIONS = frozenset(
    {
        "torch.device",
        "torch.Generator",
        "torch.set_default_device",
        "torch.get_device_module",
        "torch.Event",
        "torch.Stream",
        "torch.accelerator.set_device",
    }
)
AUTOCAST = frozenset(
    {
        "torch.autocast",
        "torch.amp.GradScaler",
        "torch.amp.custom_fwd",
        "torch.amp.custom_bwd",
        "torch.is_autocast_enabled",
        "torch.get_autocast_dtype",
    }
)
_LOADERS = frozenset({"torch.load", "torch.jit.load", "torch.hub.load_state_dict_from_url"})


class Slot(NamedTuple):
    """Why a device is expected at a place."""

    kind: str
    """factory, argument, to, device, generator, default-device, parameter, option, field,
    assignment, return, item, map-location or autocast."""
    node: ast.AST


class Devices:
    def __init__(
        self,
        index: Index,
        names: Names,
        flow: Flow,
        values: Values,
        definition: Callable[[str], ast.AST | None] = lambda _: None,
    ) -> None:
        """`definition` finds what an imported name is in the project."""
        self._index = index
        self._names = names
        self._flow = flow
        self._values = values
        self._definition = definition
        self._named = DevicesAtHand(index, names, flow, values)
        self._literals: list[Literal] | None = None

    @property
    def results(self) -> ResultDevices:
        return self._named.results

    # literals

    @property
    def literals(self) -> list[Literal]:
        """Every written-out cuda or mps device of the file, slot or not, in source order."""
        if self._literals is None:
            strings = (read(self._index, self._names, node) for node in self._index.strings)
            self._literals = [*filter(None, strings), *self._indices()]
        return self._literals

    def _indices(self) -> Iterator[Literal]:
        """Integers in the place of a device: `.to(0)`, `device=0`, `device = 0`."""
        for call in self._index.calls.get("to", ()):
            if call.args and (literal := _index(call.args[0])):
                if self._values.of(call.func.value).kind in (Kind.TENSOR, Kind.MODULE):  # type: ignore[attr-defined]
                    yield literal
        for call in self._index.of(ast.Call):
            for keyword in call.keywords:
                if keyword.arg == "device" and (literal := _index(keyword.value)):
                    if self._is_factory(self._names.resolve(call.func)):
                        yield literal
        for name in self._index.names.get("device", ()):
            statement = self._index.parents[name]
            if isinstance(statement, ast.Assign) and (literal := _index(statement.value)):
                if self._used_as_device(name, "argument"):
                    yield literal

    # slots

    def slot(self, node: ast.expr) -> Slot | None:
        """The device slot that `node` stands in, None where it is just a string."""
        parent = self._index.parents[node]
        if isinstance(parent, ast.IfExp) and node is not parent.test:
            return self.slot(parent)
        if isinstance(parent, ast.BoolOp):
            return self.slot(parent)
        if isinstance(parent, ast.NamedExpr):
            return self._target(parent.target, parent) or self.slot(parent)
        if isinstance(parent, ast.keyword):
            return self._keyword(parent)
        if isinstance(parent, ast.Call):
            return self._argument(parent, node)
        if isinstance(parent, ast.Assign):
            for target in parent.targets:
                slot = self._target(target, parent)
                if slot:
                    return slot
            return None
        if isinstance(parent, ast.AnnAssign):
            return self._target(parent.target, parent)
        if isinstance(parent, ast.arguments):
            return self._parameter(parent, node)
        if isinstance(parent, ast.Return):
            return self._return(parent)
        if isinstance(parent, ast.Dict):
            return self._item(parent, node)
        if isinstance(parent, ast.Tuple):
            return self._element(parent, node)
        return None

    def _keyword(self, keyword: ast.keyword) -> Slot | None:
        call = self._index.parents[keyword]
        if not isinstance(call, ast.Call):
            return None
        name = self._names.resolve(call.func)
        if keyword.arg == "map_location":
            return Slot("map-location", call)
        if keyword.arg == "device_type" and (
            name in AUTOCAST or last_name(call.func) == "autocast"
        ):
            return Slot("autocast", call)
        if keyword.arg == "type" and name == "torch.device":
            return None if self._compared(call) else Slot("device", call)
        if keyword.arg == "default":
            return self._option(call)
        if name == "torch.amp.GradScaler" and keyword.arg == "device":
            return Slot("autocast", call)
        if keyword.arg in (
            "device",
            "target_device",
            "device_map",
            "map_device",
            "torch_device",
            "execution_device",
        ):
            if last_name(call.func) in ("print", "Namespace"):
                return None
            if isinstance(call.func, ast.Attribute) and call.func.attr in _DEVICE_METHODS:
                return Slot("to", call)
            return Slot("factory" if self._is_factory(name) else "argument", call)
        return None

    def _is_factory(self, name: str | None) -> bool:
        return (
            bool(name)
            and name is not None
            and name.startswith("torch.")
            and name.rsplit(".", 1)[-1] in (FACTORIES | LIKE_FACTORIES)
        )

    def _argument(self, call: ast.Call, node: ast.expr) -> Slot | None:
        if node not in call.args:
            return None
        position = call.args.index(node)
        name = self._names.resolve(call.func)
        last = last_name(call.func)
        if name in AUTOCAST or (
            last in ("autocast", "GradScaler")
            and position == 0
            and name
            and name.startswith("torch")
        ):
            return Slot("autocast", call) if position == 0 else None
        if name in _DEVICE_FUNCTIONS:
            return Slot("device", call) if position == 0 and not self._compared(call) else None
        if name in _LOADERS and position == 1:
            return Slot("map-location", call)
        if isinstance(call.func, ast.Attribute) and last in _DEVICE_METHODS and position == 0:
            if name is None or not name.startswith("torch."):
                return Slot("to", call)
        if last in ("setdefault", "get", "getattr", "pop") and position >= 1:
            key = call.args[position - 1]
            if (
                isinstance(key, ast.Constant)
                and isinstance(key.value, str)
                and names_device(key.value)
            ):
                return Slot("item", call)
        return self._local_parameter(call, position)

    def _compared(self, call: ast.Call) -> bool:
        """`x.device == torch.device("cuda")`: nothing is made or moved there."""
        parent = self._index.parents[call]
        while isinstance(parent, ast.Tuple | ast.List | ast.Set):
            parent = self._index.parents[parent]
        return isinstance(parent, ast.Compare)

    def _local_parameter(self, call: ast.Call, position: int) -> Slot | None:
        """An argument of a function of this file, or of its project, whose parameter is called
        `device`."""
        function = self._called(call)
        skip = 0
        if isinstance(function, ast.ClassDef):
            function = method_of(function, "__init__")
            skip = 1
        if not isinstance(function, FUNCTIONS):
            return None
        parameters = positional_parameters(function.args)[skip:]
        if position < len(parameters) and names_device(parameters[position].arg):
            return Slot("argument", call)
        return None

    def _called(self, call: ast.Call) -> ast.AST | None:
        is_name = isinstance(call.func, ast.Name)
        bindings = self._names.bindings(call.func.id, call.func) if is_name else []  # type: ignore[attr-defined]
        if len(bindings) == 1 and bindings[0].kind != "import":
            return bindings[0].node
        name = self._names.resolve(call.func) if len(bindings) == is_name else None
        return self._definition(name) if name is not None else None

    def _option(self, call: ast.Call) -> Slot | None:
        """`add_argument("--device", default=...)`, `click.option`, `typer.Option`, `field`."""
        words = [
            argument.value
            for argument in call.args
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
        ]
        if any(_is_device_option(word) for word in words):
            return Slot("option", call)
        if last_name(call.func) in ("field", "Field", "Option", "Argument"):
            statement = self._index.parents[call]
            if isinstance(statement, ast.AnnAssign):
                return self._target(statement.target, statement)
        return None

    def _target(self, target: ast.expr, statement: ast.AST) -> Slot | None:
        name = last_name(target)
        if isinstance(target, ast.Subscript):
            key = target.slice
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                return Slot("item", statement) if names_device(key.value) else None
            return None
        if name is None:
            return None
        if names_device(name):
            in_class = isinstance(self._index.parents.get(statement), ast.ClassDef)
            return Slot("field" if in_class else "assignment", statement)
        if isinstance(target, ast.Name) and self._used_as_device(target):
            return Slot("assignment", statement)
        return None

    def _used_as_device(self, target: ast.Name, *more: str) -> bool:
        """Whether a name is read in a device slot that leaves no doubt (or is of kind `more`)."""
        scope = self._names.owner(target.id, target)
        for use in self._index.names.get(target.id, ()):
            if isinstance(use.ctx, ast.Load) and self._names.owner(use.id, use) is scope:
                parent = self._index.parents[use]
                if isinstance(parent, ast.keyword | ast.Call):
                    slot = self.slot(use)
                    if slot is not None and slot.kind in (
                        "factory",
                        "to",
                        "device",
                        "map-location",
                        *more,
                    ):
                        return True
        return False

    def _parameter(self, arguments: ast.arguments, default: ast.expr) -> Slot | None:
        for parameter, value in defaults_of(arguments):
            if value is default and names_device(parameter.arg):
                return Slot("parameter", parameter)
        return None

    def _return(self, statement: ast.Return) -> Slot | None:
        function = self._index.function(statement)
        if function is not None and names_device(function.name):
            return Slot("return", statement)
        return None

    def _item(self, mapping: ast.Dict, node: ast.expr) -> Slot | None:
        for key, value in zip(mapping.keys, mapping.values, strict=True):
            if value is node and isinstance(key, ast.Constant) and isinstance(key.value, str):
                return Slot("item", mapping) if names_device(key.value) else None
        return None

    def _element(self, tuple_: ast.Tuple, node: ast.expr) -> Slot | None:
        parent = self._index.parents[tuple_]
        if isinstance(parent, ast.Assign):
            for target in parent.targets:
                if isinstance(target, ast.Tuple) and len(target.elts) == len(tuple_.elts):
                    place = target.elts[tuple_.elts.index(node)]
                    return self._target(place, parent)
        return None

    def at_hand(self, node: ast.AST) -> DeviceName | None:
        """A name or attribute that surely holds a selected device where `node` runs."""
        return self._named.at_hand(node)


def _is_device_option(word: str) -> bool:
    """`--device`, `-dev`, `--model-device`"""
    return word.startswith("-") and names_device(word.lstrip("-").replace("-", "_"))


def _index(node: ast.expr) -> Literal | None:
    """An integer as a device: the index of a GPU, which is CUDA's wherever there is CUDA."""
    number = written_out(node)
    return Literal(node, "cuda", number) if number is not None and 0 <= number < 16 else None
