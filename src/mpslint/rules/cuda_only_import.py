"""A package without a Metal backend is imported when the module is.

## What it does
Flags the first import, at module level, of each of flash_attn, xformers, apex, triton, cupy,
tensorrt, transformer_engine, nvidia.dali and flashinfer.

## Why is it opt-in?
Who imports such a package without a way out mostly means to: readers of repositories that nobody
here had seen called 13 of 35 findings right, and 21 the business of programs for CUDA alone.

## Why is this bad?
None of them can be installed, or none does anything, on a Mac: the import raises
`ModuleNotFoundError`, and with it every module that imports this one, whether or not the package
would be used.

## Example
```python
import flash_attn
```
Use instead:
```python
try:
    import flash_attn
except ImportError:
    flash_attn = None
```

## What is not flagged
Imports below `try`, below any `if` (a platform, a CUDA test, `find_spec`, `TYPE_CHECKING`), inside
functions and behind `pytest.importorskip`; modules that are about CUDA as a whole, where what
imports them must be guarded: they define kernels (Triton's, or sources that CuPy compiles), build
or run engines of TensorRT, start a process group on NCCL, measure with `torch.utils.benchmark`,
import modules that the project compiles for CUDA alone, or are notebooks that install wheels by the
version of CUDA; what belongs to the project that makes the package (it lies beside a setup script
above the file): its tests and examples; modules that the project itself, or a module on the way to
them, imports below a `try` that goes on without them; bitsandbytes and deepspeed, which have an MPS
path.

## Fix safety
There is no fix: what should happen without the package is for a human to say.

## References
- Dao-AILab/flash-attention#770 ("we only support GPUs with CUDA capability")
"""

from __future__ import annotations

from collections.abc import Iterator

from mpslint.model import Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context
from mpslint.semantics.packages.cuda_module import is_about_cuda
from mpslint.semantics.packages.cuda_packages import CUDA_PACKAGES, module_imports


@rule(
    "MPS213",
    "cuda-only-import",
    severity=Severity.BREAKS,
    triggers=tuple(package.encode() for package in CUDA_PACKAGES),
    default=False,
    unfixed="what should happen without the package is for its author to say",
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    seen: set[str] = set()
    elsewhere = context.elsewhere
    for package, (start, end) in module_imports(context):
        if package in seen or is_about_cuda(context, package):
            continue
        seen.add(package)
        if elsewhere is not None and (
            elsewhere.develops(context.source.path, package)
            or elsewhere.is_optional(context.source.path)
        ):
            continue
        yield context.finding_at(
            rule,
            start,
            end,
            f"{package} has no Metal backend: importing this module fails on a Mac",
        )
