"""A program refuses to run without CUDA.

## What it does
Flags `assert torch.cuda.is_available()`, and `if not torch.cuda.is_available():` that raises or
exits.

## Why is this bad?
Most of what asks for a GPU this way runs on MPS as well, once its devices are selected, and on the
CPU for a try. The check says no before anything can.

## Example
```python
assert torch.cuda.is_available(), "needs a GPU"
```
Use instead:
```python
assert torch.cuda.is_available() or torch.backends.mps.is_available(), "needs a GPU"
```

## What is not flagged
Tests; functions, classes and files that are about CUDA by their names or by the kernels they
import, or about several GPUs by their names; checks of what the user or a caller has asked for
(`if device == "cuda" and not torch.cuda.is_available()`); checks that know MPS or another
accelerator; refusals that name NVIDIA, or stand in front of a process group on NCCL.

## Fix safety
Unsafe: the test also lets MPS in. Whether the code below runs there is for its author to say.

## References
- PyTorch: docs/source/notes/mps.rst
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Severity
from mpslint.patterns.refusal import admit_mps
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.cuda_machine import outcome
from mpslint.semantics.runtime_calls import about_cuda

_TEST_FILE = re.compile(r"(^|[/\\])(tests?[/\\]|test_|conftest)|_test\.py$")
_SEVERAL_GPUS = re.compile(r"multi_?gpu|n_?gpus?|n_devices|ddp|nccl|distributed|kernel", re.I)
_SETTLED = frozenset({"cuda", "asked-cuda", "no-mps", "mps", "accelerator", "darwin", "caught"})
_ON_REQUEST = re.compile(r"""['"]cuda|(?<!\.)\bdevice\b|use_?(cuda|gpu)|\bgpu""", re.I)
_LEAVERS = ("sys.exit", "os._exit", "exit", "quit")


@rule(
    "MPS118",
    "cuda-required",
    severity=Severity.BREAKS,
    triggers=(b"is_available", b"device_count"),
    also=((b"cuda",),),
    fix=Applicability.UNSAFE,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if _TEST_FILE.search(context.source.path):
        return
    for test, refused in (*_asserted(context), *_refused(context)):
        if not _asks_for_cuda(context, test) or outcome(context, test) is not (not refused):
            continue
        if _knows_others(context, test) or context.guards.has(test, *_SETTLED):
            continue
        if "asked-cuda" in context.guards.implied(test, refused):
            continue  # `if args.cuda and not torch.cuda.is_available()`
        if about_cuda(context, test) or _needs_several(context, test):
            continue
        if _names_nvidia(context, test) or _starts_nccl_next(context, test):
            continue
        fixable = admit_mps(context, test) is not None
        yield context.finding(
            rule,
            test,
            "refuses to run without CUDA: a Mac's GPU is never asked for",
            applicability=Applicability.UNSAFE if fixable else None,
            fix=partial(admit_mps, context, test) if fixable else None,
        )


def _names_nvidia(context: Context, test: ast.expr) -> bool:
    """Whether the refusal says that what follows is for NVIDIA's GPUs."""
    holder = context.index.parents[test]
    said: list[ast.AST] = [holder.msg] if isinstance(holder, ast.Assert) and holder.msg else []
    if isinstance(holder, ast.If):
        said += [*holder.body[-1:], *holder.orelse[-1:]]
    return any("nvidia" in ast.unparse(item).lower() for item in said)


def _starts_nccl_next(context: Context, test: ast.expr) -> bool:
    """Whether the block goes on with a process group on NCCL."""
    block = context.index.block(context.index.statement(test))
    after = [item for item in block if item.lineno > test.lineno and isinstance(item, ast.Expr)]
    return any(
        context.resolve(item.value.func) == "torch.distributed.init_process_group"
        and "nccl" in ast.unparse(item.value)
        for item in after
        if isinstance(item.value, ast.Call)
    )


def _asserted(context: Context) -> Iterator[tuple[ast.expr, bool]]:
    """Tests of assertions, with the outcome that ends the program."""
    for statement in context.index.of(ast.Assert):
        yield statement.test, False


def _refused(context: Context) -> Iterator[tuple[ast.expr, bool]]:
    """Tests of an `if` that does nothing but raise or exit."""
    for statement in context.index.of(ast.If):
        for block, refused in ((statement.body, True), (statement.orelse, False)):
            if block and _ends(context, block):
                yield statement.test, refused


def _ends(context: Context, block: list[ast.stmt]) -> bool:
    last = block[-1]
    if isinstance(last, ast.Raise):
        return True
    return (
        isinstance(last, ast.Expr)
        and isinstance(last.value, ast.Call)
        and (context.resolve(last.value.func) or ast.unparse(last.value.func)) in _LEAVERS
    )


def _knows_others(context: Context, test: ast.expr) -> bool:
    """Whether the test, or an arm beside it, asks for another accelerator."""
    holder = context.index.parents[test]
    text = ast.unparse(holder).lower()
    return any(word in text for word in ("mps", "xpu", "npu", "hpu", "accelerator"))


def _needs_several(context: Context, test: ast.expr) -> bool:
    """Whether the function, class or file around, or the check itself, says that it is about
    several GPUs or about kernels."""
    holders = [
        parent.name
        for parent in context.index.ancestors(test)
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]
    stem = re.split(r"[/\\]", context.source.path)[-1]
    return any(_SEVERAL_GPUS.search(word) for word in (stem, *holders, ast.unparse(test)))


def _asks_for_cuda(context: Context, test: ast.expr) -> bool:
    """Whether the machine is asked for CUDA here, and not because somebody asked for it before."""
    asks = any(
        isinstance(node, ast.Call) and (context.resolve(node.func) or "").startswith("torch.cuda.")
        for node in ast.walk(test)
    )
    wanted = [test]
    for parent in context.index.ancestors(test):
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
            break
        if isinstance(parent, ast.If) and not context.index.within(test, parent.test):
            wanted.append(parent.test)
    return asks and not any(_ON_REQUEST.search(ast.unparse(item)) for item in wanted)
