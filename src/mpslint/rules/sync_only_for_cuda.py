"""A timer that waits for CUDA only gives a wrong number on MPS.

## What it does
Flags `torch.cuda.synchronize` under a test for CUDA that has no arm for MPS, where the clock is
read right after it (also one with arms for other accelerators and no `else`), and stand-ins such as
`synchronize = torch.cuda.synchronize if device_type == "cuda" else lambda: None`.

## Why is this bad?
The guard makes the code run on a Mac, where work is queued just the same: the clock is read before
it has run, and the benchmark reports a throughput that no chip has.

## Example
```python
if device.type == "cuda":
    torch.cuda.synchronize()
start = time.perf_counter()
```
Use instead:
```python
if device.type == "cuda":
    torch.cuda.synchronize()
elif device.type == "mps":
    torch.mps.synchronize()
start = time.perf_counter()
```

## What is not flagged
Files that do not speak of MPS or other accelerators at all: their timer has no third device.
A wait with an arm for MPS or for `torch.accelerator` in the same function; code that runs on CUDA
only, or times it in a way of its own; a wait that no clock read follows (before memory counters,
in clean-up code).

## Fix safety
Safe: on CUDA the first arm is taken as before.

## References
- karpathy/nanochat#792, `torch/mps/__init__.py` (`synchronize`)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Edit, Finding, Fix, Severity
from mpslint.patterns.backend_arm import mps_arm, mps_choice
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.accelerator_arms import Arms, arms_without_mps
from mpslint.semantics.context import Context
from mpslint.semantics.index import FUNCTIONS, FunctionNode
from mpslint.semantics.purpose import speaks_of_mps

_NEAR = 3
_HELPER = re.compile(r"sync", re.I)


@rule(
    "MPS602",
    "sync-only-for-cuda",
    severity=Severity.IGNORES,
    triggers=(b"synchronize",),
    fix=Applicability.SAFE,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for attribute in context.index.attributes.get("synchronize", ()):
        if context.resolve(attribute) != "torch.cuda.synchronize":
            continue
        branch = _cuda_branch(context, attribute)
        if branch is None or _mps_is_served(context, attribute):
            continue
        arms = _arms(context, attribute)
        if arms is None and (not speaks_of_mps(context) or _has_other_arm(context, branch)):
            continue
        if not _decides_a_time(context, attribute, branch if arms is None else arms.head):
            continue
        start, end = context.source.span(attribute)
        if isinstance(branch, ast.If) and _is_chosen(context, attribute):
            start = context.source.span(branch.test)[0]
        yield context.finding_at(
            rule,
            start,
            end,
            f"waits for {'CUDA' if arms is None else arms.served} only: "
            "on MPS the clock is read before the work has run",
            confidence=Confidence.INFERRED,
            labels=(context.label(branch.test, "false on MPS"),),
            applicability=Applicability.SAFE,
            fix=partial(_fix, context, branch, attribute),
        )


def _arms(context: Context, attribute: ast.Attribute) -> Arms | None:
    call = context.index.parents[attribute]
    return arms_without_mps(context, call) if isinstance(call, ast.Call) else None


def _is_chosen(context: Context, attribute: ast.Attribute) -> bool:
    """`if cuda: synchronize = torch.cuda.synchronize`: the choice is what is wrong."""
    return isinstance(context.index.parents[attribute], ast.Assign)


def _cuda_branch(context: Context, node: ast.AST) -> ast.If | ast.IfExp | None:
    """The test that lets `node` run on CUDA only, if the code around it runs elsewhere too."""
    child = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, (*FUNCTIONS, ast.Lambda, ast.ClassDef)):
            return None
        if isinstance(parent, ast.If | ast.IfExp):
            body = parent.body if isinstance(parent.body, list) else [parent.body]
            if not any(item is child for item in body):
                return None
            implied = context.guards.implied(parent.test, True)
            if implied.isdisjoint({"cuda", "asked-cuda"}):
                return None
            return None if context.guards.has(parent, "cuda", "no-mps", "caught") else parent
        child = parent
    return None


def _mps_is_served(context: Context, node: ast.AST) -> bool:
    """Whether the same function waits for MPS or for any accelerator as well."""
    function = context.index.function(node)
    for attribute in context.index.attributes.get("synchronize", ()):
        name = context.resolve(attribute) or ast.unparse(attribute)
        served = re.search(r"(^|\.)(mps|accelerator)\.synchronize$", name)
        if served and context.index.function(attribute) is function:
            return True
    return False


def _has_other_arm(context: Context, branch: ast.If | ast.IfExp) -> bool:
    """Whether the other arm is for MPS, or waits for some other accelerator."""
    orelse = branch.orelse if isinstance(branch.orelse, list) else [branch.orelse]
    for item in orelse:
        if isinstance(item, ast.If) and "mps" in context.guards.implied(item.test, True):
            return True
        waits = (
            a for a in context.index.attributes["synchronize"] if context.index.within(a, item)
        )
        if next(waits, None) is not None:
            return True
    return False


def _decides_a_time(context: Context, node: ast.AST, branch: ast.If | ast.IfExp) -> bool:
    reads = context.timing.clock_reads
    if not reads:
        return False
    function = context.index.function(node)
    if not isinstance(context.index.parents[node], ast.Call):
        return True  # `synchronize = torch.cuda.synchronize`, in a file that reads the clock
    statement = context.index.statement(branch)
    if function is not None and _HELPER.search(function.name) and _is_all(function, statement):
        return True
    if any(context.index.within(read, statement) for read in reads):
        return False  # CUDA is timed here in a way of its own.
    block = context.index.block(statement)
    place = next(i for i, item in enumerate(block) if item is statement)
    following = block[place + 1 : place + 1 + _NEAR]
    return any(
        context.index.within(read, item) and not context.guards.has(read, "cuda")
        for item in following
        for read in reads
    )


def _is_all(function: FunctionNode, statement: ast.stmt) -> bool:
    """Whether a function does nothing but `statement`."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return len(body) == 1 and body[0] is statement


def _fix(context: Context, branch: ast.If | ast.IfExp, attribute: ast.Attribute) -> Fix | None:
    edit: Edit | None
    if isinstance(branch, ast.If):
        edit = mps_arm(context, branch, attribute)
    else:
        edit = mps_choice(context, branch, attribute)
    if edit is None:
        return None
    return Fix("Wait for MPS as well", (edit,), Applicability.SAFE)
