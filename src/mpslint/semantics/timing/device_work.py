"""What queues work on a device, and what waits for it, in the order in which it runs."""

from __future__ import annotations

import ast
import enum
from collections.abc import Iterator, Sequence

from mpslint.basics.words import words
from mpslint.facts.priors import matches
from mpslint.records import NamedTuple
from mpslint.semantics.loops.loops import LoopKind, Loops
from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.expressions import arguments_for, last_name
from mpslint.semantics.syntax.index import FUNCTIONS, LOOPS, FunctionNode, Index
from mpslint.semantics.syntax.methods import only_method_of_self
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.timing.handed_work import HandedWork
from mpslint.semantics.values.asked_numbers import READERS, READS, AskedNumbers
from mpslint.semantics.values.placement import Placement, is_host_copy
from mpslint.semantics.values.values import Values

MAX_CALL_DEPTH = 3
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp)


_HARMLESS = words(
    """
    range len enumerate zip isinstance hasattr getattr setattr append extend list tuple dict
    set zero_grad train eval to cuda detach super next iter no_grad inference_mode autocast
    enable_grad set_grad_enabled record_function nullcontext format join split get keys values
    items time perf_counter monotonic update step manual_seed seed empty_cache
    reset_peak_memory_stats requires_grad_ parameters named_parameters state_dict size view
    reshape unsqueeze squeeze permute contiguous clone min max sum abs round int str repr
    sorted reversed map filter type id pop insert deepcopy copy
    """
)
_HEAVY = words(
    """
    matmul mm bmm addmm baddbmm einsum tensordot conv1d conv2d conv3d conv_transpose1d
    conv_transpose2d linear scaled_dot_product_attention multi_head_attention_forward lstm gru
    sort topk cdist fft ifft fft2 svd eigh cholesky inverse solve
    """
)


class Effect(enum.Enum):
    WORK = "queues work that takes the device a while"
    WAIT = "waits for the device"
    COPY = "waits for what the device has queued, before it copies to it"
    UNKNOWN = "may wait for the device"

    @property
    def is_wait(self) -> bool:
        """Whether this waits, or may wait, for more than what is queued before a copy."""
        return self in (Effect.WAIT, Effect.UNKNOWN)


class Event(NamedTuple):
    effect: Effect
    node: ast.AST


