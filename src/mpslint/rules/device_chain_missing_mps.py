"""A device selection knows only CUDA and the CPU.

## What it does
Flags conditional expressions, `if` statements and helper functions that choose between a CUDA
device and the CPU by asking for CUDA, and never ask for MPS. Also tests for CUDA that only choose
what is said ("on one GPU", "on the CPU"), where the device is chosen elsewhere.

## Why is this bad?
Nothing fails: on a Mac the program quietly runs on the CPU, often 10 to 30 times slower than on
the Apple GPU beside it. Where a switch chooses (`"cuda" if args.cuda else "cpu"`), the one choice
fails on a Mac and the other is slow.

## Example
```python
device = "cuda" if torch.cuda.is_available() else "cpu"
```
Use instead:
```python
device = (
    "cuda"
    if torch.cuda.is_available()
    else "mps"
    if torch.backends.mps.is_available()
    else "cpu"
)
```

## What is not flagged
Choices of anything but a device (a dtype, a backend, a number of workers); chains that know MPS
or `torch.accelerator`, before, after or around, or speak of MPS in a comment; functions named after
CUDA; code for another system; comparisons with a device that was selected elsewhere, and what
overrides the device of a model; a choice that only autocast follows, or tensors that several
processes exchange; devices that are only printed; devices that are handed to a library without MPS
(CTranslate2 and what is built on it, ONNX Runtime, TensorRT, vLLM, Paddle, CuPy, JAX), which would
raise where the CPU works.

## Fix safety
Safe: the new arm stands behind the CUDA arm, so on a machine with CUDA nothing changes. What the
user was asked (`--no-cuda`) is asked for MPS too. Unsafe where the file moves other things only
where CUDA is, in a way that no safe fix opens: they would stay on the CPU.

## References
- PyTorch: "MPS backend" (docs/source/notes/mps.rst)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Confidence, Finding, Severity
from mpslint.patterns.chain import add_mps_arm
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.announcements import untrue_on_mps
from mpslint.semantics.chains import Chain
from mpslint.semantics.consumers import foreign_consumer, reads
from mpslint.semantics.context import Context
from mpslint.semantics.cuda_decisions import deciding_flags, deciding_tests
from mpslint.semantics.flow import leaves
from mpslint.semantics.unused import never_used

_EXCHANGES = re.compile(r"all_?reduce|all_?gather|broadcast")
_SPEAKS_OF_MPS = re.compile(r"#.*\b(mps|metal|apple)\b", re.I)


@rule(
    "MPS103",
    "device-chain-missing-mps",
    severity=Severity.IGNORES,
    triggers=(b"cuda",),
    fix=Applicability.SAFE,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    chains = [chain for chain in context.chains.without_mps if not _is_meant(context, chain)]
    for chain in chains:
        falls = chain.cpu_arm if chain.cpu_arm is not None else chain.node
        start, end = _extent(context, chain)
        yield context.finding_at(
            rule,
            start,
            end,
            f"a Mac's GPU is never used: {_outcome(chain)} the CPU ({context.line(falls)})",
            labels=(context.label(falls, _end(chain)),),
            applicability=Applicability.SAFE,
            fix=partial(add_mps_arm, context, chain),
        )

    for value, test in deciding_flags(context, chains):
        message = f"a Mac's GPU is never used: the selection in {context.line(test)} follows this"
        yield context.finding(rule, value, message, labels=(context.label(test, "read here"),))
    for test in deciding_tests(context):
        message = "a Mac's GPU is never used: what follows is moved to CUDA or not at all"
        yield context.finding(rule, test, message)
    for node, said in untrue_on_mps(context):
        message = (
            f"only CUDA is asked for: {context.line(said)} says CPU on a Mac, whatever runs there"
        )
        label = context.label(said, "a Mac ends up here")
        yield context.finding(
            rule, node.test, message, confidence=Confidence.INFERRED, labels=(label,)
        )


def _outcome(chain: Chain) -> str:
    """What a Mac gets, but for the CPU: a switch that nobody compares with the machine may choose
    CUDA there, too."""
    if chain.asked_only:
        return "a switch chooses CUDA, which no Mac has, or"
    return "this selection falls to"


def _end(chain: Chain) -> str:
    return "all that works on a Mac" if chain.asked_only else "a Mac ends up here"


def _is_meant(context: Context, chain: Chain) -> bool:
    if _left_out(context, chain) or _only_for_autocast(context, chain):
        return True
    if _decides_nothing(context, chain):
        return True
    return _for_ranks(context, chain) or foreign_consumer(context, chain.cuda_arm) is not None


def _only_for_autocast(context: Context, chain: Chain) -> bool:
    """Whether only autocast follows the choice: where tensors live is decided elsewhere."""
    statement = context.index.parents[chain.node]
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    slots = [
        context.devices.slot(use)
        for use in reads(context, statement.targets[0])
        if isinstance(use, ast.expr)
    ]
    return bool(slots) and all(slot is not None and slot.kind == "autocast" for slot in slots)


def _decides_nothing(context: Context, chain: Chain) -> bool:
    """Whether the device is given to a variable that is printed, or not even that."""
    chosen = chain.node if isinstance(chain.node, ast.IfExp) else chain.cuda_arm
    parent = context.index.parents[chosen]
    if isinstance(parent, ast.Call) and context.resolve(parent.func) == "torch.device":
        parent = context.index.parents[parent]
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return False
    target = parent.targets[0]
    return isinstance(target, ast.Name) and never_used(context, target)


def _for_ranks(context: Context, chain: Chain) -> bool:
    """Whether the device is that of tensors which processes exchange, in a function that leaves at
    once where there is one process."""
    function = context.index.function(chain.node)
    if function is None or not any(_EXCHANGES.search(name) for name in context.index.calls):
        return False
    return any(
        isinstance(item, ast.If) and leaves(item.body) and "distributed" in ast.unparse(item.test)
        for item in function.body
    )


def _extent(context: Context, chain: Chain) -> tuple[int, int]:
    """The selection: the whole expression, or from the test of an `if` to the device it chooses."""
    if isinstance(chain.node, ast.IfExp):
        return context.source.span(chain.node)
    chosen: ast.AST = chain.cuda_arm
    while context.index.parents[chosen] is not chain.node:
        chosen = context.index.parents[chosen]
    return context.source.span(chain.test)[0], context.source.span(chosen)[1]


def _left_out(context: Context, chain: Chain) -> bool:
    """Whether a comment in the selection, or right above it, speaks of MPS: that was decided."""
    source = context.source
    last = chain.cpu_arm if chain.cpu_arm is not None else chain.node
    first = max(context.index.statement(chain.node).lineno - 1, 1)
    rows = range(first, source.position(source.span(last)[1])[0] + 1)
    return any(_SPEAKS_OF_MPS.search(source.line(row)) for row in rows)
