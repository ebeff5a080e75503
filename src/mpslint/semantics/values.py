"""What an expression is, and where it lives.

A value is of one kind (tensor, module, device, ...) and, for tensors and modules, lives on one
of a set of device types. `devices` is that set, None when nothing is known:

- `{"cpu"}`: on the CPU for certain (a factory without `device=`, `.cpu()`, a loader's batch);
- `{"cuda"}`: pinned to CUDA; `{"cuda", "cpu"}`: a selection without MPS; `{"cuda", "mps", "cpu"}`:
  a portable selection. A device the code chooses somewhere out of sight is None.

For devices and device strings, `devices` is what they may name.
"""

from __future__ import annotations

import ast
import enum
import re
from typing import NamedTuple

from mpslint.semantics.flow import Flow
from mpslint.semantics.guards import Guards
from mpslint.semantics.index import FUNCTIONS, Index
from mpslint.semantics.names import Binding, Names

MAX_DEPTH = 24
_DEVICE_TEXT = re.compile(r"(cuda|mps|cpu|xpu|npu|meta|hpu|xla|privateuseone)(:\d+)?\Z")


class Kind(enum.Enum):
    UNKNOWN = "unknown"
    TENSOR = "tensor"
    MODULE = "module"
    OPTIMIZER = "optimizer"
    DEVICE = "device"
    DEVICE_STRING = "device string"
    FLAG = "flag"
    NDARRAY = "ndarray"
    NUMBER = "number"
    STRING = "string"
    LOADER = "loader"
    DATASET = "dataset"
    SEQUENCE = "sequence"
    """A list, tuple or dict whose elements are of the value's `item` kind."""
    SCALER = "gradient scaler"
    CLASS = "class"
    OTHER = "other"
    """Known, and none of the above."""


class Value(NamedTuple):
    kind: Kind
    devices: frozenset[str] | None = None
    loss: bool = False
    """A tensor that carries gradients: a model's or criterion's output, or computed from one."""
    computed: bool = False
    """A tensor known to come out of a kernel (not an argument of unknown origin)."""

    @property
    def on_cpu(self) -> bool:
        """On the CPU for certain."""
        return self.devices == _CPU

    @property
    def may_be_on_accelerator(self) -> bool:
        """Known to come from a device that can be an accelerator."""
        return self.devices is not None and self.devices != _CPU


_CPU = frozenset({"cpu"})
UNKNOWN = Value(Kind.UNKNOWN)
NUMBER = Value(Kind.NUMBER)
STRING = Value(Kind.STRING)
OTHER = Value(Kind.OTHER)
NDARRAY = Value(Kind.NDARRAY, _CPU)
FLAG = Value(Kind.FLAG)

FACTORIES = frozenset(
    "tensor zeros ones empty full rand randn randint randperm arange linspace logspace eye range "
    "as_tensor empty_strided complex polar hann_window hamming_window bartlett_window "
    "blackman_window kaiser_window tril_indices triu_indices normal scalar_tensor "
    "sparse_coo_tensor".split()
)
LIKE_FACTORIES = frozenset(
    "zeros_like ones_like empty_like full_like rand_like randn_like randint_like".split()
)
_NEW_FACTORIES = frozenset("new_zeros new_ones new_empty new_full new_tensor".split())
_NOT_TENSOR_FUNCTIONS = frozenset(
    "is_tensor is_floating_point is_complex numel save load manual_seed seed get_default_dtype "
    "set_default_dtype set_default_device set_grad_enabled is_grad_enabled no_grad enable_grad "
    "inference_mode device dtype Generator compile set_num_threads get_num_threads finfo iinfo "
    "set_float32_matmul_precision use_deterministic_algorithms autocast Size is_storage typename "
    "set_printoptions allclose equal is_nonzero result_type can_cast is_autocast_enabled "
    "get_rng_state set_rng_state initial_seed set_default_tensor_type".split()
)
_NUMBER_METHODS = frozenset(
    "item numel dim ndimension nelement element_size storage_offset get_device data_ptr "
    "stride size is_contiguous is_floating_point is_complex type".split()
)
_TENSOR_METHODS = frozenset(
    "backward detach requires_grad_ unsqueeze squeeze contiguous permute view_as expand_as "
    "masked_fill masked_fill_ scatter_ gather argmax softmax log_softmax clamp clamp_ "
    "mean sum std var abs sqrt exp log pow matmul mm bmm transpose reshape view flatten clone "
    "half float double long int bool bfloat16 max min norm topk sort expand repeat chunk split "
    "eq ne gt lt ge le add sub mul div add_ sub_ mul_ div_ zero_ fill_ copy_ normal_ uniform_ "
    "index_select masked_select nonzero sigmoid tanh relu cumsum t unbind roll flip any all "
    "type_as new_zeros new_ones item numpy tolist cpu cuda to detach_ data grad round_ round "
    "argmin argsort prod dot outer tril triu diag isnan isfinite".split()
)
_TENSOR_ONLY = frozenset(
    "backward detach requires_grad_ unsqueeze view_as expand_as masked_fill masked_fill_ "
    "scatter_ log_softmax new_zeros new_ones type_as index_select masked_select".split()
)
_MODULE_METHODS = frozenset(
    "train eval to cuda cpu half float double bfloat16 requires_grad_ apply".split()
)
_OPTIMIZER = re.compile(r"(^torch\.optim\.(?!lr_scheduler)[A-Z])|(\.optim\.[A-Z])")
_MODEL_NAME = re.compile(
    r"(^|_)(model|net|network|generator|discriminator|encoder|decoder|backbone|critic|actor|"
    r"classifier|transformer|unet|vae|gpt|policy)s?\d*$",
    re.I,
)
_CRITERION_NAME = re.compile(r"(^|_)(criterion|loss_?fn|loss_?func(tion)?|bce|ce_?loss)$", re.I)
_LOADER_NAME = re.compile(r"(^|_)(data_?)?(loader|dl|dataloader|batches)s?$|loader$", re.I)