class DeviceWork:
    def __init__(
        self,
        index: Index,
        names: Names,
        values: Values,
        loops: Loops,
        placement: Placement,
        asked: AskedNumbers,
        handed: HandedWork,
    ) -> None:
        self._handed = handed
        self._index = index
        self._names = names
        self._asked = asked
        self._values = values
        self._loops = loops
        self._placement = placement
        self._busy: set[ast.AST] = set()

    def events(self, node: ast.AST) -> Iterator[Event]:
        """Device work and waits in `node`, in the order of evaluation.

        A loop that waits at each of its turns waits as a whole; what may wait, waits.
        """
        if isinstance(node, (*FUNCTIONS, ast.ClassDef, ast.Lambda)):
            return
        if isinstance(node, LOOPS):
            inner = [event for child in ast.iter_child_nodes(node) for event in self.events(child)]
            if self._asked.asks(node):
                inner.append(Event(Effect.WAIT, node))
            yield from _at_most_waiting(inner)
            return
        if isinstance(node, _COMPREHENSIONS):
            yield from self._drawn(node)
            return
        if isinstance(node, ast.GeneratorExp):
            yield from self.events(
                node.generators[0].iter
            )  # The rest runs when it is gone through.
            return
        for child in _in_order(node):
            if isinstance(node, ast.Call) and isinstance(child, ast.GeneratorExp):
                yield from self._drawn(child)
                continue
            yield from self.events(child)
            if isinstance(node, ast.Call) and isinstance(child, ast.Call):
                if self._asked.maps_reader(child):  # `list(map(float, output))`
                    yield Event(Effect.WAIT, child)
        if self._asked.asks(node):
            yield Event(Effect.WAIT, node)
        elif isinstance(node, ast.Call):
            yield from self._call(node)
        elif isinstance(node, ast.Yield):
            yield from self._blocks_around(node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            if self._placement.on_accelerator(node):
                yield Event(Effect.WORK, node)

    def _drawn(self, node: Comprehension) -> Iterator[Event]:
        """What going through all of a comprehension does: first what it goes through."""
        first, *others = node.generators
        yield from self.events(first.iter)
        made = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        tests = [test for part in node.generators for test in part.ifs]
        inner = [
            event
            for part in (*(other.iter for other in others), *tests, *made)
            for event in self.events(part)
        ]
        if any(self._asked.is_read(test) for test in tests):
            inner.append(Event(Effect.WAIT, node))
        yield from _at_most_waiting(inner)

    def is_sure_wait(self, event: Event) -> bool:
        """Whether an event is a read of what the device has worked out, beyond doubt."""
        call = event.node
        if event.effect is not Effect.WAIT or not isinstance(call, ast.Call):
            return False
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in READS:
            return False
        value = self._values.of(call.func.value)
        worked_out = value.kind is Kind.TENSOR and (value.computed or value.loss)
        return worked_out and not value.on_cpu

    def takes_long(self, node: ast.AST, depth: int = MAX_CALL_DEPTH) -> bool:
        """Whether `node`, or a function of the file that it calls, trains or goes through a loader:
        minutes, not milliseconds."""
        for item in ast.walk(node):
            if isinstance(item, ast.Call) and depth:
                function = self._local_function(item)
                if function is not None and self.takes_long(function, depth - 1):
                    return True
            if isinstance(item, LOOPS):
                if self._loops.kind(item) is LoopKind.TRAIN:
                    return True
                if isinstance(item, ast.For | ast.AsyncFor) and self._loops.draws_batches(item):
                    return True
        return False

    # calls

    def _call(self, call: ast.Call) -> Iterator[Event]:
        name = last_name(call.func) or ""
        if matches("waiting-names", name) or is_host_copy(call) or self._moves_to_cpu(call):
            yield Event(Effect.WAIT, call)
            return
        if self._copies_from_host(call):
            yield Event(Effect.COPY, call)
            return
        if isinstance(call.func, ast.Attribute):
            if name in READS:
                yield Event(Effect.WAIT, call)
                return
            if name == "backward" or (name == "step" and self._loops.is_optimizer(call.func.value)):
                if self._placement.file_uses_devices:
                    yield Event(Effect.WORK, call)
                return
        qualified = self._names.resolve(call.func) or ""
        of_python = isinstance(call.func, ast.Name) and not qualified  # No `torch.max`.
        if (of_python and name in READERS) or qualified.startswith(("math.", "numpy.")):
            if any(self._asked.may_be_tensor(argument) for argument in call.args):
                yield Event(Effect.WAIT, call)
            return
        if self._local_function(call) is None and self._is_kernel(call):
            if self._is_heavy(call):
                yield Event(Effect.WORK, call)
            return
        yield from self._other_call(call, name)

    def _moves_to_cpu(self, call: ast.Call) -> bool:
        """`x.to(host)` where a name holds the CPU: a copy that is waited for, whatever `x` is."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "to":
            return False
        places = arguments_for(call, 0, "device")
        return any(
            value.on_cpu and value.kind in (Kind.DEVICE, Kind.DEVICE_STRING)
            for value in map(self._values.of, places)
        )

    def _copies_from_host(self, call: ast.Call) -> bool:
        """`torch.rand(3).to(device)`: what is queued there is over before the copy begins.

        `aten/src/ATen/native/mps/operations/Copy.mm`; CUDA's copies from pageable memory likewise.
        """
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("to", "cuda"):
            return False
        if any(k.arg in (None, "non_blocking") for k in call.keywords) or len(call.args) > 1:
            return False
        copied = self._values.of(call.func.value)
        if copied.kind is not Kind.TENSOR or not copied.on_cpu:
            return False
        return self._placement.on_accelerator(call)

    def _is_kernel(self, call: ast.Call) -> bool:
        """A model that is called, or a kernel of torch's on tensors of a device."""
        value = self._values.of(call)
        if value.kind is not Kind.TENSOR or not value.computed:
            return False
        if isinstance(call.func, ast.Attribute):
            called = self._values.of(call.func)
            library = (self._names.resolve(call.func) or "").startswith("torch.")
            on_tensor = self._values.of(call.func.value).kind is Kind.TENSOR
            if called.kind is not Kind.MODULE and not library and not on_tensor and not value.loss:
                return False
        if value.devices is None:
            return value.loss and self._placement.file_uses_devices
        return self._placement.on_accelerator(call)

    def _is_heavy(self, call: ast.Call) -> bool:
        """Whether a kernel is worth waiting for: a model, a product, or any inside a loop."""
        if self._values.of(call.func).kind is Kind.MODULE:
            return True
        name = last_name(call.func) or ""
        qualified = self._names.resolve(call.func) or ""
        if name in _HEAVY or qualified.startswith(("torch.linalg.", "torch.fft.")):
            return True
        if not qualified.startswith("torch.") and self._values.of(call).loss:
            return not isinstance(call.func, ast.Attribute) or name in ("forward", "model", "net")
        return self._loops.innermost(call) is not None and self._loops.repeats(call)

    def _other_call(self, call: ast.Call, name: str) -> Iterator[Event]:
        function = self._local_function(call)
        if function is not None:
            if function in self._busy or len(self._busy) >= MAX_CALL_DEPTH:
                yield Event(Effect.UNKNOWN, call)
                return
            self._busy.add(function)
            try:
                inner = [e for statement in function.body for e in self.events(statement)]
            finally:
                self._busy.discard(function)
            if inner:
                yield Event(inner[-1].effect, call)
            return
        given = self._handed.given(call)
        if given and all(self.queues(item) for item in given):
            yield Event(Effect.WORK, call)
            return
        qualified = self._names.resolve(call.func) or ""
        if name in _HARMLESS or qualified.startswith(("torch.", "numpy.", "time.", "math.")):
            return
        # Nobody sees what it does with what it is given.
        yield Event(Effect.UNKNOWN, call)

    def queues(self, called: ast.AST) -> bool:
        """Whether a call of what somebody hands over ends with device work, in no long time."""
        if isinstance(called, ast.Lambda):
            return self._ends_with_work([called.body])
        if isinstance(called, ast.Name):
            bindings = self._names.bindings(called.id, called)
            if len(bindings) == 1 and bindings[0].kind == "def":
                called = bindings[0].node
        if isinstance(called, FUNCTIONS):
            return self._ends_with_work(called.body)
        if not isinstance(called, ast.expr):
            return False
        value = self._values.of(called)
        return value.kind is Kind.MODULE and value.may_be_on_accelerator

    def _ends_with_work(self, nodes: Sequence[ast.AST]) -> bool:
        """Whether what runs one after the other ends with device work, in no long time."""
        if len(self._busy) >= MAX_CALL_DEPTH or nodes[0] in self._busy:
            return False
        self._busy.add(nodes[0])
        try:
            events = [event for node in nodes for event in self.events(node)]
        finally:
            self._busy.discard(nodes[0])
        if not events or events[-1].effect is not Effect.WORK:
            return False
        return not any(self.takes_long(node) for node in nodes)

    def _blocks_around(self, node: ast.Yield) -> Iterator[Event]:
        """What a function that manages a context is around, where any of that ends with work."""
        for block in self._handed.blocks(node):
            if self._ends_with_work(block):
                yield Event(Effect.WORK, block[-1])
                return

    def _local_function(self, call: ast.Call) -> FunctionNode | None:
        """The function of the file that is called, by its name or by way of `self`."""
        if not isinstance(call.func, ast.Name):
            method = only_method_of_self(self._index, call.func)
            return method if method is not None and not self._is_replaced(method) else None
        bindings = self._names.bindings(call.func.id, call.func)
        if len(bindings) == 1 and isinstance(bindings[0].node, FUNCTIONS):
            return bindings[0].node if bindings[0].kind == "def" else None
        return None

    def _is_replaced(self, method: FunctionNode) -> bool:
        """Whether a class of the file may have another method in place of `method`, or has to: this
        one is wrapped by a decorator, or calls nothing."""
        if method.decorator_list or not any(
            isinstance(item, ast.Call) for line in method.body for item in ast.walk(line)
        ):
            return True
        same = (item for item in self._index.of(type(method)) if item is not method)
        return any(item.name == method.name for item in same)

    def reads(self, test: ast.expr) -> bool:
        """Whether the truth of `test` is read from a tensor of a device."""
        return self._asked.is_read(test)


def _at_most_waiting(events: list[Event]) -> list[Event]:
    """Turns that wait, or may wait, wait as a whole; not those that begin with a copy of a batch,
    which is behind the work of the turn before."""
    waits = [event for event in events if event.effect.is_wait]
    return waits[-1:] or events


def _in_order(node: ast.AST) -> Iterator[ast.AST]:
    """Children in the order in which they are evaluated: the right side before the target."""
    if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
        if node.value is not None:
            yield node.value
        return
    yield from ast.iter_child_nodes(node)
