"""`torch.LongTensor(data, device=device)` takes the CPU alone.

## What it does
Flags `device=` given to `torch.Tensor`, `torch.FloatTensor`, `torch.LongTensor` and their kind,
where it may be another than the CPU.

## Why is this bad?
These are the types of tensors on the CPU. They have the argument, and raise for every other device:
`RuntimeError: legacy constructor expects device type: cpu but device type: mps was passed`. So they
do on CUDA, where a program that runs has not come to this line yet.

## Example
```python
index = torch.LongTensor([[i, i] for i in range(n)], device=x.device)
```
Use instead:
```python
index = torch.tensor([[i, i] for i in range(n)], dtype=torch.long, device=x.device)
```

## What is not flagged
A device that is the CPU or None, code that no Mac comes to, what stands in a `try`, and a device
that is written out as CUDA (that is what is wrong first). The device of a tensor in tests that
name no device and move nothing. In tests and notebooks, which nobody imports, a parameter that is
the CPU by default and that no call of the file gives.

## Why is most of it told when asked for?
Where the file itself selects MPS, or writes it out, the line is told. Elsewhere which device it is
says the caller, and most such lines make data on the CPU, or nobody comes to them: readers called
four in ten of these findings right. `extend-select = ["MPS416"]` turns them on.

## Fix safety
There is no fix: what is given may be the data or the sizes.

## References
- `torch/csrc/utils/tensor_new.cpp` (`check_legacy_ctor_device`); run with torch 2.13
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Confidence, Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.purpose.test_files import is_test_file
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.syntax.parameters import positional_parameters
from mpslint.semantics.terms.facts_known import backend_word
from mpslint.semantics.terms.legacy_types import DTYPE_OF_TYPE
from mpslint.sources.opening import is_notebook

_CONSTRUCTORS = ("torch.Tensor", *(f"torch.{name}" for name in DTYPE_OF_TYPE))


@rule(
    "MPS416",
    "legacy-constructor-device",
    severity=Severity.BREAKS,
    triggers=(b"Tensor",),
    also=((b"device",),),
    partly=True,
    unfixed="whether the data or the sizes are given is not seen",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for call in context.calls_of(*_CONSTRUCTORS):
        given = keyword(call, "device")
        if given is None or _is_on_host(context, given) or _follows_a_test(context, given):
            continue
        if _is_never_given(context, given):
            continue
        if not context.worlds.on_mps(call) or context.worlds.is_caught(call):
            continue
        certain = "mps" in (context.values.of(given).devices or ())
        yield context.finding(
            rule,
            call.func,
            "raises RuntimeError for every device but the CPU: torch.tensor takes one for data,"
            " torch.empty for sizes",
            confidence=Confidence.CERTAIN if certain else Confidence.INFERRED,
            by_request=not certain,
        )


def _follows_a_test(context: Context, given: ast.expr) -> bool:
    """Whether the device is that of something else in a file of tests that names no device: what
    tests make is on the CPU where they do not say otherwise."""
    return (
        isinstance(given, ast.Attribute)
        and given.attr == "device"
        and not (isinstance(given.value, ast.Name) and given.value.id == "self")
        and is_test_file(context)
        and not context.devices.literals
        and not any(isinstance(c.func, ast.Attribute) for c in context.index.calls.get("cuda", ()))
        and not any(context.index.calls.get(name) for name in ("to", "device", "parametrize"))
    )


def _is_never_given(context: Context, given: ast.expr) -> bool:
    """Whether the device is a parameter of a function which only this file can call, and it does so
    without one: it is what it is by default, the CPU."""
    function = context.index.function(given)
    if function is None or not isinstance(given, ast.Name):
        return False
    if isinstance(context.index.parents[function], ast.ClassDef):
        return False
    if not is_notebook(context.source.path) and not is_test_file(context):
        return False
    places = positional_parameters(function.args)
    names = [one.arg for one in places]
    if given.id not in names:
        return False
    at = names.index(given.id)
    behind = len(names) - at
    defaults = function.args.defaults
    if behind > len(defaults) or not _is_on_host(context, defaults[-behind]):
        return False
    return all(
        isinstance(use.ctx, ast.Load)
        and isinstance(call := context.index.parents[use], ast.Call)
        and call.func is use
        and len(call.args) <= at
        and not any(isinstance(argument, ast.Starred) for argument in call.args)
        and all(item.arg not in (None, given.id) for item in call.keywords)
        for use in context.index.names.get(function.name, ())
    )


def _is_on_host(context: Context, given: ast.expr) -> bool:
    """Whether the device is the CPU, or none is given; or it is a text, which is told elsewhere."""
    if isinstance(given, ast.Constant):
        return given.value is None or backend_word(given) in ("cpu", "cuda")
    return context.values.of(given).on_cpu or context.guards.has(given, "cpu")
