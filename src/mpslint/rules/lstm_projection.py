"""`nn.LSTM` with `proj_size` is not supported on MPS.

## What it does
Flags `torch.nn.LSTM(..., proj_size=n)` with a written-out n other than 0, which may be the default
of a parameter.

## Why is this bad?
`RuntimeError: LSTM with projections is not currently supported with MPS.`

## Example
```python
rnn = nn.LSTM(8, 16, proj_size=4)
```
Use instead: an LSTM followed by `nn.Linear`, which is not the same model: the recurrence then sees
the full hidden state.

## What is not flagged
`proj_size=0`, the default, sizes that come from elsewhere, and the default of a parameter that all
calls give.

## Fix safety
There is no fix, because the model would change.

## References
- `aten/src/ATen/native/mps/operations/RnnOps.mm` ("LSTM with projections is not currently
  supported with MPS")
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.syntax.expressions import argument
from mpslint.semantics.uses.taken_defaults import taken_default

_POSITION = 7


@rule(
    "MPS507",
    "lstm-projection",
    severity=Severity.BREAKS,
    triggers=(b"LSTM",),
    unfixed="an LSTM that MPS has would be another model",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for call in context.calls_of("torch.nn.LSTM"):
        size = argument(call, _POSITION, "proj_size")
        if size is None or not _nonzero(context, size):
            continue
        if context.worlds.on_mps(call) and not context.worlds.is_caught(call):
            yield context.finding(rule, size, "an LSTM with proj_size raises RuntimeError on MPS")


def _nonzero(context: Context, size: ast.expr) -> bool:
    """A number other than 0, written here, as the only value of a name, or as the default of a
    parameter."""
    given: ast.expr | None = size
    if isinstance(size, ast.Name):
        reaching = context.flow.reaching(size)
        is_local = len(reaching) == 1 and reaching[0].kind == "assign"
        given = reaching[0].value if is_local else taken_default(context, size)
    return isinstance(given, ast.Constant) and type(given.value) is int and given.value != 0
