"""`.numpy()` of a tensor that is on the GPU raises.

## What it does
Flags `.numpy()`, `np.asarray(t)`, `np.array(t)` and what computes with each number of its argument
(`np.isnan(t)`, `np.exp(t)`) of a tensor that is known to come from a device that is not the CPU:
the output of a model that was moved, a tensor that went through `.to(device)`, or what is computed
from these. Also flags `.numpy()` in the arm for tensors that are not on CUDA (`if x.is_cuda: ...
else: x.numpy()`): they need not be on the CPU. So it does in the arm that a Mac takes since a flag
asks for CUDA alone (`if self.use_gpu: ...cpu().numpy() else: ...numpy()`), where another choice
than this flag decides the device. Also flags `.numpy()` of a value that this code
copies to the CPU only where there is CUDA, and `.detach().numpy()` (or `.data.numpy()`) in a
function that moves things to a device, because only the output of a model needs the `detach`. Also
of what is computed from an argument of a call whose result is copied to the CPU in the same
function (`score(x, lengths).cpu()`): the call computes on a device, on which its tensors are. And
of the tensor that a function offloads (`offload_weight(weight)`), if it says nothing of the CPU.
Libraries that read what they are given as arrays ask for the same memory: functions of
matplotlib, seaborn, pandas, SciPy and scikit-learn's metrics, `np.stack([t])`, `np.save`, and what
fills a part of an array (`array[:] = t`, a mask, a whole row).
The norm that `clip_grad_norm_` gives back is where the gradients are: NumPy's functions raise too.

## Why is this bad?
NumPy arrays share their memory with the tensor, which must be in main memory:
`TypeError: can't convert mps:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor
to host memory first`. Code that tests for CUDA before it copies fails on every other device.

## Example
```python
prediction = model(x.to(device)).argmax(1).numpy()
```
Use instead:
```python
prediction = model(x.to(device)).argmax(1).cpu().numpy()
```

## What is not flagged
A program that places nothing itself (`device=x.device` only follows); what no Mac comes to; the
arm in which the device is the CPU; what is brought back to the device of its input.
`x.numpy(force=True)`; a copy for CUDA only in a file whose only GPU is CUDA, where the same test
decides what is moved there (the other arm is the CPU's); a chain that holds `.cpu()` or
`.to("cpu")`; tensors of datasets, loaders and `from_numpy`; values of which nothing is known,
because most `.numpy()` calls in real code are made on CPU tensors; TensorFlow's and other
libraries' `.numpy()`; one element of an array (`losses[i] = loss`), for which NumPy asks a number
and no memory; a statement of a notebook whose next one is the same with `.cpu()`, to show
what fails. What a handler for `TypeError` replaces; a list whose items were copied to the CPU since
they were put into it.

## Confidence
Where nothing says on which device a tensor is, and only what is done with it speaks for one (it is
detached in a function that moves things to a device, or meets what is copied to the CPU later), the
finding is inferred. So it is of what a model whose class was not read keeps under a text
(`plt.imshow(model(x)["mask"])`), which may be an array already. These are opt-in
(`--extend-select MPS301`), since most of them were wrong on code that nobody had looked at. The
certain ones are on.

## Fix safety
Adding `.cpu()` is safe: it returns the same tensor where it is on the CPU already. Where the other
arm of a test then does the same, one of them stays, without the test. Where the value
also carries gradients, `.detach()` is added with it, and the fix is unsafe.

## References
- `torch/csrc/utils/tensor_numpy.cpp` (`tensor_to_numpy`)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.facts.arrays import READING_PACKAGES, reads_arrays
from mpslint.model import Applicability, Confidence, Edit, Finding, Fix, Label, Severity
from mpslint.patterns.same_arms import first_arm_alone
from mpslint.patterns.text import insert, replace
from mpslint.records import NamedTuple
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.operands.live_operands import copied_beside, offloaded
from mpslint.semantics.purpose.caught_errors import is_caught
from mpslint.semantics.purpose.purpose import in_cpu_arm, only_gpu_is_cuda
from mpslint.semantics.purpose.shown_failures import is_shown_to_fail
from mpslint.semantics.reads.array_reads import Read, is_read_of_entry, read_of
from mpslint.semantics.reads.item_stores import asks_for_memory
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.values.placement import has_host_copy
from mpslint.semantics.worlds.events import Kind as EventKind
from mpslint.semantics.worlds.machines import MAC, PORTED
from mpslint.semantics.worlds.values import ENTRY, cases_of, where

_ARRAY_FUNCTIONS = ("numpy.asarray", "numpy.array", "numpy.ascontiguousarray")
_ELEMENTWISE = tuple(f"numpy.{name}" for name in ("isnan", "isinf", "isfinite", "exp", "sqrt"))
"""Functions that compute with each number, for which they ask for the tensor's memory."""
_NORMS = ("torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad_norm")

_CONFIDENCE = {True: Confidence.CERTAIN, False: Confidence.INFERRED}


