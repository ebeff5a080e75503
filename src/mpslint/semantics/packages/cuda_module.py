"""Modules that are about CUDA as a whole: without it nothing of them is left to run.

Where such a module imports a package that only CUDA has, the import is no fault of it: what could
be mended is whoever imports the module.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from mpslint.semantics.gpus.several_gpus import program_needs_several
from mpslint.semantics.worlds.machines import MACS
from mpslint.sources.opening import is_notebook

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_ENGINES = frozenset({"tensorrt", "tensorrt_llm"})
"""They do nothing but build and run engines for NVIDIA's GPUs."""
_COMPILED = ("RawKernel", "RawModule", "ElementwiseKernel", "compile_with_cache", "load_module")
"""What CuPy makes kernels of CUDA's language with."""
_MEASURING = "torch.utils.benchmark"
# Fact: PyTorch's names of wheels for CUDA (`+cu101`), in a shell's line of a notebook's JSON.
_WHEEL = re.compile(r'(?:"|\\n)\s*[!%][^"]*(?:\+|_|/|-)cu\d{2,3}(?!\d)')


def is_about_cuda(context: Context, package: str) -> bool:
    """Whether the module that imports `package`, one that only CUDA has, exists for CUDA."""
    if package in _ENGINES or _defines_kernels(context, package):
        return True
    if program_needs_several(context) or _measures(context) or _installs_for_cuda(context):
        return True
    return _needs_kernels_of_the_project(context)


def _defines_kernels(context: Context, package: str) -> bool:
    if package == "triton":
        return any(context.resolve(x) == "triton.jit" for x in context.index.attributes["jit"])
    if package == "cupy":
        names = (
            context.resolve(x) or "" for word in _COMPILED for x in context.index.attributes[word]
        )
        return any(name.startswith("cupy.") for name in names)
    return False


def _needs_kernels_of_the_project(context: Context) -> bool:
    """Whether the module imports, without a way out, a module of the project that no Mac has: one
    that is compiled for CUDA, or needs one of these."""
    elsewhere = context.elsewhere
    return elsewhere is not None and any(
        not elsewhere.imports_on(context.source.path, module) & MACS
        for statement in context.tree.body
        for module in _modules(statement)
    )


def _modules(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    if isinstance(statement, ast.ImportFrom):
        return ["." * statement.level + (statement.module or "")]
    return []


def _measures(context: Context) -> bool:
    """Whether the module is a benchmark, by what it measures with."""
    return any(f"{name}.".startswith(f"{_MEASURING}.") for name in context.aliases)


def _installs_for_cuda(context: Context) -> bool:
    """Whether a notebook chooses wheels by CUDA: it names such a wheel to a shell, or spells a name
    from the version that torch was built with, which is `None` on a Mac."""
    if not is_notebook(context.source.path):
        return False
    if _WHEEL.search(getattr(context.source, "json", "")):
        return True
    return any(
        context.resolve(node) == "torch.version.cuda"
        and isinstance(context.index.parents[node], ast.Attribute)
        for node in context.index.attributes["cuda"]
    )
