"""A limit of the MPS allocator is set after torch was imported.

## What it does
Flags assignments of `PYTORCH_MPS_HIGH_WATERMARK_RATIO` and the other `PYTORCH_MPS_*` variables that
run after an import of torch in the same file.

## Why is this bad?
The allocator reads its limits when it is created. What is set later has no effect, and memory
errors go on as before.

## Why is it opt-in?
The allocator is created with the first MPS tensor, so an assignment between the import and that
tensor may still count; no release promises it.

## Example
```python
import torch
os.environ["PYTORCH_MPS_HIGH_WATERMARK_RATIO"] = "1.2"
```
Use instead:
```python
os.environ["PYTORCH_MPS_HIGH_WATERMARK_RATIO"] = "1.2"
import torch
```

## What is not flagged
Assignments before the import, and the environment of another process.

## Fix safety
Safe where both are top-level statements and the value is written out: the assignment moves up.

## References
- `MPSAllocator.h` (the constructor calls `init_allocator`)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Severity
from mpslint.patterns.early_environment import can_move_up, move_up
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.packages.environment import late_writes

_PREFIX = "PYTORCH_MPS_"


@rule(
    "MPS702",
    "watermark-late",
    severity=Severity.IGNORES,
    triggers=(_PREFIX.encode(),),
    default=False,
    fix=Applicability.SAFE,
    unfixed="the assignment does not stand at the top of the file, or its value is worked out",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for write, loaded in late_writes(context, _PREFIX):
        movable = can_move_up(context, write, loaded)
        yield context.finding(
            rule,
            write.key,
            f"{write.name} is read when the MPS allocator is created: "
            f"set it before torch is imported ({context.line(loaded)})",
            labels=(context.label(loaded, "torch is loaded here"),),
            applicability=Applicability.SAFE if movable else None,
            fix=partial(move_up, context, write, loaded) if movable else None,
        )
