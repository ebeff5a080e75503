"""Pinned memory is asked for on every machine.

## What it does
Flags `DataLoader(pin_memory=True)`, `DataLoader(pin_memory_device="cuda")` and
`tensor.pin_memory()` in code that also runs without CUDA. What a loader is told counts as well by
way of a dictionary that is spread into the call, of `functools.partial`, of `super().__init__()` in
a class derived from it, and of a parameter's default.

## Why is this bad?
Pinned host memory belongs to CUDA. A `DataLoader` warns on MPS (since torch 2.7) and switches it
off; `Tensor.pin_memory()` raises `RuntimeError` on builds without CUDA.

## Example
```python
loader = DataLoader(dataset, pin_memory=True)
```
Use instead:
```python
loader = DataLoader(dataset, pin_memory=torch.cuda.is_available())
```

## What is not flagged
Anything but the literal `True`, code behind a test for CUDA or about CUDA, and tensors that are
pinned where somebody asked for it (`if pin_memory:`) or in a method `pin_memory`, which a loader
calls of a batch that it pins; the default of a parameter that all calls give; loaders in programs
that have all warnings ignored, and in projects whose requirements let in no torch that warns
(before 2.7 a loader asks for CUDA itself). Loaders for several GPUs, those that are given a
`DistributedSampler` among them, and those in a function that moves to CUDA without asking: its
`.cuda()` raises before anything is loaded. Loaders that a file which knows no device and learns
nothing only goes through below `if __name__ == "__main__":`, to show what its data set holds.

## Fix safety
Safe for `DataLoader`: on CUDA the value is the same. None for the default of a parameter. Where the
device of the run is at hand, the value is `device.type == "cuda"`: for a run on the CPU nothing is
gained by pinning.
Safe for `x = x.pin_memory()`, which is put below a test for CUDA, and for
`y = y.pin_memory().to(device, non_blocking=True)`, which gets
`y = y.to(device)` below `else`. In a file that asks for `torch.accelerator` the test is for any
accelerator but MPS, so that XPU keeps its pinned memory. Unsafe for another
`f().pin_memory().to(device)`, which becomes `f().to(device)`: from memory that is not pinned, the
copy waits. Anything else is reported only.

## References
- `torch/utils/data/dataloader.py`, pytorch/pytorch#86060
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.facts.priors import matches
from mpslint.model import Applicability, Finding, Fix, Severity
from mpslint.patterns.local_names import torch_name
from mpslint.patterns.own_device import pinning_test
from mpslint.patterns.pinning import pinned_level, pinned_message, unpin
from mpslint.patterns.text import replace
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.processes.loader_options import loader_options
from mpslint.semantics.processes.unheard_loaders import is_dealt_out, is_only_looked_at
from mpslint.semantics.purpose.silenced_warnings import shows_no_warnings
from mpslint.semantics.values.values import Kind

_FIRST_WARNING = (2, 7)
"""Before it: `loader.pin_memory and torch.cuda.is_available()`, without a word."""


@rule(
    "MPS608",
    "pin-memory-unconditional",
    severity=Severity.IGNORES,
    triggers=(b"pin_memory",),
    fix=Applicability.SAFE,
    unfixed="it is a default, or a copy whose way was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for finding in _pinned(context, rule):
        finding.follows = True
        yield finding


def _pinned(context: Context, rule: Rule) -> Iterator[Finding]:
    told: set[ast.expr] = set()
    for option in loader_options(context):
        value = option.value
        if option.name not in ("pin_memory", "pin_memory_device") or value in told:
            continue
        if not isinstance(value, ast.Constant) or not value.value:
            continue
        if not (context.worlds.breaks(option.call) and context.worlds.breaks(value)):
            continue
        if value.value is True and _is_unheard(context):
            continue
        if is_dealt_out(context, option.call) or is_only_looked_at(context, option.call):
            continue
        told.add(value)
        if value.value is True:
            fixable = not option.is_default
            yield context.finding(
                rule,
                value,
                "pinned memory is for CUDA: the DataLoader warns on MPS and goes on without",
                applicability=Applicability.SAFE if fixable else None,
                fix=partial(_only_on_cuda, context, value) if fixable else None,
            )
        elif isinstance(value.value, str) and value.value.startswith("cuda"):
            yield context.finding(
                rule, value, "memory is pinned for CUDA: the DataLoader does so on no other GPU"
            )
    for call in context.index.calls.get("pin_memory", ()):
        if isinstance(call.func, ast.Attribute) and not call.args:
            if (
                _is_hook(context, call)
                or not context.worlds.breaks(call)
                or _asked_for(context, call)
            ):
                continue
            if context.values.of(call.func.value).kind is Kind.TENSOR:
                start, end = context.name_token(call.func)
                yield context.finding_at(
                    rule,
                    start,
                    end,
                    "Tensor.pin_memory() raises RuntimeError where there is no CUDA",
                    severity=Severity.BREAKS,
                    applicability=partial(pinned_level, context, call),
                    fix=partial(unpin, context, call),
                )


def _is_unheard(context: Context) -> bool:
    """Whether nobody sees a loader warn, or the project's torch has it ask for CUDA itself."""
    return context.settings.is_bound_before(_FIRST_WARNING) or shows_no_warnings(context)


def _is_hook(context: Context, call: ast.Call) -> bool:
    """Whether it stands in a method `pin_memory`, which a loader calls of what it pins, on CUDA."""
    function = context.index.function(call)
    return (
        function is not None
        and function.name == "pin_memory"
        and isinstance(context.index.parents.get(function), ast.ClassDef)
    )


def _asked_for(context: Context, call: ast.Call) -> bool:
    """`if pin_memory:`, `if x.is_pinned():`: only where memory was, or shall be, pinned."""
    for parent in context.index.ancestors(call):
        if isinstance(parent, ast.If | ast.IfExp):
            if matches("pinning-words", ast.unparse(parent.test)):
                return True
        elif isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
            return False
    return False


def _only_on_cuda(context: Context, value: ast.expr) -> Fix | None:
    torch = torch_name(context, value)
    if torch is None:
        return None
    test, waits = pinning_test(context, value, torch)
    edit = replace(context.source, value, test)
    return Fix(pinned_message(context), (edit,), Applicability.SAFE, follows=True, waits=waits)
