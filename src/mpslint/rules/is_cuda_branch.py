"""`if x.is_cuda:` chooses the GPU path: on MPS the other one is taken.

## What it does
Flags a test of `.is_cuda` whose body moves data to the GPU.

## Why is this bad?
`.is_cuda` is False on MPS. What the body creates or moves then stays on the CPU, beside tensors
that are on the GPU: a slow path, or an error about two devices.

## Example
```python
if x.is_cuda:
    mask = mask.cuda()
```
Use instead:
```python
mask = mask.to(x.device)
```

## What is not flagged
Bodies that only call `torch.cuda.*` or CUDA kernels: those are right. A test that also asks for
MPS, an assertion, a comparison of two tensors' flags.

## Why is it opt-in?
The calls in the body have findings of their own (`cuda-method-call`), and a
branch that serves CUDA on purpose looks the same.

## References
- run with torch 2.13: `Tensor.is_cuda` is False off CUDA; `Tensor.is_mps` exists
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context


@rule(
    "MPS110",
    "is-cuda-branch",
    severity=Severity.IGNORES,
    triggers=(b"is_cuda",),
    default=False,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for flag in context.index.attributes.get("is_cuda", ()):
        if not isinstance(flag.ctx, ast.Load):
            continue
        branch = _branch(context, flag)
        if branch is None or "cuda" not in context.guards.implied(branch.test, True):
            continue
        if context.guards.has(flag, "cuda", "no-mps") or _asks_mps(branch):
            continue
        body = branch.body if isinstance(branch.body, list) else [branch.body]
        move = _move(body)
        if move is not None:
            start, end = context.name_token(flag)
            yield context.finding_at(
                rule,
                start,
                end,
                "is_cuda is False on MPS, so what this branch moves stays on the CPU there",
                labels=(context.label(move, "moved only on CUDA"),),
            )


def _branch(context: Context, flag: ast.Attribute) -> ast.If | ast.IfExp | None:
    """The branch that `flag` decides."""
    child: ast.AST = flag
    for parent in context.index.ancestors(flag):
        if isinstance(parent, ast.If | ast.IfExp):
            return parent if child is parent.test else None
        if not isinstance(parent, ast.BoolOp):
            return None
        child = parent
    return None


def _asks_mps(branch: ast.If | ast.IfExp) -> bool:
    tests = [branch.test]
    orelse = branch.orelse
    while isinstance(orelse, list) and len(orelse) == 1 and isinstance(orelse[0], ast.If):
        tests.append(orelse[0].test)
        orelse = orelse[0].orelse
    return any("mps" in ast.unparse(test) for test in tests)


def _move(body: list[ast.stmt] | list[ast.expr]) -> ast.Call | None:
    """The first call in `body` that moves something to CUDA."""
    for item in body:
        for node in ast.walk(item):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if node.func.attr == "cuda":
                    return node
                if node.func.attr == "to" and any(_says_cuda(a) for a in node.args):
                    return node
    return None


def _says_cuda(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.startswith("cuda")
    )