class Values:
    """Values of expressions, computed on demand and remembered."""

    def __init__(self, index: Index, names: Names, flow: Flow, guards: Guards) -> None:
        self._index = index
        self._names = names
        self._flow = flow
        self._guards = guards
        self._known: dict[ast.AST, Value] = {}
        self._busy: set[ast.AST] = set()
        self._moves: dict[str, list[ast.Call]] | None = None
        self._classes: dict[ast.ClassDef, bool] = {}
        self._returns: dict[ast.AST, list[ast.expr]] | None = None

    def of(self, node: ast.expr | None) -> Value:
        if node is None:
            return UNKNOWN
        known = self._known.get(node)
        if known is not None:
            return known
        if node in self._busy or len(self._busy) > MAX_DEPTH:
            return UNKNOWN
        self._busy.add(node)
        try:
            value = self._evaluate(node)
        finally:
            self._busy.discard(node)
        # A result cut short by the depth limit or a cycle may be wrong for another question.
        if not self._busy or value is not UNKNOWN:
            self._known[node] = value
        return value

    def _evaluate(self, node: ast.expr) -> Value:
        method = _EVALUATORS.get(type(node))
        return method(self, node) if method is not None else UNKNOWN

    # leaves

    def _constant(self, node: ast.Constant) -> Value:
        if isinstance(node.value, str):
            match = _DEVICE_TEXT.match(node.value)
            if match:
                return Value(Kind.DEVICE_STRING, frozenset({match.group(1)}))
            return STRING
        if isinstance(node.value, bool):
            return FLAG
        if isinstance(node.value, int | float | complex):
            return NUMBER
        return OTHER if node.value is not None else Value(Kind.OTHER)

    def _joined(self, node: ast.JoinedStr) -> Value:
        first = node.values[0] if node.values else None
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            word = first.value.split(":")[0]
            if ":" in first.value and _DEVICE_TEXT.match(word):
                return Value(Kind.DEVICE_STRING, frozenset({word}))
        return STRING

    def _name(self, node: ast.Name) -> Value:
        bindings = self._flow.reaching(node)
        if not bindings:
            return UNKNOWN
        values = [self._bound(binding, node) for binding in bindings[:12]]
        value = join(values)
        if value.kind is Kind.MODULE:
            return self._moved(node.id, value)
        return value

    def _bound(self, binding: Binding, name: ast.Name) -> Value:
        if binding.kind in ("assign", "annotate", "walrus"):
            return self.of(binding.value)
        if binding.kind == "augment":
            return self._augmented(binding)
        if binding.kind == "unpack":
            return self._unpacked(binding, name)
        if binding.kind == "for":
            return self._element(binding, name)
        if binding.kind == "parameter":
            return self._parameter(binding)
        if binding.kind == "with":
            return self.of(binding.value)
        if binding.kind == "class":
            return Value(Kind.CLASS)
        return UNKNOWN

    def _augmented(self, binding: Binding) -> Value:
        statement = binding.node
        assert isinstance(statement, ast.AugAssign)
        if statement in self._busy:
            return UNKNOWN
        self._busy.add(statement)
        try:
            return self._after_augment(statement, binding)
        finally:
            self._busy.discard(statement)

    def _after_augment(self, statement: ast.AugAssign, binding: Binding) -> Value:
        right = self.of(statement.value)
        left = UNKNOWN
        if isinstance(statement.target, ast.Name):
            before = self._flow.reaching_name(statement.target.id, statement)
            others = [self._bound(b, statement.target) for b in before if b is not binding]
            left = join(others or [UNKNOWN])
        return _arithmetic(left, right)

    def _unpacked(self, binding: Binding, name: ast.Name) -> Value:
        value = binding.value
        statement = binding.node
        if isinstance(statement, ast.Assign) and isinstance(value, ast.Tuple | ast.List):
            for target in statement.targets:
                if isinstance(target, ast.Tuple | ast.List) and len(target.elts) == len(value.elts):
                    for place, item in zip(target.elts, value.elts, strict=True):
                        if isinstance(place, ast.Name) and place.id == name.id:
                            return self.of(item)
        whole = self.of(value)
        if whole.kind in (Kind.TENSOR, Kind.SEQUENCE, Kind.NUMBER, Kind.NDARRAY):
            return whole if whole.kind is not Kind.SEQUENCE else UNKNOWN
        return UNKNOWN

    def _element(self, binding: Binding, name: ast.Name) -> Value:
        iterable = binding.value
        position: int | None = None
        if isinstance(binding.target, ast.Tuple | ast.List):
            for place, item in enumerate(binding.target.elts):
                if any(isinstance(n, ast.Name) and n.id == name.id for n in ast.walk(item)):
                    position = place
        return self._drawn(
            iterable, position, nested=isinstance(binding.target, ast.Tuple | ast.List)
        )

    def _drawn(self, iterable: ast.expr | None, position: int | None, nested: bool) -> Value:
        """One element of an iterable (its `position`-th part, where it is unpacked)."""
        if isinstance(iterable, ast.Call):
            last = self.last_name(iterable.func)
            qualified = self._names.resolve(iterable.func) or last
            if qualified in ("range",):
                return NUMBER
            if qualified == "enumerate" and iterable.args:
                return NUMBER if position == 0 else self._drawn(iterable.args[0], None, True)
            if qualified == "zip":
                if position is not None and position < len(iterable.args):
                    return self._drawn(iterable.args[position], None, False)
                return UNKNOWN
            if qualified in (
                "tqdm.tqdm",
                "tqdm",
                "tqdm.auto.tqdm",
                "reversed",
                "iter",
                "track",
                "progress_bar",
                "trange",
                "tqdm.trange",
            ):
                if (qualified or "").endswith("trange"):
                    return NUMBER
                return self._drawn(iterable.args[0], position, nested) if iterable.args else UNKNOWN
            if last in ("items", "values", "keys"):
                return UNKNOWN
        value = self.of(iterable)
        if value.kind is Kind.LOADER or (
            value.kind is Kind.UNKNOWN and iterable is not None and self._loader_name(iterable)
        ):
            return Value(Kind.TENSOR, _CPU)
        if value.kind is Kind.TENSOR:
            return value
        if value.kind is Kind.NDARRAY:
            return NDARRAY
        return UNKNOWN

    def _loader_name(self, node: ast.expr) -> bool:
        last = self.last_name(node)
        return last is not None and bool(_LOADER_NAME.search(last))

    def _parameter(self, binding: Binding) -> Value:
        arg = binding.node
        assert isinstance(arg, ast.arg)
        annotated = self.annotation(arg.annotation)
        if annotated.kind is not Kind.UNKNOWN:
            if annotated.kind is Kind.STRING and binding.value is not None:
                default = self.of(binding.value)
                return (
                    Value(Kind.DEVICE_STRING) if default.kind is Kind.DEVICE_STRING else annotated
                )
            return annotated
        if binding.value is not None:
            default = self.of(binding.value)
            if default.kind in (Kind.DEVICE, Kind.DEVICE_STRING):
                return Value(default.kind)
            if default.kind in (Kind.NUMBER, Kind.FLAG, Kind.STRING):
                return default._replace(devices=None)
        if arg.arg in ("device", "dev"):
            return Value(Kind.DEVICE)
        if arg.arg == "self":
            return self._self_value(arg)
        return UNKNOWN

    def _self_value(self, arg: ast.arg) -> Value:
        klass = self._index.enclosing(arg, ast.ClassDef)
        if klass is not None and self.is_module_class(klass):
            return Value(Kind.MODULE)
        return UNKNOWN

    def annotation(self, node: ast.expr | None) -> Value:
        """What an annotation says of a value."""
        if node is None:
            return UNKNOWN
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            word = node.value.rsplit(".", 1)[-1]
            return _BY_ANNOTATION.get(word, UNKNOWN)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            sides = [self.annotation(node.left), self.annotation(node.right)]
            known = [s for s in sides if s.kind not in (Kind.UNKNOWN, Kind.OTHER)]
            return known[0] if len(known) == 1 else UNKNOWN
        if isinstance(node, ast.Subscript):
            outer = self.last_name(node.value)
            if outer == "Optional":
                return self.annotation(node.slice)
            return UNKNOWN
        last = self.last_name(node)
        name = self._names.resolve(node) or last
        if name in ("torch.Tensor", "torch.FloatTensor", "torch.LongTensor", "torch.BoolTensor"):
            return Value(Kind.TENSOR)
        if name == "torch.nn.Module":
            return Value(Kind.MODULE)
        return _BY_ANNOTATION.get(last or "", UNKNOWN)

    # attributes

    def _attribute(self, node: ast.Attribute) -> Value:
        qualified = self._names.resolve(node)
        if qualified is not None and qualified.startswith("torch."):
            if qualified.startswith(
                ("torch.float", "torch.int", "torch.bfloat", "torch.uint")
            ) or qualified in ("torch.half", "torch.double", "torch.long", "torch.bool"):
                return OTHER
            if _is_class_name(qualified):
                return Value(Kind.CLASS)
        base = self.of(node.value)
        if base.kind is Kind.TENSOR:
            if node.attr in ("data", "grad", "T", "mT", "H", "real", "imag"):
                return base._replace(loss=False)
            if node.attr == "device":
                return Value(Kind.DEVICE, base.devices)
            if node.attr in (
                "shape",
                "dtype",
                "ndim",
                "is_cuda",
                "requires_grad",
                "grad_fn",
                "layout",
            ):
                return OTHER
            return UNKNOWN
        if node.attr == "device" and base.kind is Kind.MODULE:
            assigned = self._assigned(node)
            return (
                assigned if assigned.kind is not Kind.UNKNOWN else Value(Kind.DEVICE, base.devices)
            )
        if base.kind in (Kind.NDARRAY,):
            return NDARRAY if node.attr in ("T", "real", "imag", "flat") else OTHER
        assigned = self._assigned(node)
        if assigned.kind is Kind.MODULE:
            return self._moved(ast.unparse(node), assigned)
        if assigned.kind is Kind.UNKNOWN and node.attr == "device":
            return Value(Kind.DEVICE)
        return assigned

    def _assigned(self, node: ast.Attribute) -> Value:
        """What this file assigns to the same attribute: of `self` in its class, else by spelling."""
        values = self._guards.assigned(node)
        if not values:
            return UNKNOWN
        if isinstance(node.value, ast.Name) and node.value.id == "self":
            klass = self._index.enclosing(node, ast.ClassDef)
            values = [v for v in values if self._index.enclosing(v, ast.ClassDef) is klass]
        return join([self.of(value) for value in values[:12]]) if values else UNKNOWN

    # calls

    def _call(self, node: ast.Call) -> Value:
        qualified = self._names.resolve(node.func)
        if qualified is not None:
            value = self._library_call(node, qualified)
            if value is not None:
                return value
        if isinstance(node.func, ast.Attribute):
            value = self._method(node, node.func)
            if value is not None:
                return value
        if qualified is None or not qualified.startswith("torch."):
            value = self._local_call(node)
            if value is not None:
                return value
        return self._builtin(node)

    def _library_call(self, node: ast.Call, name: str) -> Value | None:
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
        if root != "torch":
            return None
        if name == "torch.device":
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
            source = self.of(node.args[0]) if node.args else UNKNOWN
            return Value(Kind.TENSOR, device if device is not None else source.devices)
        if name in ("torch.from_numpy", "torch.frombuffer"):
            return Value(Kind.TENSOR, _CPU)
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
            return Value(Kind.TENSOR, _CPU)
        if name.startswith("torch.cuda.") and last.endswith("Tensor"):
            return Value(Kind.TENSOR, frozenset({"cuda"}))
        if name.startswith("torch.optim.lr_scheduler"):
            return OTHER
        if _OPTIMIZER.search(name):
            return Value(Kind.OPTIMIZER)
        if last in ("GradScaler",):
            return Value(Kind.SCALER)
        if name.startswith("torch.utils.data."):
            return Value(Kind.LOADER) if last == "DataLoader" else Value(Kind.DATASET)
        if name in ("torch.nn.Parameter", "torch.nn.parameter.Parameter"):
            source = self.of(node.args[0]) if node.args else UNKNOWN
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
            return self.of(node.args[0]) if node.args else Value(Kind.MODULE)
        if name.startswith("torch.nn.utils.clip_grad"):
            return Value(Kind.TENSOR, None, computed=True)
        if name.startswith(("torch.nn.utils.", "torch.nn.init.")):
            return UNKNOWN
        if name.startswith("torch.nn.") and last[:1].isupper():
            devices = self._device_keyword(node)
            return Value(Kind.MODULE, devices if devices is not None else _CPU)
        if name.startswith(("torch.linalg.", "torch.fft.", "torch.special.")):
            return self._computed(node)
        if name.startswith(("torch.distributions.",)):
            return UNKNOWN
        if "." not in rest and rest.islower() and rest not in _NOT_TENSOR_FUNCTIONS:
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
        inner = self.of(argument)
        if inner.kind in (Kind.DEVICE, Kind.DEVICE_STRING):
            return Value(Kind.DEVICE, inner.devices)
        if inner.kind is Kind.NUMBER:
            return Value(Kind.DEVICE, frozenset({"cuda"}))
        return Value(Kind.DEVICE)

    def _factory(self, node: ast.Call) -> Value:
        given = self._keyword(node, "device")
        if given is None:
            source = self.of(node.args[0]) if node.args else UNKNOWN
            name = self.last_name(node.func)
            if name == "as_tensor" and source.kind is not Kind.NDARRAY:
                return Value(Kind.TENSOR, source.devices if source.kind is Kind.TENSOR else None)
            ambient = self._ambient(node)
            return Value(Kind.TENSOR, ambient)
        return Value(Kind.TENSOR, self.device_types(given))

    def _ambient(self, node: ast.AST) -> frozenset[str] | None:
        """Where factories put tensors here: `with torch.device(...)`, `set_default_device`."""
        for parent in self._index.ancestors(node):
            if isinstance(parent, ast.With | ast.AsyncWith):
                for item in parent.items:
                    value = self.of(item.context_expr)
                    if value.kind is Kind.DEVICE:
                        return value.devices
        for name in ("set_default_device", "set_default_tensor_type"):
            for call in self._index.calls.get(name, ()):
                if call.args:
                    return self.of(call.args[0]).devices
        return _CPU

    def _keyword(self, node: ast.Call, name: str) -> ast.expr | None:
        return next((k.value for k in node.keywords if k.arg == name), None)

    def _device_keyword(self, node: ast.Call) -> frozenset[str] | None:
        given = self._keyword(node, "device")
        return self.device_types(given) if given is not None else None

    def device_types(self, node: ast.expr | None) -> frozenset[str] | None:
        """The device types that an expression in a device slot may name; None: unknown."""
        value = self.of(node)
        if value.kind in (Kind.DEVICE, Kind.DEVICE_STRING):
            # A device from out of sight may be any; say so, so that "moved" is known.
            return value.devices if value.devices is not None else ANY_DEVICE
        if value.kind is Kind.NUMBER:
            return frozenset({"cuda"})
        return ANY_DEVICE if value.kind is Kind.UNKNOWN else None

    def _computed(self, node: ast.Call, loss: bool = False) -> Value:
        """Result of a kernel: where its tensor arguments are."""
        devices = self._devices_of([*node.args, *(k.value for k in node.keywords)])
        grads = any(self.of(arg).loss for arg in node.args)
        return Value(Kind.TENSOR, devices, loss=loss or grads, computed=True)

    def _devices_of(self, arguments: list[ast.expr]) -> frozenset[str] | None:
        known: set[str] = set()
        for argument in arguments:
            items = argument.elts if isinstance(argument, ast.List | ast.Tuple) else [argument]
            for item in items:
                value = self.of(item)
                if value.kind in (Kind.TENSOR, Kind.MODULE):
                    if value.devices is None:
                        return None
                    known |= value.devices
        return frozenset(known) if known else None

    def _method(self, node: ast.Call, function: ast.Attribute) -> Value | None:
        method = function.attr
        base = self.of(function.value)
        if method == "numpy":
            return NDARRAY
        if method == "item":
            return NUMBER
        if method == "tolist":
            return OTHER
        if method == "cpu":
            kind = base.kind if base.kind in (Kind.TENSOR, Kind.MODULE) else Kind.TENSOR
            return Value(kind, _CPU, loss=base.loss)
        if method == "cuda":
            kind = base.kind if base.kind in (Kind.TENSOR, Kind.MODULE) else Kind.UNKNOWN
            return Value(kind, frozenset({"cuda"}), loss=base.loss)
        if method == "to" and base.kind in (Kind.TENSOR, Kind.MODULE, Kind.UNKNOWN):
            return self._to(node, base)
        if base.kind is Kind.TENSOR:
            if method in _NUMBER_METHODS:
                return NUMBER if method != "size" else OTHER
            if method in _NEW_FACTORIES:
                given = self._device_keyword(node)
                return Value(Kind.TENSOR, given if given is not None else base.devices)
            return Value(
                Kind.TENSOR, base.devices, loss=base.loss and method != "detach", computed=True
            )
        if base.kind is Kind.MODULE:
            if method in _MODULE_METHODS:
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
        if base.kind is Kind.LOADER:
            return UNKNOWN
        if base.kind in (Kind.STRING, Kind.DEVICE_STRING):
            return STRING if method not in ("startswith", "endswith") else FLAG
        if base.kind is Kind.UNKNOWN and method in _TENSOR_ONLY:
            return Value(Kind.TENSOR, base.devices, computed=True)
        return self._own_method(node, function)

    def _to(self, node: ast.Call, base: Value) -> Value:
        target = self._keyword(node, "device")
        if target is None and node.args:
            first = self.of(node.args[0])
            if first.kind is Kind.TENSOR:
                return Value(base.kind, first.devices, loss=base.loss)
            if first.kind is Kind.OTHER or self._is_dtype(node.args[0]):
                return base
            target = node.args[0]
        if target is None:
            return base
        devices = self.device_types(target)
        kind = base.kind
        if (
            kind is Kind.UNKNOWN
            and devices is not None
            and self.of(target).kind in (Kind.DEVICE, Kind.DEVICE_STRING)
        ):
            return Value(Kind.UNKNOWN, devices)
        return Value(kind, devices, loss=base.loss)

    def _is_dtype(self, node: ast.expr) -> bool:
        last = self.last_name(node) or ""
        return last.endswith("dtype") or last in (
            "float",
            "int",
            "bool",
            "long",
            "float16",
            "float32",
            "float64",
            "bfloat16",
            "half",
            "double",
            "int64",
            "int32",
            "uint8",
        )

    def _own_method(self, node: ast.Call, function: ast.Attribute) -> Value | None:
        """A method of a class of this file called on `self`."""
        if not (isinstance(function.value, ast.Name) and function.value.id == "self"):
            return None
        klass = self._index.enclosing(node, ast.ClassDef)
        if klass is None:
            return None
        for item in klass.body:
            if isinstance(item, FUNCTIONS) and item.name == function.attr:
                return self._returned(item)
        return None

    def _local_call(self, node: ast.Call) -> Value | None:
        """A call of a function, a class or a module object of this file."""
        called = node.func
        if isinstance(called, ast.Name):
            bindings = self._names.bindings(called.id, called)
            if len(bindings) == 1 and bindings[0].kind == "def":
                function = bindings[0].node
                assert isinstance(function, FUNCTIONS)
                return self._returned(function)
            if len(bindings) == 1 and bindings[0].kind == "class":
                klass = bindings[0].node
                assert isinstance(klass, ast.ClassDef)
                return self._instance(klass)
        value = self.of(called)
        if value.kind is Kind.MODULE:
            devices = value.devices
            from_arguments = self._devices_of(node.args)
            if devices is None or (devices == _CPU and from_arguments is not None):
                devices = from_arguments if from_arguments is not None else devices
            return Value(Kind.TENSOR, devices, loss=True, computed=True)
        last = self.last_name(called)
        if (
            value.kind is Kind.UNKNOWN
            and last is not None
            and isinstance(called, ast.Name | ast.Attribute)
        ):
            if _MODEL_NAME.search(last) or _CRITERION_NAME.search(last):
                bindings = (
                    self._names.bindings(last, called) if isinstance(called, ast.Name) else []
                )
                if all(b.kind not in ("def", "class", "import") for b in bindings):
                    return Value(
                        Kind.TENSOR,
                        value.devices or self._devices_of(node.args),
                        loss=True,
                        computed=True,
                    )
        return None

    def _returned(self, function: ast.FunctionDef | ast.AsyncFunctionDef) -> Value:
        if self._returns is None:
            self._returns = {}
            for item in self._index.of(ast.Return):
                owner = self._index.enclosing(item, *FUNCTIONS, ast.Lambda)
                if owner is not None and item.value is not None:
                    self._returns.setdefault(owner, []).append(item.value)
        returns = self._returns.get(function, [])
        if not returns:
            return OTHER
        annotated = self.annotation(function.returns)
        value = join([self.of(item) for item in returns[:6]])
        if value.kind is Kind.UNKNOWN and annotated.kind is not Kind.UNKNOWN:
            return annotated
        return value

    def _instance(self, klass: ast.ClassDef) -> Value:
        if self.is_module_class(klass):
            return Value(Kind.MODULE, _CPU)
        bases = [self._names.resolve(base) or self.last_name(base) or "" for base in klass.bases]
        if any(base.endswith("Dataset") for base in bases):
            return Value(Kind.DATASET)
        if any("optim" in base.lower() for base in bases):
            return Value(Kind.OPTIMIZER)
        return UNKNOWN

    def is_module_class(self, klass: ast.ClassDef) -> bool:
        """Whether a class of this file is an nn.Module, by its bases and their names."""
        known = self._classes.get(klass)
        if known is not None:
            return known
        self._classes[klass] = False
        for base in klass.bases:
            name = self._names.resolve(base)
            last = self.last_name(base) or ""
            if name is not None and name.startswith("torch.nn."):
                self._classes[klass] = True
            elif last in (
                "Module",
                "LightningModule",
                "PreTrainedModel",
                "ModelMixin",
                "Sequential",
            ):
                self._classes[klass] = True
            elif last.endswith(("PreTrainedModel", "Module", "Model")) and not last.endswith(
                "BaseModel"
            ):
                self._classes[klass] = True
            elif isinstance(base, ast.Name):
                for binding in self._names.bindings(base.id, base):
                    if isinstance(binding.node, ast.ClassDef) and self.is_module_class(
                        binding.node
                    ):
                        self._classes[klass] = True
        if not self._classes[klass] and klass.bases:
            methods = {item.name for item in klass.body if isinstance(item, FUNCTIONS)}
            self._classes[klass] = "forward" in methods
        return self._classes[klass]

    def _builtin(self, node: ast.Call) -> Value:
        if not isinstance(node.func, ast.Name):
            return UNKNOWN
        name = node.func.id
        if name in ("float", "int", "len", "round", "sum", "abs", "min", "max", "id", "hash"):
            if name in ("sum", "abs", "min", "max") and node.args:
                inner = self.of(node.args[0])
                if inner.kind is Kind.TENSOR:
                    return inner
                return UNKNOWN
            return NUMBER
        if name in ("str", "repr", "format"):
            return STRING
        if name == "next" and node.args:
            inner = self.of(node.args[0])
            if inner.kind is Kind.SEQUENCE:
                return Value(Kind.TENSOR, inner.devices)
            if isinstance(node.args[0], ast.Call):
                return self._drawn(node.args[0], None, False)
        if name in ("bool", "isinstance", "hasattr", "callable"):
            return FLAG
        if name in ("iter", "reversed") and node.args:
            return self.of(node.args[0])
        return UNKNOWN

    # operators and containers

    def _binary(self, node: ast.BinOp) -> Value:
        left, right = self.of(node.left), self.of(node.right)
        if isinstance(node.op, ast.Mod | ast.Add) and left.kind in (
            Kind.STRING,
            Kind.DEVICE_STRING,
        ):
            return self._formatted(node.left, left)
        return _arithmetic(left, right)

    def _formatted(self, text: ast.expr, value: Value) -> Value:
        """`"cuda:%d" % rank` and `"cuda:" + str(rank)` still name a device."""
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            word, colon, _ = text.value.partition(":")
            if colon and _DEVICE_TEXT.match(word):
                return Value(Kind.DEVICE_STRING, frozenset({word}))
        return STRING

    def _unary(self, node: ast.UnaryOp) -> Value:
        return FLAG if isinstance(node.op, ast.Not) else self.of(node.operand)

    def _compared(self, node: ast.Compare) -> Value:
        sides = [self.of(node.left), *(self.of(item) for item in node.comparators)]
        if any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops):
            return FLAG
        tensors = [side for side in sides if side.kind is Kind.TENSOR]
        if tensors:
            return Value(Kind.TENSOR, tensors[0].devices, computed=True)
        return FLAG

    def _boolean(self, node: ast.BoolOp) -> Value:
        return join([self.of(value) for value in node.values])

    def _conditional(self, node: ast.IfExp) -> Value:
        return join([self.of(node.body), self.of(node.orelse)])

    def _subscript(self, node: ast.Subscript) -> Value:
        base = self.of(node.value)
        if base.kind in (Kind.TENSOR, Kind.NDARRAY):
            return base
        if base.kind is Kind.MODULE:
            return base
        return UNKNOWN

    def _sequence(self, node: ast.List | ast.Tuple | ast.Set) -> Value:
        return Value(Kind.SEQUENCE)

    def _other(self, node: ast.expr) -> Value:
        return OTHER

    def _walrus(self, node: ast.NamedExpr) -> Value:
        return self.of(node.value)

    def _awaited(self, node: ast.Await) -> Value:
        return self.of(node.value)

    # modules move in place

    def _moved(self, spelled: str, value: Value) -> Value:
        """A module, with every `.to()` and `.cuda()` on the same name in this file."""
        if self._moves is None:
            self._moves = {}
            for method in ("to", "cuda", "cpu", "to_empty"):
                for call in self._index.calls.get(method, ()):
                    if isinstance(call.func, ast.Attribute):
                        self._moves.setdefault(ast.unparse(call.func.value), []).append(call)
        devices = set(value.devices or ())
        unknown = value.devices is None
        for call in self._moves.get(spelled, ()):
            if call in self._busy:
                continue
            function = call.func
            assert isinstance(function, ast.Attribute)
            if function.attr == "cuda":
                devices.add("cuda")
            elif function.attr != "cpu":
                target = self._keyword(call, "device") or (call.args[0] if call.args else None)
                if target is not None and not self._is_dtype(target):
                    types = self.device_types(target)
                    if types is None:
                        unknown = True
                    else:
                        devices |= types
        if unknown and not devices:
            return value
        moved = frozenset(devices)
        if len(moved) > 1 and value.devices == _CPU:
            # It starts on the CPU like every module; what counts is where it is used.
            moved = frozenset(devices - {"cpu"}) or moved
        return value._replace(devices=moved)

    def last_name(self, node: ast.AST) -> str | None:
        """`c` of `a.b.c`, `a` of `a`."""
        if isinstance(node, ast.Attribute):
            return node.attr
        return node.id if isinstance(node, ast.Name) else None


