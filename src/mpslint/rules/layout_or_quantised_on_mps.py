"""Quantised and compressed-sparse tensors do not exist on MPS.

## What it does
Flags `torch.quantize_per_tensor` and `quantize_per_channel`, `torch.fake_quantize_per_*`,
`prepare_qat` and `prepare_qat_fx`, whose modules call that in each step,
`to_sparse_csr/csc/bsr/bsc`, `torch.sparse_csr_tensor` and its like and `torch.sparse.sampled_addmm`
on data that is on a device, or whose result is moved to one.

## Why is this bad?
None of them has an MPS kernel up to torch 2.15: `NotImplementedError`.

## Example
```python
adjacency = adjacency.to_sparse_csr().to(device)
```
Use instead: the COO layout, which MPS has from torch 2.9, or a dense tensor.

## What is not flagged
COO tensors, data known or supposed to be on the CPU (quantisation after training runs there), data
that is made wherever another tensor is (`device=x.device`), and code that runs only on CUDA.

## Fix safety
There is no fix.

## References
- `aten/src/ATen/native/native_functions.yaml` (no `MPS`, `SparseMPS` or quantised entry)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Confidence, Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.terms.value import Kind

_MAKERS = [
    "quantize_per_tensor",
    "quantize_per_channel",
    "quantize_per_tensor_dynamic",
    "fake_quantize_per_tensor_affine",
    "fake_quantize_per_channel_affine",
    "sparse_csr_tensor",
    "sparse_csc_tensor",
    "sparse_bsr_tensor",
    "sparse_bsc_tensor",
    "sparse_compressed_tensor",
    "sparse.sampled_addmm",
]
_AWARE = [
    f"torch.{room}.{name}"
    for room in ("quantization", "ao.quantization")
    for name in ("prepare_qat", "quantize_qat", "quantize_fx.prepare_qat_fx")
]
"""What puts fake-quantised modules into a model, to be trained."""
_WEIGHTS = ("weight", "bias")
_METHODS = ("to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc")


@rule(
    "MPS506",
    "layout-or-quantised-on-mps",
    severity=Severity.BREAKS,
    triggers=(
        b"quantize_per_",
        b"_qat",
        b"sparse_cs",
        b"sparse_bs",
        b"sparse_comp",
        b"sampled_addmm",
    ),
    unfixed="which other layout or dtype would do is for its author to say",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    calls = list(context.calls_of(*(f"torch.{name}" for name in _MAKERS)))
    calls += [call for name in _METHODS for call in context.index.calls.get(name, ())]
    for call in calls:
        if not context.worlds.on_mps(call) or context.worlds.is_caught(call):
            continue
        if _on_a_device(context, call):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else "this function"
            kind = "quantised" if "quantize" in name else "compressed-sparse"
            yield context.finding(
                rule,
                call.func,
                f"{name} raises NotImplementedError on MPS, which has no {kind} tensors",
                confidence=Confidence.INFERRED,
            )
    for call in context.calls_of(*_AWARE):
        if context.worlds.on_mps(call) and _is_trained_there(context, call):
            yield context.finding(
                rule,
                call.func,
                "what it puts into the model raises NotImplementedError on MPS, which has no "
                "fake quantisation",
                confidence=Confidence.INFERRED,
            )


def _is_trained_there(context: Context, call: ast.Call) -> bool:
    """Whether the model is where MPS may be: as far as that is known, or by its last move in front
    of the call in the same function."""
    if not call.args:
        return False
    model = call.args[0]
    while isinstance(model, ast.Call) and isinstance(model.func, ast.Attribute):
        model = model.func.value  # `net.train()`
    if "mps" in _devices_of(context, model):
        return True
    function, spelled = context.index.function(call), ast.unparse(model)
    moves = [
        move
        for move in context.index.calls.get("to", ())
        if isinstance(move.func, ast.Attribute)
        and ast.unparse(move.func.value) == spelled
        and move.lineno < call.lineno
        and context.index.function(move) is function
        and move.args
    ]
    last = max(moves, key=lambda move: move.lineno, default=None)
    types = context.values.device_types(last.args[0]) if last is not None else None
    return types is not None and "mps" in types


def _on_a_device(context: Context, call: ast.Call) -> bool:
    """Whether the data comes from an accelerator that can be MPS, or goes to one."""
    if _can_be_mps(context, context.index.parents[call]):
        return True
    sources = [*call.args]
    if isinstance(call.func, ast.Attribute) and call.func.attr.startswith("to_sparse"):
        sources = [call.func.value]
    devices = [k.value for k in call.keywords if k.arg == "device" and not _of_a_tensor(k.value)]
    if any("mps" in (context.values.device_types(d) or ()) for d in devices):
        return True
    return any("mps" in _devices_of(context, item) for item in sources)


def _devices_of(context: Context, item: ast.expr) -> frozenset[str]:
    """Where a value may be; a weight of a module is where that is."""
    owner = context.values.of(item.value) if isinstance(item, ast.Attribute) else None
    if owner is not None and owner.kind is Kind.MODULE and item.attr in _WEIGHTS:  # type: ignore[attr-defined]
        return owner.devices or frozenset()
    return context.values.of(item).devices or frozenset()


def _of_a_tensor(device: ast.expr) -> bool:
    """`x.device`: wherever the data is, which nobody here has chosen."""
    if not isinstance(device, ast.Attribute) or device.attr != "device":
        return False
    return not (isinstance(device.value, ast.Name) and device.value.id == "self")


def _can_be_mps(context: Context, parent: ast.AST) -> bool:
    """`.to(device)` behind the call."""
    if not isinstance(parent, ast.Attribute) or parent.attr != "to":
        return False
    moved = context.index.parents[parent]
    if not isinstance(moved, ast.Call) or moved.func is not parent or not moved.args:
        return False
    types = context.values.device_types(moved.args[0])
    return types is not None and "mps" in types
