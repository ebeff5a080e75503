"""What calls return."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from mpslint.facts.machines import DEVICE_MAKERS, REARRANGING
from mpslint.facts.priors import matches
from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.expressions import asked_for_type, is_dtype, keyword, last_name
from mpslint.semantics.syntax.index import FUNCTIONS, Index
from mpslint.semantics.terms.value import (
    CPU_ONLY,
    FLAG,
    NDARRAY,
    NUMBER,
    OTHER,
    STRING,
    UNKNOWN,
    Kind,
    Value,
    join,
)
from mpslint.semantics.terms.value_tables import (
    FACTORIES,
    LAYOUT_METHODS,
    LIKE_FACTORIES,
    MODULE_METHODS,
    NEW_FACTORIES,
    NOT_TENSOR_FUNCTIONS,
    NUMBER_METHODS,
    PARAMETERLESS_MODULES,
    REDUCTIONS,
    TENSOR_ONLY,
)
from mpslint.semantics.values.modules import UsedModules
from mpslint.semantics.values.returns import Returns

if TYPE_CHECKING:
    from mpslint.semantics.values.values import Values

_OF_PARTS = frozenset({"sparse_coo_tensor"})
"""Factories whose tensor is where the tensors are that it is made of."""
_JOINING = frozenset({"cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack"})
"""Functions whose tensors all lie on one device, one without dimensions as well."""
_PLACED = (Kind.TENSOR, Kind.MODULE, Kind.UNKNOWN)


class CallValues:
    """Values of calls: torch and other libraries, methods, code of this file, builtins."""

    def __init__(self, values: Values, index: Index, names: Names) -> None:
        self._values = values
        self._index = index
        self._names = names
        self._returns = Returns(index, names)
        self._used = UsedModules(index, names)

    def library_call(self, node: ast.Call, name: str) -> Value | None:
        root, _, rest = name.partition(".")
        last = name.rsplit(".", 1)[-1]
        if root in ("numpy", "np") and root != "np":
            return NDARRAY if last not in ("float32", "float64", "int64", "isscalar") else NUMBER
        if root in (
            "pandas",
            "json",
            "math",
            "random",
            "os",
            "time",
            "re",
            "scipy",
            "sklearn",
            "cv2",
            "PIL",
        ):
            return (
                NDARRAY
                if root in ("scipy", "sklearn", "cv2")
                else (NUMBER if root in ("math", "random", "time") else OTHER)
            )
        if name in REARRANGING and node.args:
            given = self._values.of(node.args[0]).as_tensor
            return given if given.kind in (Kind.TENSOR, Kind.NDARRAY) else None
        if root != "torch":
            return None
        if name.removeprefix("torch.") in DEVICE_MAKERS:
            return self._device_call(node)
        if name in (
            "torch.cuda.is_available",
            "torch.backends.mps.is_available",
            "torch.accelerator.is_available",
            "torch.backends.mps.is_built",
            "torch.is_tensor",
        ):
            return FLAG
        if name in ("torch.cuda.device_count", "torch.cuda.current_device", "torch.numel"):
            return NUMBER
        if name == "torch.accelerator.current_accelerator":
            return Value(Kind.DEVICE, frozenset({"cuda", "mps", "cpu"}))
        if rest in FACTORIES:
            return self._factory(node)
        if rest in LIKE_FACTORIES:
            device = self._device_keyword(node)
            source = self._values.of(node.args[0]) if node.args else UNKNOWN
            return Value(Kind.TENSOR, device if device is not None else source.devices)
        if name in ("torch.from_numpy", "torch.frombuffer"):
            return Value(Kind.TENSOR, CPU_ONLY)
        if rest in (
            "Tensor",
            "FloatTensor",
            "LongTensor",
            "IntTensor",
            "DoubleTensor",
            "ByteTensor",
            "BoolTensor",
            "HalfTensor",
        ):
            return Value(Kind.TENSOR, CPU_ONLY)
        if name.startswith("torch.cuda.") and last.endswith("Tensor"):
            return Value(Kind.TENSOR, frozenset({"cuda"}))
        if name.startswith("torch.optim.lr_scheduler"):
            return OTHER
        if name.startswith("torch.optim.") and last[:1].isupper():
            return Value(Kind.OPTIMIZER)
        if last in ("GradScaler",):
            return Value(Kind.SCALER)
        if name.startswith("torch.utils.data."):
            return Value(Kind.STREAMED) if last == "DataLoader" else Value(Kind.DATASET)
        if name == "torch.autograd.Variable" and node.args:
            # It hands back the tensor that it is given, and raises for anything else.
            given = self._values.of(node.args[0])
            return given if given.kind is Kind.TENSOR else Value(Kind.TENSOR, given.devices)
        if name in ("torch.nn.Parameter", "torch.nn.parameter.Parameter"):
            source = self._values.of(node.args[0]) if node.args else UNKNOWN
            return Value(Kind.TENSOR, source.devices)
        if name.startswith("torch.nn.functional."):
            return self._computed(node, loss=True)
        if name in (
            "torch.nn.parallel.DistributedDataParallel",
            "torch.nn.DataParallel",
            "torch.compile",
            "torch.jit.script",
            "torch.jit.trace",
        ):
            return self._values.of(node.args[0]) if node.args else Value(Kind.MODULE)
        if name.startswith("torch.nn.utils.clip_grad"):
            return Value(Kind.TENSOR, None, computed=True)
        if name.startswith(("torch.nn.utils.", "torch.nn.init.")):
            return UNKNOWN
        if name.startswith("torch.nn.") and last[:1].isupper():
            devices = self._device_keyword(node)
            if devices is None and not _has_parameters(last):
                return Value(Kind.MODULE)
            return Value(Kind.MODULE, devices if devices is not None else CPU_ONLY)
        if name.startswith(("torch.linalg.", "torch.fft.", "torch.special.")):
            return self._computed(node)
        if name.startswith(("torch.distributions.",)):
            return UNKNOWN
        if "." not in rest and rest.islower() and rest not in NOT_TENSOR_FUNCTIONS:
            return self._computed(node)
        if name == "torch.load":
            return UNKNOWN
        return None

    def _device_call(self, node: ast.Call) -> Value:
        argument = (
            node.args[0]
            if node.args
            else next((k.value for k in node.keywords if k.arg in ("type", "device")), None)
        )
        inner = self._values.of(argument)
        if inner.kind in (Kind.DEVICE, Kind.DEVICE_STRING):
            return Value(Kind.DEVICE, inner.devices)
        if inner.kind is Kind.NUMBER:
            return Value(Kind.DEVICE, frozenset({"cuda"}))
        return Value(Kind.DEVICE)

    def _factory(self, node: ast.Call) -> Value:
        given = keyword(node, "device")
        if given is None:
            source = self._values.of(node.args[0]) if node.args else UNKNOWN
            name = last_name(node.func)
            if name == "as_tensor" and source.kind is not Kind.NDARRAY:
                return Value(Kind.TENSOR, source.devices if source.kind is Kind.TENSOR else None)
            if name in _OF_PARTS:
                parts = self._devices_of(_arguments(node)[:2])
                if parts is not None:
                    return Value(Kind.TENSOR, parts)
            ambient = self._ambient(node)
            return Value(Kind.TENSOR, ambient)
        return Value(Kind.TENSOR, self._values.device_types(given))

    def _ambient(self, node: ast.AST) -> frozenset[str] | None:
        """Where factories put tensors here: `with torch.device(...)`, `set_default_device`."""
        for parent in self._index.ancestors(node):
            if isinstance(parent, ast.With | ast.AsyncWith):
                for item in parent.items:
                    value = self._values.of(item.context_expr)
                    if value.kind is Kind.DEVICE:
                        return value.devices
        for name in ("set_default_device", "set_default_tensor_type"):
            for call in self._index.calls.get(name, ()):
                if call.args:
                    return self._values.of(call.args[0]).devices
        return CPU_ONLY

    def _device_keyword(self, node: ast.Call) -> frozenset[str] | None:
        given = keyword(node, "device")
        return self._values.device_types(given) if given is not None else None

    def _computed(self, node: ast.Call, loss: bool = False) -> Value:
        """Result of a kernel: where its tensor arguments are."""
        joins = last_name(node.func) in _JOINING
        devices = self._devices_of(_arguments(node), joins=joins)
        grads = any(self._values.of(arg).loss for arg in node.args)
        return Value(Kind.TENSOR, devices, loss=loss or grads, computed=True)

    def _devices_of(
        self, arguments: list[ast.expr], *, joins: bool = False
    ) -> frozenset[str] | None:
        """The devices of these; where tensors are joined, one of them says it for all."""
        known: set[str] = set()
        for argument in arguments:
            if isinstance(argument, ast.Starred):
                argument = argument.value
            items = argument.elts if isinstance(argument, ast.List | ast.Tuple) else [argument]
            for item in items:
                value = self._values.of(item)
                if value.kind is Kind.SEQUENCE:
                    value = self._values.element(item)
                if value.devices is not None and value.kind in _PLACED:
                    known |= value.devices
                elif value.kind in (Kind.TENSOR, Kind.MODULE) and not joins:
                    return None
        return frozenset(known) if known else None

    def method_call(self, node: ast.Call, function: ast.Attribute) -> Value | None:
        method = function.attr
        base = self._values.of(function.value)
        if method == "numpy":
            return NDARRAY
        if method == "item":
            return NUMBER
        if method == "tolist":
            return OTHER
        if method == "cpu":
            kind: Kind = base.kind if base.kind in (Kind.TENSOR, Kind.MODULE) else Kind.UNKNOWN
            return Value(kind, CPU_ONLY, loss=base.loss)
        if method == "cuda":
            kind = base.kind if base.kind in (Kind.TENSOR, Kind.MODULE) else Kind.UNKNOWN
            return Value(kind, frozenset({"cuda"}), loss=base.loss)
        if method == "to" and base.kind in (Kind.TENSOR, Kind.MODULE, Kind.UNKNOWN):
            return self._to(node, base)
        if base.kind is Kind.TENSOR:
            if method == "type" and (node.args or node.keywords):
                named = asked_for_type(node.args[0]) if node.args else None
                return base if named is None else self._where(base, named)
            if method == "type_as" and node.args:
                return self._where(base, node.args[0])._replace(computed=True)
            if method in NUMBER_METHODS:
                return NUMBER if method != "size" else OTHER
            if method in NEW_FACTORIES:
                given = self._device_keyword(node)
                return Value(Kind.TENSOR, given if given is not None else base.devices)
            return base._replace(
                loss=base.loss and method != "detach",
                computed=True,
                by_use=base.by_use and method not in TENSOR_ONLY,
            )
        if base.kind is Kind.MODULE:
            if method in MODULE_METHODS:
                return base
            if method in ("parameters", "named_parameters", "buffers", "children", "modules"):
                return Value(Kind.SEQUENCE, base.devices)
            if method in ("state_dict",):
                return OTHER
            klass_result = self._own_method(node, function)
            if klass_result is not None:
                return klass_result
            if method in ("forward", "generate", "sample", "encode", "decode"):
                return Value(Kind.TENSOR, base.devices, loss=method == "forward", computed=True)
            return UNKNOWN
        if base.kind is Kind.NDARRAY:
            return NDARRAY
        if base.kind is Kind.DEVICE and method == "type":
            return STRING
        if base.kind is Kind.STREAMED:
            return UNKNOWN
        if base.kind in (Kind.STRING, Kind.DEVICE_STRING):
            return STRING if method not in ("startswith", "endswith") else FLAG
        if base.kind is Kind.UNKNOWN and method in TENSOR_ONLY:
            return Value(Kind.TENSOR, base.devices, computed=True)
        if method == "step" and base.kind in (Kind.OPTIMIZER, Kind.UNKNOWN):
            loss = self._of_closure(node, function, base)
            if loss is not None:
                return loss
        if method in REDUCTIONS and not node.keywords:
            tensor = base.as_tensor
            if tensor.kind is Kind.TENSOR:
                return tensor
        if base.kind is Kind.UNKNOWN and method in LAYOUT_METHODS:
            # `x.to(device).squeeze(0)`: what was moved and has such a method is no module.
            if base.devices is not None:
                return base.as_tensor
        return self._own_method(node, function)

    def _where(self, base: Value, other: ast.expr) -> Value:
        """A tensor that goes where another one is."""
        return base._replace(devices=self._values.of(other).devices)

    def _of_closure(self, node: ast.Call, function: ast.Attribute, base: Value) -> Value | None:
        """The loss that `optimizer.step(closure)` returns, as its closure does."""
        known = base.kind is Kind.OPTIMIZER
        if not known and not matches("optimizer-names", last_name(function.value)):
            return None
        found = [self._values.of(item) for item in self._returns.of_closure(node)]
        if not found or any(value.kind is not Kind.TENSOR for value in found):
            return None
        return join(found)._replace(loss=True, computed=True)

    def _to(self, node: ast.Call, base: Value) -> Value:
        target = keyword(node, "device")
        if target is None and node.args:
            first = self._values.of(node.args[0])
            if first.kind is Kind.TENSOR:
                return Value(base.kind, first.devices, loss=base.loss)
            if first.kind is Kind.OTHER or is_dtype(node.args[0]):
                return base
            target = node.args[0]
        if target is None:
            return base
        devices = self._values.device_types(target)
        kind = base.kind
        if (
            kind is Kind.UNKNOWN
            and devices is not None
            and self._values.of(target).kind in (Kind.DEVICE, Kind.DEVICE_STRING)
        ):
            return Value(Kind.UNKNOWN, devices)
        return Value(kind, devices, loss=base.loss)

    def _own_method(self, node: ast.Call, function: ast.Attribute) -> Value | None:
        """A method of a class of this file called on `self`."""
        method = self._returns.method_of_self(function)
        return self.returned(method) if method is not None else None

    def local_call(self, node: ast.Call) -> Value | None:
        """A call of a function, a class or a module object of this file."""
        called = node.func
        if isinstance(called, ast.Name):
            bindings = self._names.bindings(called.id, called)
            if len(bindings) == 1 and bindings[0].kind == "def":
                function = bindings[0].node
                assert isinstance(function, FUNCTIONS)
                return self.returned(function)
            if len(bindings) == 1 and bindings[0].kind == "class":
                klass = bindings[0].node
                assert isinstance(klass, ast.ClassDef)
                return self._instance(klass)
        value = self._values.of(called)
        if value.kind is Kind.MODULE:
            devices = value.devices
            from_arguments = self._where_run(devices, node)
            if devices is None or (devices == CPU_ONLY and from_arguments is not None):
                devices = from_arguments if from_arguments is not None else devices
            return Value(Kind.TENSOR, devices, loss=True, computed=True)
        if value.kind is Kind.UNKNOWN and self._makes_model(called):
            return Value(Kind.MODULE)
        if value.kind is Kind.UNKNOWN and (
            self._named_as_model(called) or self._is_used_as_module(called)
        ):
            devices = value.devices or self._where_run(None, node)
            return Value(Kind.TENSOR, devices, loss=True, computed=True)
        return None

    def _where_run(self, model: frozenset[str] | None, node: ast.Call) -> frozenset[str] | None:
        """Where a call of a model puts its result, by what it is given. What a loader hands out is
        where a model from out of sight can take it, in a file that moves no batch: it may be the
        loader that places it, as those of Accelerate, Fabric and DALI do."""
        given = _arguments(node)
        devices = self._devices_of(given)
        if devices is not None and model is None and self._lie_apart(given):
            return None
        if devices == CPU_ONLY and model is None and not self._moves_batches:
            if any(self._values.of(item).drawn for item in given):
                return None
        return devices

    def _lie_apart(self, given: list[ast.expr]) -> bool:
        """Whether the tensors that a model is given by themselves are on the CPU for sure, and
        others in lists or dictionaries beside them are not: the model brings them together, and
        which way it does so is not known."""
        held = [item for item in given if self._values.of(item).kind is Kind.SEQUENCE]
        alone = [item for item in given if item not in held]
        if not held or self._devices_of(alone) != CPU_ONLY:
            return False
        return self._devices_of(held) not in (None, CPU_ONLY)

    @cached_property
    def _moves_batches(self) -> bool:
        return any(
            isinstance(call.func, ast.Attribute) and self._values.of(call.func.value).drawn
            for name in ("to", "cuda")
            for call in self._index.calls.get(name, ())
        )

    def _makes_model(self, called: ast.expr) -> bool:
        """`Generator(...)`, `build_model(...)`: what they return is a model, not its output."""
        last = last_name(called)
        if last is None or not _names_model(last):
            return False
        if last[:1].isupper() or matches("model-makers", last):
            return True
        holder = last_name(called.value) if isinstance(called, ast.Attribute) else None
        return holder is not None and holder[:1].isupper()

    def _is_used_as_module(self, called: ast.expr) -> bool:
        if not self._used.has(called):
            return False
        bindings = self._names.bindings(called.id, called) if isinstance(called, ast.Name) else []
        return all(item.kind not in ("def", "class", "import") for item in bindings)

    def _named_as_model(self, called: ast.expr) -> bool:
        """Whether a callable of unknown origin is called what people call models and losses."""
        last = last_name(called)
        if last is None or not _names_model(last):
            return False
        bindings = self._names.bindings(last, called) if isinstance(called, ast.Name) else []
        return all(b.kind not in ("def", "class", "import") for b in bindings)

    def returned(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Value:
        """What a call of `function` gives."""
        returns = self._returns.of(function)
        if not returns:
            return OTHER
        annotated = self._values.annotation(function.returns)
        value = join([self._values.of(item) for item in returns[:6]])
        if value.kind is Kind.UNKNOWN and annotated.kind is not Kind.UNKNOWN:
            return annotated
        return value

    def _instance(self, klass: ast.ClassDef) -> Value:
        if self._values.is_module_class(klass):
            return Value(Kind.MODULE, CPU_ONLY if _has_parameters(klass.name) else None)
        bases = [self._names.resolve(base) or last_name(base) or "" for base in klass.bases]
        if any(base.endswith("Dataset") for base in bases):
            return Value(Kind.DATASET)
        if any("optim" in base.lower() for base in bases):
            return Value(Kind.OPTIMIZER)
        return UNKNOWN


def _names_model(name: str) -> bool:
    """Whether a name is one of those that people give to models and losses."""
    return matches("model-names", name) or matches("criterion-names", name)


def _has_parameters(name: str) -> bool:
    """Whether a module of this class has weights that live somewhere; losses have none."""
    return not name.endswith("Loss") and name not in PARAMETERLESS_MODULES


def _arguments(node: ast.Call) -> list[ast.expr]:
    return [*node.args, *(k.value for k in node.keywords)]
