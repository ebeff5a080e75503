"""`PYTORCH_ENABLE_MPS_FALLBACK` is set after torch was imported, which has no effect.

## What it does
Flags assignments of the variable (`os.environ[...] = ...`, `setdefault`, `putenv`) that run after
an import of torch, or of a package known to import it, in the same file.

## Why is this bad?
torch reads the variable once, when its library is loaded. Set later, nothing changes: ops without
an MPS kernel go on raising `NotImplementedError`.

## Example
```python
import torch
os.environ["PYTORCH_ENABLE_MPS_FALLBACK"] = "1"
```
Use instead:
```python
os.environ["PYTORCH_ENABLE_MPS_FALLBACK"] = "1"
import torch
```

## What is not flagged
Assignments before the first such import, in a function that module code calls before it, and the
environment of another process (`env=...`). Imports of the project's own modules are not followed.

## Fix safety
Safe where both are top-level statements and the value is written out: the assignment moves above
the import of torch, with the comments above it.

## References
- `aten/src/ATen/mps/MPSFallback.mm` (a static initialiser)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Severity
from mpslint.patterns.early_environment import can_move_up, move_up
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.packages.environment import late_writes

_VARIABLE = "PYTORCH_ENABLE_MPS_FALLBACK"


@rule(
    "MPS504",
    "fallback-env-late",
    severity=Severity.IGNORES,
    triggers=(_VARIABLE.encode(),),
    fix=Applicability.SAFE,
    unfixed="the assignment does not stand at the top of the file, or its value is worked out",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for write, loaded in late_writes(context, _VARIABLE):
        movable = can_move_up(context, write, loaded)
        yield context.finding(
            rule,
            write.key,
            f"{_VARIABLE} is read when torch is imported ({context.line(loaded)}): "
            "setting it here does nothing",
            labels=(context.label(loaded, "torch is loaded here"),),
            applicability=Applicability.SAFE if movable else None,
            fix=partial(move_up, context, write, loaded) if movable else None,
        )
