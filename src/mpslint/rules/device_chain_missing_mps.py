"""A device selection knows only CUDA and the CPU.

## What it does
Flags conditional expressions, `if` statements and helper functions that choose between a CUDA
device and the CPU by asking for CUDA, and never ask for MPS.

## Why is this bad?
Nothing fails: on a Mac the program quietly runs on the CPU, often 10 to 30 times slower than on
the Apple GPU beside it.

## Example
```python
device = "cuda" if torch.cuda.is_available() else "cpu"
```
Use instead:
```python
device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
```

## What is not flagged
Choices of anything but a device (a dtype, a backend, a number of workers); chains that know MPS
or `torch.accelerator`, before, after or around; functions named after CUDA; code for another
system; comparisons with a device that was selected elsewhere.

## Fix safety
Safe: the new arm stands behind the CUDA arm, so on a machine with CUDA nothing changes. What the
user was asked (`--no-cuda`) is asked for MPS too.

## References
- PyTorch: "MPS backend" (docs/source/notes/mps.rst)
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from mpslint.model import Applicability, Finding, Severity
from mpslint.patterns.chain import add_mps_arm
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context


@rule(
    "MPS103",
    "device-chain-missing-mps",
    severity=Severity.IGNORES,
    triggers=(b"cuda",),
    fix=Applicability.SAFE,
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    for chain in context.chains.without_mps:
        place = chain.node if chain.node.__class__.__name__ == "IfExp" else chain.test
        falls = chain.cpu_arm if chain.cpu_arm is not None else chain.node
        row = context.source.position(context.source.span(falls)[0])[0]
        yield context.finding(
            rule,
            place,
            f"a Mac's GPU is never used: this selection falls to the CPU (line {row})",
            labels=(context.label(falls, "a Mac ends up here"),),
            applicability=Applicability.SAFE,
            fix=partial(add_mps_arm, context, chain),
        )
