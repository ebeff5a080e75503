"""A random generator must be on the device of the tensor that it fills.

## What it does
Flags a `torch.Generator()` (of the CPU) that is passed to a factory with another device, to a
method that fills a tensor of another device (`x.uniform_(generator=g)`) or to `torch.multinomial`
of one, by way of an attribute of the object or a parameter as well; and
`torch.set_default_device` with a GPU in a file whose `DataLoader(shuffle=True)` or `random_split`
gets no generator.

## Why is this bad?
`torch.randn(3, generator=g, device=device)` raises `Expected a 'mps' device type for generator but
found 'cpu'`. With a default device the sampler makes its permutation there with a generator of
the CPU, and raises likewise.

## Example
```python
g = torch.Generator()
x = torch.randn(3, generator=g, device=device)
```
Use instead:
```python
g = torch.Generator(device)
x = torch.randn(3, generator=g, device=device)
```

## What is not flagged
A generator that goes to a `DataLoader` or a sampler while no default device is set (it must stay on
the CPU), factories without a device, `torch.Generator("cuda")` (see `hardcoded-cuda-device`).

## Fix safety
Unsafe: a generator of another device draws other numbers. None is offered where the generator is
made in another function.

## References
- pytorch#110820; transformers#31897
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Fix, Severity
from mpslint.patterns.text import insert
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.terms.value import Kind
from mpslint.semantics.terms.value_tables import FACTORIES, LIKE_FACTORIES

_FROM_TENSORS = frozenset({"multinomial", "bernoulli", "poisson"})
_METHODS = frozenset(
    {"uniform_", "normal_", "bernoulli_", "random_", "exponential_", "geometric_", "cauchy_"}
    | {"log_normal_", "multinomial", "bernoulli"}
)
"""Methods of a tensor that draw where that is."""


@rule(
    "MPS412",
    "generator-device",
    severity=Severity.BREAKS,
    triggers=(b"Generator", b"set_default_device"),
    fix=Applicability.UNSAFE,
    unfixed="where the generator is made was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for item in context.index.of(ast.keyword):
        if item.arg == "generator":
            call = context.index.parents[item]
            if isinstance(call, ast.Call):
                yield from _drawing(context, rule, call, item.value)
    yield from _default_device(context, rule)


def _drawing(
    context: Context, rule: Rule, call: ast.Call, generator: ast.expr
) -> Iterator[Finding]:
    """A call that draws on a device with a generator of the CPU."""
    device = keyword(call, "device")
    if not _draws_on_device(context, call, device) or not context.worlds.on_mps(call):
        return
    made = _made(context, generator)
    if made is None:
        return
    local = isinstance(generator, ast.Name | ast.Call) and _made_here(context, generator) is made
    fixable = local and device is not None
    yield context.finding(
        rule,
        generator,
        "the generator is on the CPU: raises when the tensor is made on another device",
        confidence=Confidence.INFERRED,
        labels=(context.label(made, "made here, without a device"),),
        applicability=Applicability.UNSAFE if fixable else None,
        fix=partial(_fix, context, made, device, generator)
        if fixable and device is not None
        else None,
    )


def _draws_on_device(context: Context, call: ast.Call, device: ast.expr | None) -> bool:
    """Whether what is drawn is on a device other than the CPU: where the factory is told, or where
    the tensor is that is filled or drawn from."""
    name = (context.resolve(call.func) or "").removeprefix("torch.")
    if name in FACTORIES | LIKE_FACTORIES:
        devices = context.values.of(device).devices if device is not None else None
    elif name in _FROM_TENSORS:
        first = context.values.of(call.args[0]) if call.args else None
        devices = first.devices if first is not None and first.kind is Kind.TENSOR else None
    elif isinstance(call.func, ast.Attribute) and call.func.attr in _METHODS:
        owner = context.values.of(call.func.value)
        devices = owner.devices if owner.kind is Kind.TENSOR else None
    else:
        return False
    return bool(devices) and devices != frozenset({"cpu"})


def _made(context: Context, generator: ast.expr) -> ast.Call | None:
    """The `torch.Generator()` without a device that `generator` is: where it is made in the same
    function, all that an attribute of the object is given, or what some call hands over."""
    here = _made_here(context, generator)
    if here is not None:
        return here
    if isinstance(generator, ast.Attribute):
        found = [_made_here(context, item) for item in context.sources.attribute(generator)]
        return found[0] if found and None not in found else None
    if isinstance(generator, ast.Name):
        given = (_made_here(context, item) for item in context.sources.handed_over(generator))
        return next(filter(None, given), None)
    return None


def _made_here(context: Context, generator: ast.expr) -> ast.Call | None:
    """The `torch.Generator()` without a device that `generator` is, `.manual_seed(...)` or not."""
    if isinstance(generator, ast.Name):
        bindings = context.flow.reaching(generator)
        if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].value is None:
            return None
        generator = bindings[0].value
    if not isinstance(generator, ast.Call):
        return None
    if context.resolve(generator.func) == "torch.Generator":
        return None if generator.args or generator.keywords else generator
    if isinstance(generator.func, ast.Attribute) and generator.func.attr == "manual_seed":
        return _made_here(context, generator.func.value)
    return None


def _fix(context: Context, made: ast.Call, device: ast.expr, generator: ast.expr) -> Fix | None:
    """Give the generator the device, where its name means the same when it is made."""
    if not isinstance(device, ast.Name | ast.Constant):
        return None
    if isinstance(device, ast.Name):
        there = context.flow.reaching_name(device.id, made)
        if set(there) != set(context.flow.reaching(device)):
            return None
        if context.names.owner(device.id, made) is not context.names.owner(device.id, device):
            return None
    if isinstance(generator, ast.Name) and _other_uses(context, generator):
        return None
    end = context.source.span(made)[1]
    edit = insert(end - 1, context.source.segment(device))
    return Fix("Make the generator on the device", (edit,), Applicability.UNSAFE)


def _other_uses(context: Context, generator: ast.Name) -> bool:
    """Whether the generator also goes somewhere that wants it on the CPU."""
    for use in context.index.names.get(generator.id, ()):
        parent = context.index.parents[use]
        if use is generator or isinstance(use.ctx, ast.Store):
            continue
        if isinstance(parent, ast.keyword):
            call = context.index.parents[parent]
            if not isinstance(call, ast.Call) or keyword(call, "device") is None:
                return True
        elif not isinstance(parent, ast.Attribute):
            return True
    return False


def _default_device(context: Context, rule: Rule) -> Iterator[Finding]:
    sets = [
        call
        for call in context.calls_of("torch.set_default_device")
        if call.args and not context.values.of(call.args[0]).on_cpu
    ]
    if not sets:
        return
    for call in context.calls_of("torch.utils.data.DataLoader", "torch.utils.data.random_split"):
        split = context.values.last_name(call.func) == "random_split"
        shuffle = keyword(call, "shuffle")
        shuffles = isinstance(shuffle, ast.Constant) and shuffle.value is True
        given = keyword(call, "generator") is not None or (split and len(call.args) > 2)
        if (split or shuffles) and not given and keyword(call, "sampler") is None:
            yield context.finding(
                rule,
                call.func,
                "draws with a generator of the CPU on the default device: raises on a GPU",
                confidence=Confidence.INFERRED,
                labels=(context.label(sets[0].func, "the default device is set here"),),
            )
