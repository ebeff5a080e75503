"""The CPU fallback is switched on in code, which hides slow detours.

## What it does
Flags `PYTORCH_ENABLE_MPS_FALLBACK` set to anything but 0 in source code.

## Why is this bad?
With the variable every op that MPS lacks is silently computed on the CPU, with two copies and a
wait at each call. As a debugging aid it is fine; committed, it hides where the time goes, and
overrides what the user's environment says.

## Why is it opt-in?
For many projects a slow op is better than none, and they say so on purpose.

## Example
```python
os.environ["PYTORCH_ENABLE_MPS_FALLBACK"] = "1"
```
Use instead: ops that MPS has, or the variable in front of the command while debugging.

## What is not flagged
`setdefault`, which leaves the user's choice alone; files that pytest takes for tests.

## Fix safety
There is no fix.

## References
- PyTorch: MPS environment variables (`PYTORCH_ENABLE_MPS_FALLBACK`)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.packages.environment import writes
from mpslint.semantics.syntax.paths import is_test

_VARIABLE = "PYTORCH_ENABLE_MPS_FALLBACK"


@rule(
    "MPS505",
    "fallback-env-committed",
    severity=Severity.SLOW,
    triggers=(_VARIABLE.encode(),),
    default=False,
    unfixed="what should be done about the operators that MPS lacks is for its author to say",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if is_test(context.source.path):
        return
    for write in writes(context, _VARIABLE):
        if write.text == "0" or _leaves_the_users_choice(write.node):
            continue
        yield context.finding(
            rule, write.key, "the CPU fallback is switched on in code: it hides slow detours"
        )


def _leaves_the_users_choice(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "setdefault"
    )
