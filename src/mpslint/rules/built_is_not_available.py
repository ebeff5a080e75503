"""`is_built()` is asked where `is_available()` is meant.

## What it does
Flags `torch.backends.mps.is_built()` and `torch.backends.cuda.is_built()` as the only condition
of a branch that selects or uses a device.

## Why is this bad?
`is_built()` says what the wheel was compiled with, not what this machine can run: it is true on a
Mac whose macOS is too old, and in a container without the GPU.

## Example
```python
device = "mps" if torch.backends.mps.is_built() else "cpu"
```
Use instead:
```python
device = "mps" if torch.backends.mps.is_available() else "cpu"
```

## What is not flagged
`is_built()` beside `is_available()`, in the branch that explains why MPS is not available, and in
reports (`print`, dictionaries, arguments).

## Fix safety
Safe: what is available is built, so no machine on which the code worked takes another branch.

## References
- `torch/backends/mps/__init__.py` (docstring of `is_built`), docs/source/notes/mps.rst
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Fix, Severity
from mpslint.patterns.text import replace_span
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context

_BUILT = {
    "torch.backends.mps.is_built": ("mps", "torch.backends.mps.is_available", "is_available"),
    "torch.backends.cuda.is_built": ("cuda", "torch.cuda.is_available", None),
}


@rule(
    "MPS105",
    "built-is-not-available",
    severity=Severity.BREAKS,
    triggers=(b"is_built",),
    fix=Applicability.SAFE,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for call in context.calls_of(*_BUILT):
        test = _condition(context, call)
        name = context.resolve(call.func)
        if test is None or name is None:
            continue
        backend, available, replacement = _BUILT[name]
        if context.guards.has(test, backend, f"no-{backend}"):
            continue
        if _also_asked(context, test, available) or _explains(context, test, available):
            continue
        fixable = replacement is not None and isinstance(call.func, ast.Attribute)
        yield context.finding(
            rule,
            call.func,
            f"is_built() is true where the device is not there: ask {available}()",
            applicability=Applicability.SAFE if fixable else None,
            fix=partial(_ask_available, context, call) if fixable else None,
        )


def _condition(context: Context, call: ast.Call) -> ast.expr | None:
    """The whole test that the call decides, None where it only reports."""
    child: ast.AST = call
    for parent in context.index.ancestors(call):
        if isinstance(parent, ast.BoolOp) or (
            isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
        ):
            child = parent
            continue
        if isinstance(parent, ast.If | ast.IfExp | ast.While) and parent.test is child:
            return parent.test
        return None
    return None


def _also_asked(context: Context, test: ast.expr, available: str) -> bool:
    return any(
        isinstance(node, ast.Call) and context.resolve(node.func) == available
        for node in ast.walk(test)
    )


def _explains(context: Context, test: ast.expr, available: str) -> bool:
    """A branch that asks for more inside, or prints, raises and nothing more."""
    holder = context.index.parents[test]
    if not isinstance(holder, ast.If):
        return False
    arms = [*holder.body, *holder.orelse]
    if any(
        isinstance(node, ast.Call) and context.resolve(node.func) == available
        for arm in arms
        for node in ast.walk(arm)
    ):
        return True
    return all(
        isinstance(arm, ast.Raise | ast.Pass)
        or (isinstance(arm, ast.Expr) and _only_speaks(context, arm.value))
        for arm in holder.body
    )


def _only_speaks(context: Context, value: ast.expr) -> bool:
    """A text, or a call that is neither one of torch's nor a move."""
    if not isinstance(value, ast.Call):
        return isinstance(value, ast.Constant)
    name = context.resolve(value.func) or ast.unparse(value.func)
    return not name.startswith("torch.") and name.rsplit(".", 1)[-1] not in ("to", "cuda")


def _ask_available(context: Context, call: ast.Call) -> Fix | None:
    assert isinstance(call.func, ast.Attribute)
    start, end = context.name_token(call.func)
    edit = replace_span(context.source, start, end, "is_available")
    return Fix("Ask whether MPS is available", (edit,), Applicability.SAFE)
