"""Packages that only work with NVIDIA's GPUs, and where a module imports them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

CUDA_PACKAGES = (
    "flash_attn",
    "xformers",
    "apex",
    "triton",
    "cupy",
    "pynvml",
    "tensorrt",
    "transformer_engine",
    "nvidia.dali",
    "flashinfer",
)
KERNEL_PACKAGES = frozenset(
    {"triton", "cupy", "tensorrt", "tensorrt_llm", "tilelang", "cutlass", "pycuda", "cuda"}
    | {"transformer_engine", "msamp", "mamba_ssm", "causal_conv1d"}
)
_KERNEL_FOLDERS = frozenset({"triton", "tilelang", "cutlass"})


def about_kernels(tree: ast.Module) -> bool:
    """Whether a module cannot do without CUDA kernels: it imports what they are written with, or
    a module below a folder of them (`ops.triton.layer_norm`), and catches no failure of that."""
    for statement in tree.body:
        modules: list[str] = []
        if isinstance(statement, ast.Import):
            modules = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom) and statement.module:
            modules = [statement.module]
        for module in modules:
            first, *rest = module.split(".")
            relative = isinstance(statement, ast.ImportFrom) and statement.level
            if first in KERNEL_PACKAGES and not relative:
                return True
            if _KERNEL_FOLDERS.intersection(rest):
                return True
    return False


def module_imports(context: Context) -> Iterator[tuple[str, tuple[int, int]]]:
    """Packages of `CUDA_PACKAGES` that the module itself imports, unconditionally.

    Each import as the package and the offsets of the imported name, in source order.
    """
    for statement in context.tree.body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                start = context.source.span(alias)[0]
                yield from _found(alias.name, start)
        elif isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
            if _package(statement.module) is None:
                continue
            start = context.source.span(statement)[0]
            at = context.source.text.index(statement.module, start + len("from"))
            yield from _found(statement.module, at)


def _found(module: str, start: int) -> Iterator[tuple[str, tuple[int, int]]]:
    package = _package(module)
    if package is not None:
        yield package, (start, start + len(module))


def _package(module: str) -> str | None:
    for package in CUDA_PACKAGES:
        if module == package or module.startswith(package + "."):
            return package
    return None
