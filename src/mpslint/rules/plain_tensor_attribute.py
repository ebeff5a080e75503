"""A plain tensor attribute of a module does not follow `.to(device)`.

## What it does
Flags `self.name = torch.<factory>(...)` in the `__init__` of a module, where other methods use the
attribute and nothing in the class moves it.

Opt-in: whether it meets a device tensor is often seen only at run time.

## Why is this bad?
`Module.to` moves parameters and buffers. A plain tensor stays on the CPU, and the first operation
with an input on the device raises.

## Example
```python
self.mask = torch.ones(8)
```
Use instead:
```python
self.register_buffer("mask", torch.ones(8), persistent=False)
```

## What is not flagged
`nn.Parameter`, `register_buffer`, names that the class registers as buffers, attributes that any
code of the file moves (`self.mask.to(...)`, `self.mask = self.mask.cuda()`), attributes that no
other method reads, 0-dim tensors.

## Fix safety
Unsafe: the attribute moves with the module from then on; it is left out of the state dict, so that
old checkpoints still load.

## References
- `torch/nn/modules/module.py` (`register_buffer`, `_apply`)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Fix, Severity
from mpslint.patterns.text import quote, replace
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.terms.value import CPU_ONLY, Kind

_MOVERS = ("to", "cuda", "type_as", "cpu", "numpy", "tolist", "item")


@rule(
    "MPS804",
    "plain-tensor-attribute",
    severity=Severity.BREAKS,
    triggers=(b"__init__",),
    default=False,
    fix=Applicability.UNSAFE,
    unfixed="how the attribute is made was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for statement in context.index.of(ast.Assign):
        target = statement.targets[0]
        if len(statement.targets) != 1 or not _is_own_attribute(target):
            continue
        assert isinstance(target, ast.Attribute)
        klass = _module_in_init(context, statement)
        if klass is None or not _is_plain_tensor(context, statement.value):
            continue
        if not _is_used_as_it_is(context, target, klass):
            continue
        yield context.finding(
            rule,
            target,
            f"`self.{target.attr}` stays on the CPU when the module is moved",
            confidence=Confidence.INFERRED,
            applicability=Applicability.UNSAFE,
            fix=partial(_fix, context, statement, target),
        )


def _is_own_attribute(target: ast.expr) -> bool:
    return (
        isinstance(target, ast.Attribute)
        and isinstance(target.value, ast.Name)
        and target.value.id == "self"
    )


def _module_in_init(context: Context, statement: ast.stmt) -> ast.ClassDef | None:
    function = context.index.enclosing(statement, *FUNCTIONS)
    klass = context.index.parents.get(function) if function is not None else None
    if not isinstance(klass, ast.ClassDef) or function.name != "__init__":  # type: ignore[union-attr]
        return None
    return klass if context.values.is_module_class(klass) else None


def _is_plain_tensor(context: Context, node: ast.expr) -> bool:
    name = context.resolve(node.func) if isinstance(node, ast.Call) else None
    if name is None or not name.startswith("torch.") or name.startswith("torch.nn."):
        return False
    assert isinstance(node, ast.Call)
    value = context.values.of(node)
    if value.kind is not Kind.TENSOR or value.devices != CPU_ONLY:
        return False
    if keyword(node, "device") is not None:
        return False
    scalar = name == "torch.tensor" and node.args and isinstance(node.args[0], ast.Constant)
    return not scalar


def _is_used_as_it_is(context: Context, target: ast.Attribute, klass: ast.ClassDef) -> bool:
    """Whether other methods read the attribute, and nothing moves or registers it."""
    read = False
    for use in context.index.attributes.get(target.attr, ()):
        if use is target:
            continue
        parent = context.index.parents[use]
        if isinstance(parent, ast.Attribute) and parent.attr in _MOVERS:
            return False
        if isinstance(use.ctx, ast.Store):
            return False
        inside = context.index.enclosing(use, ast.ClassDef) is klass
        method = context.index.function(use)
        if inside and method is not None and method.name != "__init__":
            read = True
    registered = any(
        isinstance(argument, ast.Constant) and argument.value == target.attr
        for call in context.index.calls.get("register_buffer", ())
        for argument in call.args[:1]
    )
    return read and not registered


def _fix(context: Context, statement: ast.Assign, target: ast.Attribute) -> Fix:
    mark = quote(context.source)
    value = context.source.segment(statement.value)
    text = f"self.register_buffer({mark}{target.attr}{mark}, {value}, persistent=False)"
    return Fix(
        "Register it as a buffer",
        (replace(context.source, statement, text),),
        Applicability.UNSAFE,
    )