class _Reason(NamedTuple):
    text: str
    related: ast.AST | None = None
    note: str = "copied to the CPU here, on CUDA only"
    sentence: str = ""
    """In place of what is said of others."""
    confidence: Confidence = Confidence.CERTAIN
    """Inferred where only what is done with the tensor speaks for a device."""


@rule(
    "MPS301",
    "numpy-on-device-tensor",
    severity=Severity.BREAKS,
    triggers=(b"asarray", *(name.encode() for name in sorted(READING_PACKAGES))),
    also=((b"import", b".numpy", b"array"),),
    fix=Applicability.SAFE,
    least=Confidence.CERTAIN,
    unfixed="what the tensor is here, or what reads it, was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for call in context.index.calls.get("numpy", ()):
        if isinstance(call.func, ast.Attribute) and not call.args and not call.keywords:
            tensor = call.func.value
            if has_host_copy(tensor) or is_shown_to_fail(context, call):
                continue
            if is_caught(context, call, "TypeError"):
                continue
            reason = _told_by_itself(context, tensor, call)
            if reason is None:
                reason = _once_ported(context, call)
            if reason is None and (
                not in_cpu_arm(context, call) or read_of(context, call) is Read.ON_GPU
            ):
                reason = _reason(context, tensor, call)
            if reason is not None:
                start, end = context.name_token(call.func)
                yield _finding(context, rule, start, end, tensor, start, reason)
    for call in context.calls_of(*_ARRAY_FUNCTIONS, *_ELEMENTWISE):
        if call.args and not has_host_copy(call.args[0]) and not is_shown_to_fail(context, call):
            tensor = call.args[0]
            if not _is_tensor(context, tensor) or is_caught(context, call, "TypeError"):
                continue  # Most arrays are made of others, and to run the file costs more.
            read = read_of(context, call)
            on_gpu = _on_gpu(context, tensor, read)
            if on_gpu or _is_trained_norm(context, tensor, read):
                start, end = context.source.span(tensor)
                sure = on_gpu and not is_read_of_entry(context, call)
                reason = _Reason("of a tensor", confidence=_CONFIDENCE[sure])
                yield _finding(context, rule, start, end, tensor, None, reason)
    yield from _handed(context, rule)


def _handed(context: Context, rule: Rule) -> Iterator[Finding]:
    """Tensors that are on the GPU for sure, given to libraries that read them as arrays."""
    if not any(map(context.names.imports, READING_PACKAGES)) or not _may_be_handed(context):
        return
    told: set[ast.expr] = set()
    for event in context.worlds.events(EventKind.HANDED):
        tensor = event.use
        if tensor is None and isinstance(event.node, ast.Subscript):  # `array[:] = tensor`
            around = context.index.parents[event.node]
            if isinstance(around, ast.Assign) and asks_for_memory(context, event.node):
                tensor = around.value
        if not isinstance(tensor, ast.expr) or tensor in told or event.caught:
            continue
        atoms = [atom for _, atom in cases_of(event.value, event.worlds & (MAC | PORTED))]
        there = [atom for atom in atoms if where(atom) == "mps"]
        if not there or has_host_copy(tensor) or is_shown_to_fail(context, event.node):
            continue
        told.add(tensor)
        start, end = context.source.span(tensor)
        sure = _CONFIDENCE[not all(atom.unread == ENTRY for atom in there)]
        reason = _Reason("of a tensor", confidence=sure)
        yield _finding(context, rule, start, end, tensor, None, reason)


def _may_be_handed(context: Context) -> bool:
    """Whether such a library may be given a tensor, by its text: to run it costs more."""
    for calls in context.index.calls.values():
        for call in calls:
            name = context.resolve(call.func)
            if name is not None and reads_arrays(name):
                return True
    return any(
        isinstance(target, ast.Subscript)
        and context.values.of(target.value).kind is Kind.NDARRAY
        and context.values.of(one.value).kind in (Kind.TENSOR, Kind.UNKNOWN)
        and asks_for_memory(context, target)
        for one in context.index.of(ast.Assign)
        for target in one.targets
    )


def _finding(
    context: Context,
    rule: Rule,
    start: int,
    end: int,
    tensor: ast.expr,
    numpy_at: int | None,
    reason: _Reason,
) -> Finding:
    detach = _needs_detach(context, tensor)
    applicability = Applicability.UNSAFE if detach else Applicability.SAFE
    labels: tuple[Label, ...] = ()
    if reason.related is not None:
        labels = (context.label(reason.related, reason.note),)
    return context.finding_at(
        rule,
        start,
        end,
        reason.sentence
        or f"raises TypeError {reason.text} that is not on the CPU: NumPy needs a copy there",
        confidence=reason.confidence,
        labels=labels,
        applicability=applicability,
        fix=partial(_fix, context, tensor, numpy_at, detach, applicability),
    )


def _on_gpu(context: Context, tensor: ast.expr, read: Read) -> bool:
    """Whether the tensor is known to be on the GPU, or was seen to come from a device."""
    if read is Read.OPEN:
        return _from_device(context, tensor)
    return read is Read.ON_GPU


def _from_device(context: Context, tensor: ast.expr) -> bool:
    placement = context.placement
    return placement.file_uses_devices and placement.on_accelerator(tensor)


def _reason(context: Context, tensor: ast.expr, call: ast.Call) -> _Reason | None:
    if context.values.of(tensor).kind not in (Kind.TENSOR, Kind.UNKNOWN):
        return None
    inferred = _inferred(context, tensor)
    if inferred is None and not context.worlds.may_name_gpu:
        return None
    read = read_of(context, call)
    if read is Read.ON_GPU:
        return _Reason("on a tensor")
    return inferred if read is Read.OPEN else None


def _inferred(context: Context, tensor: ast.expr) -> _Reason | None:
    """Why the tensor may be on the GPU, where a run of the file leaves it open."""
    placement = context.placement
    if _from_device(context, tensor):
        return _Reason("on a tensor")
    value = context.values.of(tensor)
    if value.devices is None or not value.on_cpu:
        copy = placement.copied_only_on_cuda(tensor)
        if copy is not None and not only_gpu_is_cuda(context):
            return _Reason("on a tensor", copy)
    if value.devices is not None:
        return None
    reason = None
    beside = copied_beside(context, tensor)
    if beside is not None:
        reason = _Reason(
            "on a tensor", beside, "computes with it, and its result is copied to the CPU"
        )
    elif offloaded(context, tensor) is not None:
        reason = _Reason("on a tensor")
    elif _detached(tensor) and placement.used_in(context.index.function(tensor)):
        reason = _Reason("on a model's output")
    if reason is None or not context.worlds.on_mps(tensor):
        return None
    return reason._replace(confidence=Confidence.INFERRED)


def _told_by_itself(context: Context, tensor: ast.expr, call: ast.Call) -> _Reason | None:
    """A read in the arm for tensors that are not on CUDA, of what the other arm copies first: who
    calls this function has chosen the device, and it may be a third one."""
    copy = context.placement.copied_where_it_is_on_cuda(tensor)
    if copy is None or context.guards.has(tensor, "cpu"):
        return None
    value = context.values.of(tensor)
    if value.kind not in (Kind.TENSOR, Kind.UNKNOWN) or value.on_cpu:
        return None
    if read_of(context, call) is Read.ON_HOST:
        return None
    return _Reason("on a tensor", copy)


def _once_ported(context: Context, call: ast.Call) -> _Reason | None:
    """A read in the arm that a Mac still takes once its tensors are on its GPU, since the test asks
    for CUDA alone."""
    if not context.worlds.may_name_gpu:
        return None
    test = context.worlds.raising_once_ported.get(call)
    if test is None:
        return None
    said = (
        "raises TypeError once MPS is chosen: nothing is copied to the CPU here, since "
        f"{context.line(test)} asks for CUDA alone"
    )
    return _Reason("on a tensor", test, "asks for CUDA alone", said)


def _is_tensor(context: Context, node: ast.expr) -> bool:
    return context.values.of(node).kind is Kind.TENSOR


def _is_trained_norm(context: Context, node: ast.expr, read: Read) -> bool:
    """The norm that clipping the gradients of a model gives back, in a program that sends things
    to a device: a model is trained where its batches are."""
    if read is not Read.OPEN or not context.placement.file_uses_devices:
        return False
    if isinstance(node, ast.Name):
        made = [binding.value for binding in context.flow.reaching(node)]
    else:
        made = [node]
    return bool(made) and all(
        isinstance(call, ast.Call) and context.resolve(call.func) in _NORMS for call in made
    )


def _detached(node: ast.expr) -> bool:
    """Whether the chain ends in `.detach()` or `.data`, as only what a model computed needs."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr == "detach"
    return isinstance(node, ast.Attribute) and node.attr == "data"


def _needs_detach(context: Context, tensor: ast.expr) -> bool:
    value = context.values.of(tensor)
    return value.loss and value.kind is Kind.TENSOR and not context.loops.without_gradients(tensor)


def _fix(
    context: Context,
    tensor: ast.expr,
    numpy_at: int | None,
    detach: bool,
    applicability: Applicability,
) -> Fix | None:
    text = ".detach().cpu()" if detach else ".cpu()"
    source = context.source
    edit: Edit
    call = context.index.parents[context.index.parents[tensor]]
    alone = first_arm_alone(context, call) if isinstance(call, ast.Call) and not detach else None
    if alone is not None and numpy_at is not None:
        return Fix("Do the same in both arms", (alone,), applicability)
    if numpy_at is None:
        bare = isinstance(tensor, ast.Name | ast.Attribute | ast.Call | ast.Subscript)
        segment = source.segment(tensor)
        edit = replace(source, tensor, f"{segment if bare else f'({segment})'}{text}")
    else:
        # In front of the dot of `.numpy`, so that a chain over several lines keeps its shape.
        dot = source.text.rfind(".", source.span(tensor)[1], numpy_at)
        if dot < 0:
            return None
        edit = insert(dot, text)
    return Fix(f"Add `{text}`", (edit,), applicability)
