"""A package without a Metal backend is imported when the module is.

## What it does
Flags the first import, at module level, of each of flash_attn, xformers, apex, triton, deepspeed,
cupy, pynvml, tensorrt, transformer_engine, nvidia.dali and flashinfer.

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
functions and behind `pytest.importorskip`. bitsandbytes, which has an MPS path. A module that
imports the package and holds nothing but kernels for it is flagged too: what imports the module
must be guarded then, and a `# noqa` says so.

## Fix safety
There is no fix: what should happen without the package is for a human to say.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.model import Finding, Severity
from mpslint.rules.registry import Rule, rule
from mpslint.semantics.context import Context

_PACKAGES = (
    "flash_attn",
    "xformers",
    "apex",
    "triton",
    "deepspeed",
    "cupy",
    "pynvml",
    "tensorrt",
    "transformer_engine",
    "nvidia.dali",
    "flashinfer",
)


@rule(
    "MPS213",
    "cuda-only-import",
    severity=Severity.BREAKS,
    triggers=tuple(package.encode() for package in _PACKAGES),
)
def check(context: Context, rule: Rule) -> Iterator[Finding]:
    seen: set[str] = set()
    for statement in context.tree.body:
        for module, start in _imported(context, statement):
            package = _package(module)
            if package is None or package in seen or context.guards.has(statement, "cuda"):
                continue
            seen.add(package)
            yield context.finding_at(
                rule,
                start,
                start + len(module),
                f"{package} has no Metal backend: importing this module fails on a Mac",
            )


def _imported(context: Context, statement: ast.stmt) -> Iterator[tuple[str, int]]:
    """Modules that a statement imports, each with the offset of its name."""
    source = context.source
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            yield alias.name, source.span(alias)[0]
    elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
        start = source.span(statement)[0]
        yield statement.module, source.text.index(statement.module, start + len("from"))


def _package(module: str) -> str | None:
    for package in _PACKAGES:
        if module == package or module.startswith(package + "."):
            return package
    return None