ANY_DEVICE = frozenset({"cuda", "mps", "cpu"})
_BY_ANNOTATION = {
    "Tensor": Value(Kind.TENSOR),
    "FloatTensor": Value(Kind.TENSOR),
    "LongTensor": Value(Kind.TENSOR),
    "device": Value(Kind.DEVICE),
    "Module": Value(Kind.MODULE),
    "PreTrainedModel": Value(Kind.MODULE),
    "DataLoader": Value(Kind.LOADER),
    "Optimizer": Value(Kind.OPTIMIZER),
    "ndarray": NDARRAY,
    "int": NUMBER,
    "float": NUMBER,
    "bool": FLAG,
    "str": STRING,
}

_EVALUATORS = {
    ast.Constant: Values._constant,
    ast.JoinedStr: Values._joined,
    ast.Name: Values._name,
    ast.Attribute: Values._attribute,
    ast.Call: Values._call,
    ast.BinOp: Values._binary,
    ast.UnaryOp: Values._unary,
    ast.Compare: Values._compared,
    ast.BoolOp: Values._boolean,
    ast.IfExp: Values._conditional,
    ast.Subscript: Values._subscript,
    ast.List: Values._sequence,
    ast.Tuple: Values._sequence,
    ast.Set: Values._sequence,
    ast.ListComp: Values._sequence,
    ast.GeneratorExp: Values._sequence,
    ast.Dict: Values._other,
    ast.DictComp: Values._other,
    ast.SetComp: Values._other,
    ast.Lambda: Values._other,
    ast.NamedExpr: Values._walrus,
    ast.Await: Values._awaited,
}


