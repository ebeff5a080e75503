"""`torch.backends.cuda.sdp_kernel` chooses the kernel of attention by CUDA's own switches.

## What it does
Flags `with torch.backends.cuda.sdp_kernel(...):` where nothing makes sure that CUDA is there.

## Why is it opt-in?
Attention runs on MPS all the same: what is said here is a deprecation. Readers of repositories that
nobody here had seen called 8 of 8 findings true, and none of them worth a change.

## Why is this bad?
It has been deprecated since torch 2.3, warns each time it is entered, and is going to be removed.
Its switches are CUDA's. `torch.nn.attention.sdpa_kernel` names the kernels for every device.

## Example
```python
with torch.backends.cuda.sdp_kernel(enable_flash=False, enable_mem_efficient=False):
    y = attend(x)
```
Use instead:
```python
from torch.nn.attention import SDPBackend, sdpa_kernel

with sdpa_kernel(SDPBackend.MATH):
    y = attend(x)
```

## What is not flagged
Code that only runs where CUDA is, or that is about CUDA by the name of its function, class or file
or by the kernels it imports; `sdp_kernel(...)` that is not entered, and `sdp_kernel()`, which
chooses nothing; `torch.nn.attention`.
Switches that come from a table (`sdp_kernel(**config)`), unless MPS220 is asked for: off CUDA that
mostly leaves them all on.
Nothing, where `min-torch` is below 2.3, which has no `sdpa_kernel`.

## Fix safety
There is no fix: `sdp_kernel` leaves cuDNN's kernel on unless it is told otherwise, so which list of
kernels is meant is for its author to say.

## References
- `torch/backends/cuda/__init__.py`, `torch/nn/attention/__init__.py`
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Confidence, Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context

_SDP_KERNEL = "torch.backends.cuda.sdp_kernel"
_PORTABLE_SINCE = (2, 3)


@rule(
    "MPS220",
    "cuda-sdp-kernel",
    severity=Severity.IGNORES,
    triggers=(b"sdp_kernel",),
    also=((b"cuda",),),
    default=False,
    fix=None,
    least=Confidence.CERTAIN,
    unfixed="which kernels are meant, since cuDNN's stays on as well, is for its author to say",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    if context.settings.min_torch < _PORTABLE_SINCE:
        return
    for event in context.worlds.raising([_SDP_KERNEL]):
        call = event.call
        if not isinstance(context.index.parents[call], ast.withitem):
            continue
        if not call.args and not call.keywords:
            continue  # All kernels are on, as without it.
        yield context.finding(
            rule,
            call.func,
            f"{_SDP_KERNEL}() is deprecated, and its switches are CUDA's: "
            "torch.nn.attention.sdpa_kernel() names kernels on every device",
            confidence=Confidence.INFERRED if _comes_from_elsewhere(call) else Confidence.CERTAIN,
        )


def _comes_from_elsewhere(call: ast.Call) -> bool:
    """`sdp_kernel(**config)`: off CUDA such a table mostly leaves all kernels on."""
    return any(item.arg is None for item in call.keywords)
