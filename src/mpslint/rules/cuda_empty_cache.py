"""`torch.cuda.empty_cache()` does nothing on MPS.

## What it does
Flags calls of `torch.cuda.empty_cache` that run on every machine, and those that are the arm for
CUDA of a dispatch which has arms for other accelerators (`torch.xpu.empty_cache()`), none for MPS
and no `else`.

## Why is this bad?
Off CUDA the call returns without a word, and the memory that MPS caches stays taken: one report
measured 1,050 MB kept, and 2.7 MB after `torch.mps.empty_cache()`.

## Example
```python
torch.cuda.empty_cache()
```
Use instead:
```python
if torch.cuda.is_available():
    torch.cuda.empty_cache()
elif torch.backends.mps.is_available():
    torch.mps.empty_cache()
```

## What is not flagged
Files and functions that choose between CUDA and the CPU only: nothing of theirs is on MPS yet.
Files that know no device and leave it to other modules. Calls behind a test for CUDA or in code for
CUDA only, and with `torch.mps.empty_cache()` in the same function. Projects whose requirements let
in no torch from 2.0 on, the first that has it. Functions of a script that
nothing calls. The last statement of a program, of an arm of a test behind which nothing runs, or of
the function that the last statement calls: its memory goes with it. A constructor that has moved
nothing yet, and a function that only then moves what it made: nothing of theirs is on a device.
What a program calls once in front of its loop of training, where it has computed and let go nothing
before. What a server does when it is shut down. The arm of an error whose text tells of something
else than missing memory, and that of an error of nothing but letting go, which would only do it
again. A parent whose work on devices is all done by processes that it starts
(`Process(target=work)`): it has nothing there itself.

## Confidence
Where the call stands in no loop, nor in a function that its file calls in one, nor in one that a
server runs for each request or an interface for each click, or only in the arm of an error, the
finding is inferred: on code that nobody had looked at 26 of 38 such ones were
wrong or nothing that anybody would act on, of those in a loop 8 of 28. The inferred ones are
opt-in: `extend-select = ["MPS202"]` (or `--extend-select MPS202`) turns them on.

## Fix safety
Safe: on CUDA the same call is made. The device that the code works on is asked where it is at hand
(`if device.type == "cuda":`), else the machine. `torch.accelerator.empty_cache()` is
not written, because it runs into an internal assertion on MPS in torch 2.9 to 2.12.

## References
- `torch/mps/__init__.py` (`empty_cache`), pytorch/pytorch#186430
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from mpslint.facts.machines import SHORT_OF_MEMORY
from mpslint.facts.torch_releases import FIRST_WITH_CACHE_OF_MPS
from mpslint.model import Applicability, Confidence, Finding, Severity
from mpslint.patterns.backend_arm import serve_mps
from mpslint.patterns.dispatch import dispatch_statement
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.processes.child_processes import is_left_to_children
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.waits.first_use import is_before_first_use, is_before_training
from mpslint.semantics.waits.last_use import ends_program, ends_server
from mpslint.semantics.waits.served import is_served
from mpslint.semantics.worlds.events import Event

_LETTING_GO = ("torch.cuda.empty_cache", "gc.collect", "time.sleep")


@rule(
    "MPS202",
    "cuda-empty-cache",
    severity=Severity.IGNORES,
    triggers=(b"empty_cache",),
    also=((b"cuda",),),
    fix=Applicability.SAFE,
    least=Confidence.CERTAIN,
    unfixed="the call is part of more than a statement",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if context.settings.is_bound_before(FIRST_WITH_CACHE_OF_MPS):
        return
    found = list(_missing(context))
    calls = [event.call for event in found if event.on_mac]
    for event in found:
        fix = (
            partial(
                dispatch_statement,
                context,
                event.call,
                "{torch}.mps.empty_cache()",
                "Empty the cache of whichever device is there",
                calls=calls,
            )
            if event.on_mac
            else partial(serve_mps, context, event.call, "Empty the cache of MPS as well")
        )
        finding = context.finding(
            rule,
            event.call.func,
            "torch.cuda.empty_cache() does nothing on MPS: the memory stays taken",
            confidence=_confidence(context, event.call),
            applicability=Applicability.SAFE,
            fix=fix,
        )
        finding.quiet = _is_missed_by_nobody(context, event.call)
        yield finding


def _missing(context: Context) -> Iterator[Event]:
    """The calls that a Mac lacks, but for those that are not for its memory."""
    for event in context.effects_alone:
        if event.name != "torch.cuda.empty_cache" or not isinstance(event.node, ast.Call):
            continue
        if is_left_to_children(context, event.node):
            continue
        if _repairs_something_else(context, event.node) or _tries_again(context, event.node):
            continue
        yield event


def _is_missed_by_nobody(context: Context, call: ast.Call) -> bool:
    """Whether nothing needs the memory any more, or nothing has taken any yet."""
    return (
        ends_program(context, call)
        or ends_server(context, call)
        or is_before_first_use(context, call)
        or is_before_training(context, call)
    )


def _confidence(context: Context, call: ast.Call) -> Confidence:
    """Certain where it happens again and again: what stays taken once may never be missed."""
    if context.index.enclosing(call, ast.ExceptHandler) is not None:
        return Confidence.INFERRED
    function = context.index.enclosing(call, *FUNCTIONS)
    calls = context.index.calls.get(getattr(function, "name", ""), ())
    again = any(context.loops.innermost(item) is not None for item in (call, *calls))
    return Confidence.CERTAIN if again or is_served(context, call) else Confidence.INFERRED


def _repairs_something_else(context: Context, call: ast.Call) -> bool:
    """Whether this stands in the arm of an error whose text is not one of missing memory."""
    child: ast.AST = call
    for parent in context.index.ancestors(call):
        if isinstance(parent, ast.If) and child is not parent.test:
            texts = _texts_found(context, parent.test, child in parent.body)
            if texts and not any(word in text for text in texts for word in SHORT_OF_MEMORY):
                return context.index.enclosing(parent, ast.ExceptHandler) is not None
        elif isinstance(parent, (*FUNCTIONS, ast.ExceptHandler)):
            return False
        child = parent
    return False


def _tries_again(context: Context, call: ast.Call) -> bool:
    """Whether this stands in the arm of an error of statements that themselves do nothing but let
    go and empty the cache: what is told of there is told."""
    handler = context.index.enclosing(call, ast.ExceptHandler)
    attempt = context.index.parents[handler] if handler is not None else None
    if not isinstance(attempt, ast.Try):
        return False
    emptied = False
    for statement in attempt.body:
        value = statement.value if isinstance(statement, ast.Expr) else None
        name = context.resolve(value.func) if isinstance(value, ast.Call) else None
        if not isinstance(statement, ast.Delete) and name not in _LETTING_GO:
            return False
        emptied = emptied or name == "torch.cuda.empty_cache"
    return emptied


def _texts_found(context: Context, test: ast.expr, outcome: bool) -> list[str]:
    """The texts of which one was found where `"a" in str(error) or "b" in str(error)` comes to
    `outcome`; none, where it asks anything else."""
    if isinstance(test, ast.Name):
        given = context.flow.reaching(test)
        value = given[0].value if len(given) == 1 and given[0].kind == "assign" else None
        return _texts_found(context, value, outcome) if value is not None else []
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _texts_found(context, test.operand, not outcome)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or if outcome else ast.And):
        parts = [_texts_found(context, part, outcome) for part in test.values]
        return [text for part in parts for text in part] if all(parts) else []
    if not isinstance(test, ast.Compare) or not isinstance(test.comparators[0], ast.Call):
        return []
    if not isinstance(test.ops[0], ast.In if outcome else ast.NotIn):
        return []
    text = test.left.value if isinstance(test.left, ast.Constant) else None
    return [text.lower()] if isinstance(text, str) else []
