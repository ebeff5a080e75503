"""A tensor made in `forward` without `device=` is on the CPU and meets one that is not.

## What it does
Flags factories such as `torch.zeros`, `torch.arange` and `torch.eye` without `device=` in the
`forward` of a module, where what they make is combined with an argument (or given to a layer of the
module) before anything moves it.

## Why is it opt-in?
The same line raises on CUDA, so that code which has run there has it in what nobody runs, or runs
on the CPU. Readers of repositories that nobody here had seen called 9 of 12 findings wrong.

## Why is this bad?
The module and its input are on the device by then: `Expected all tensors to be on the same device`.

## Example
```python
def forward(self, x):
    return x + self.embedding(torch.arange(x.size(1)))
```
Use instead:
```python
def forward(self, x):
    return x + self.embedding(torch.arange(x.size(1), device=x.device))
```

## What is not flagged
What is moved afterwards (`.to(x.device)`, `.type_as(x)`); `zeros_like`, `x.new_zeros` and their
like; 0-dim tensors, which may meet any device; indices (`x[torch.arange(n)]` may be on the CPU);
what only shapes or Python code use; factories under `torch.device(...)` or after
`set_default_device`; scripts that run their modules themselves and never use a device; a class
that is written anew further down, with nothing on a device up to there.

## Fix safety
Unsafe: `device=` of the argument it meets.

## References
- https://pytorch.org/docs/stable/tensor_attributes.html#torch.device
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Fix, Severity
from mpslint.patterns.arguments import add_argument
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.operands.creations import Creations
from mpslint.semantics.syntax.index import FunctionNode
from mpslint.semantics.syntax.parameters import positional_parameters
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.values.values import FACTORIES


@rule(
    "MPS803",
    "factory-without-device",
    severity=Severity.BREAKS,
    triggers=(b"def forward",),
    names=tuple(name.encode() for name in sorted(FACTORIES)),
    called=True,
    fix=Applicability.UNSAFE,
    default=False,
    unfixed="the tensor that it meets is not seen to tell its device here",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if not context.placement.file_uses_devices and _is_run_here(context):
        return
    creations = Creations(context.index, context.names, context.flow, context.values)
    for name in sorted(FACTORIES):
        for call in context.index.calls.get(name, ()):
            function = creations.forward(call)
            if function is None:
                continue
            met = creations.meets_argument(call, function)
            if met is None or not context.worlds.on_mps(call):
                continue
            if _is_replaced_unmoved(context, function):
                continue
            yield context.finding(
                rule,
                call.func,
                "makes a CPU tensor that meets one of the module's device",
                confidence=Confidence.INFERRED,
                labels=(context.label(met, "they meet here"),),
                applicability=Applicability.UNSAFE,
                fix=partial(_fix, context, call, function),
            )


def _is_run_here(context: Context) -> bool:
    """Whether this file makes modules of its own classes outside of them: on the CPU, then."""
    for klass in context.index.of(ast.ClassDef):
        if context.values.is_module_class(klass):
            for call in context.index.calls.get(klass.name, ()):
                if context.index.enclosing(call, ast.ClassDef) is None:
                    return True
    return False


def _is_replaced_unmoved(context: Context, function: FunctionNode) -> bool:
    """Whether the class is written anew further down, as lessons do, and nothing is on a device up
    to there: what was made of the first one has stayed on the CPU."""
    klass = context.index.enclosing(function, ast.ClassDef)
    if klass is None or klass not in context.tree.body:
        return False
    later = [
        item.lineno
        for item in context.tree.body
        if isinstance(item, ast.ClassDef) and item.name == klass.name and item.lineno > klass.lineno
    ]
    return bool(later) and not context.placement.used_between(klass.lineno, min(later) - 1)


def _fix(context: Context, call: ast.Call, function: FunctionNode) -> Fix | None:
    for parameter in positional_parameters(function.args)[1:]:
        kind = context.values.annotation(parameter.annotation).kind
        if kind not in (Kind.TENSOR, Kind.UNKNOWN):
            continue
        edit = add_argument(context.source, call, f"device={parameter.arg}.device")
        if edit is None:
            return None
        message = f"Create it on the device of `{parameter.arg}`"
        return Fix(message, (edit,), Applicability.UNSAFE)
    return None
