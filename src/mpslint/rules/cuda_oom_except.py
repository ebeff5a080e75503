"""`except torch.cuda.OutOfMemoryError` may miss the MPS out-of-memory error.

## What it does
Flags handlers that catch `torch.cuda.OutOfMemoryError` and no broader error.

## Why is this bad?
Up to torch 2.11 at least, MPS reports `RuntimeError: MPS backend out of memory`, which this
handler lets through, so the retry with a smaller batch never happens.

## Why is it opt-in?
Newer releases may raise `torch.OutOfMemoryError` on MPS too; nobody has measured from which one.

## Example
```python
except torch.cuda.OutOfMemoryError:
```
Use instead:
```python
except RuntimeError as error:
    if "out of memory" not in str(error):
        raise
```

## What is not flagged
Handlers that also name `RuntimeError` or a class above it, `try` statements with another handler
for `RuntimeError`, and code that runs only on CUDA.

## Fix safety
There is no fix: a broader handler needs a test of the message, which depends on the code.

## References
- pytorch/pytorch#130112 (`RuntimeError: MPS backend out of memory`)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context

_CUDA_ERRORS = {"torch.cuda.OutOfMemoryError"}
_BROAD = {"RuntimeError", "Exception", "BaseException"}


@rule(
    "MPS217",
    "cuda-oom-except",
    severity=Severity.IGNORES,
    triggers=(b"OutOfMemoryError",),
    default=False,
    unfixed="a broader handler needs a test of the message, which depends on the code",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for handler in context.index.of(ast.ExceptHandler):
        named = _classes(handler)
        found = [item for item in named if context.resolve(item) in _CUDA_ERRORS]
        if not found or not context.worlds.on_mps(handler):
            continue
        statement = context.index.parents[handler]
        handlers = getattr(statement, "handlers", [handler])
        others = [item for each in handlers for item in _classes(each)]
        if any(each.type is None for each in handlers):
            continue
        if any(isinstance(item, ast.Name) and item.id in _BROAD for item in others):
            continue
        yield context.finding(
            rule,
            found[0],
            "MPS may report that memory is out as a RuntimeError, which this handler misses",
        )


def _classes(handler: ast.ExceptHandler) -> list[ast.expr]:
    if handler.type is None:
        return []
    return list(handler.type.elts) if isinstance(handler.type, ast.Tuple) else [handler.type]