def join(values: list[Value]) -> Value:
    """What is certain when a value is one of these."""
    values = [v for v in values if v.kind is not Kind.OTHER or len(values) == 1] or values[:1]
    if not values:
        return UNKNOWN
    first = values[0]
    kinds = {value.kind for value in values}
    if kinds == {Kind.DEVICE, Kind.DEVICE_STRING}:
        kind = Kind.DEVICE_STRING
    elif len(kinds) == 1:
        kind = first.kind
    elif kinds <= {Kind.TENSOR, Kind.NUMBER} and Kind.TENSOR in kinds:
        kind = Kind.TENSOR
    else:
        return UNKNOWN
    devices: frozenset[str] | None = frozenset()
    for value in values:
        if value.kind is Kind.NUMBER and kind is Kind.TENSOR:
            continue
        if value.devices is None or devices is None:
            devices = None
        else:
            devices |= value.devices
    return Value(
        kind,
        devices,
        loss=any(value.loss for value in values),
        computed=all(value.computed for value in values),
    )


def _arithmetic(left: Value, right: Value) -> Value:
    tensors = [side for side in (left, right) if side.kind is Kind.TENSOR]
    if tensors:
        devices = tensors[0].devices
        if len(tensors) == 2:
            # Arithmetic needs one device; a 0-dim CPU tensor goes where the other is.
            sides = [t.devices for t in tensors if t.devices is not None]
            off_cpu = [d for d in sides if d != _CPU]
            devices = off_cpu[0] if off_cpu else (sides[0] if len(sides) == 2 else None)
        return Value(Kind.TENSOR, devices, loss=any(t.loss for t in tensors), computed=True)
    kinds = {left.kind, right.kind}
    if Kind.NDARRAY in kinds:
        return NDARRAY
    if kinds <= {Kind.NUMBER, Kind.FLAG}:
        return NUMBER
    if kinds == {Kind.STRING}:
        return STRING
    return UNKNOWN


def _is_class_name(qualified: str) -> bool:
    return qualified.rsplit(".", 1)[-1][:1].isupper()
