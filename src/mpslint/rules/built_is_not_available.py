"""`is_built()` is asked where `is_available()` is meant.

## What it does
Flags `torch.backends.mps.is_built()` and `torch.backends.cuda.is_built()` where nothing else is
asked before a device is selected or used.

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
reports (`print`, dictionaries, arguments); that of CUDA in tests, where it says no on each Mac.

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
from mpslint.semantics.purpose.test_files import is_test_file
from mpslint.semantics.worlds.events import Event, Kind
from mpslint.semantics.worlds.without_mps import build_tests, named

_BUILT_FOR_CUDA = "torch.backends.cuda.is_built"
_BUILT = {
    "torch.backends.mps.is_built": ("torch.backends.mps.is_available", True),
    _BUILT_FOR_CUDA: ("torch.cuda.is_available", False),
}


@rule(
    "MPS105",
    "built-is-not-available",
    severity=Severity.BREAKS,
    triggers=(b"is_built",),
    fix=Applicability.SAFE,
    unfixed="how the answer is used was not understood",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    told: set[ast.expr] = set()
    for event in _uses(context):
        for test in build_tests(context.worlds, event):
            if not isinstance(test, ast.Call) or test in told:
                continue
            name = context.resolve(test.func)
            if name not in _BUILT:
                continue
            if name == _BUILT_FOR_CUDA and is_test_file(context):
                continue  # On a Mac it says no, as no wheel for Macs is built for CUDA.
            told.add(test)
            yield _finding(context, rule, test, *_BUILT[name])


def _uses(context: Context) -> Iterator[Event]:
    """Devices that are written out, other than to compare with them, and calls for one."""
    for event in named(context.worlds, ("cuda", "mps", "cpu")):
        if not isinstance(context.index.parents[event.node], ast.Compare):
            yield event
    for event in context.worlds.events(Kind.CALLED):
        if event.name.startswith(("torch.mps.", "torch.cuda.")):
            yield event


def _finding(
    context: Context, rule: Rule, call: ast.Call, available: str, replaceable: bool
) -> Finding:
    fixable = replaceable and isinstance(call.func, ast.Attribute)
    finding = context.finding(
        rule,
        call.func,
        f"is_built() is true where the device is not there: ask {available}()",
        applicability=Applicability.SAFE if fixable else None,
        fix=partial(_ask_available, context, call) if fixable else None,
    )
    finding.follows = True
    return finding


def _ask_available(context: Context, call: ast.Call) -> Fix | None:
    assert isinstance(call.func, ast.Attribute)
    start, end = context.name_token(call.func)
    edit = replace_span(context.source, start, end, "is_available")
    return Fix("Ask whether MPS is available", (edit,), Applicability.SAFE, follows=True)
