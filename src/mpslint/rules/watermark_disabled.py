"""A watermark ratio of 0 removes the allocation limit of MPS, and can bring macOS down.

## What it does
Flags `PYTORCH_MPS_HIGH_WATERMARK_RATIO` set to 0 in the environment of this or another process,
and `torch.mps.set_per_process_memory_fraction(0.0)`.

## Why is this bad?
The Mac's GPU shares its memory with the system. Without the limit a training run takes all of it,
and the whole machine swaps or restarts instead of this one process failing.

## Example
```python
os.environ["PYTORCH_MPS_HIGH_WATERMARK_RATIO"] = "0.0"
```
Use instead: a smaller batch or sequence length; a ratio up to 2 raises the limit and keeps one.

## What is not flagged
Other values, and reading the variable. Files that pytest takes for tests, and `conftest.py`: what
they train is small.

## Fix safety
There is no fix: the limit was removed for a reason that must be dealt with first.

## References
- The page on MPS environment variables in PyTorch's documentation
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.packages.environment import writes
from mpslint.semantics.syntax.paths import is_test

_VARIABLE = "PYTORCH_MPS_HIGH_WATERMARK_RATIO"


@rule(
    "MPS701",
    "watermark-disabled",
    severity=Severity.BREAKS,
    triggers=(_VARIABLE.encode(), b"set_per_process_memory_fraction"),
    unfixed="why the limit was removed must be dealt with first",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if is_test(context.source.path):
        return
    for write in writes(context, _VARIABLE):
        if _is_zero(write.text):
            yield context.finding(
                rule,
                write.value or write.key,
                f"{_VARIABLE}=0 removes the memory limit of MPS and can bring macOS down",
            )
    for call in context.calls_of("torch.mps.set_per_process_memory_fraction"):
        argument = call.args[0] if call.args else None
        if argument is None and call.keywords:
            argument = call.keywords[0].value
        if isinstance(argument, ast.Constant) and _is_zero(str(argument.value)):
            yield context.finding(
                rule,
                argument,
                "a memory fraction of 0 removes the memory limit of MPS and can bring macOS down",
            )


def _is_zero(text: str | None) -> bool:
    try:
        return text is not None and float(text) == 0
    except ValueError:
        return False
