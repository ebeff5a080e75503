"""An op always runs on the CPU from MPS, whether or not the fallback is switched on.

## What it does
Flags, inside loops and `forward`, `torch.linalg.svd`, `pinv`, `torch.svd`, `pinverse`,
`svd_lowrank` and `pca_lowrank` where `min-torch` is below 2.14; and embeddings with `max_norm`
wherever they are made.

## Why is it opt-in?
Readers of repositories that nobody here had seen wanted none of its findings (3 of 3).

## Why is this bad?
Each call copies its input to the CPU, computes there, copies back and waits, with one warning in
the whole run. Embeddings with `max_norm` do so at every lookup, in every release so far.

## Example
```python
nn.Embedding(vocabulary, size, max_norm=1.0)
```
Use instead: an embedding without `max_norm`, and its weights clamped after the optimizer step.

## What is not flagged
Calls outside loops and `forward`, and data known to be on the CPU.

## Fix safety
There is no fix.

## References
- `aten/src/ATen/mps/MPSFallback.mm`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.facts.ops import release_text, support
from mpslint.model import Confidence, Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.operands.op_calls import op_calls

_EMBEDDINGS = (
    "torch.nn.Embedding",
    "torch.nn.EmbeddingBag",
    "torch.nn.functional.embedding",
    "torch.nn.functional.embedding_bag",
)


@rule(
    "MPS503",
    "always-fallback-op",
    severity=Severity.SLOW,
    triggers=(b"svd", b"pinv", b"lowrank", b"max_norm", b"old("),
    default=False,
    unfixed="what should stand in its place is for its author to say",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if b"max_norm" in context.source.data:
        yield from _embeddings(context, rule)
    table = support().fallback_until
    for call, name in op_calls(context, table):
        if _repeated(context, call):
            yield context.finding(
                rule,
                call.func,
                f"{name} runs on the CPU from MPS before torch {release_text(table[name])}, "
                "and waits for it each time",
                confidence=Confidence.INFERRED,
            )


def _embeddings(context: Context, rule: Rule) -> Iterator[Finding]:
    for call in context.calls_of(*_EMBEDDINGS):
        limit = next((k for k in call.keywords if k.arg == "max_norm"), None)
        if limit is None or not context.worlds.on_mps(call):
            continue
        # A value that is a parameter or an option is usually None.
        if isinstance(limit.value, ast.Constant) and isinstance(limit.value.value, int | float):
            yield context.finding(
                rule,
                call.func,
                "an embedding with max_norm goes to the CPU and back at every lookup on MPS",
            )


def _repeated(context: Context, call: ast.Call) -> bool:
    function = context.index.function(call)
    if function is not None and function.name == "forward":
        return True
    return context.loops.innermost(call) is not None
