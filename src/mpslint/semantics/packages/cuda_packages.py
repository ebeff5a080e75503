"""Packages that only work with NVIDIA's GPUs, and where a module imports them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.facts.priors import (
    holds_without_mps,
    kernels_of,
    makers_without_mps,
)
from mpslint.semantics.syntax.expressions import asks_for_name
from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

CUDA_PACKAGES = (
    "flash_attn",
    "xformers",
    "apex",
    "triton",
    "cupy",
    "tensorrt",
    "transformer_engine",
    "nvidia.dali",
    "flashinfer",
)
KERNEL_PACKAGES = frozenset(
    {"triton", "cupy", "tensorrt", "tensorrt_llm", "tilelang", "cutlass", "pycuda", "cuda"}
    | {"transformer_engine", "msamp", "mamba_ssm", "causal_conv1d", "megatron"}
)
_KERNEL_FOLDERS = frozenset({"triton", "tilelang", "cutlass", "megatron"})
_CONSTRUCTORS = ("__init__", "__new__")
_MOVES = ("to", "cuda")
# Fact: torch_geometric/transforms/to_sparse_tensor.py, what asks for tensors of torch's own.
_OTHER_KINDS = frozenset({"layout", "backend"})


def about_kernels(tree: ast.Module) -> bool:
    """Whether a module cannot do without CUDA kernels: it imports what they are written with, or
    a module below a folder of them (`ops.triton.layer_norm`), and catches no failure of that."""
    return any(_imports_kernels(statement) for statement in tree.body)


def computes_without_mps(context: Context) -> bool:
    """Whether a module cannot do without a package whose data never gets to MPS, or makes such
    data: its models go where that is."""
    known = context.memo.get("computes without MPS")
    if known is None:
        known = context.memo["computes without MPS"] = any(
            map(_holds_without_mps, context.tree.body)
        ) or _makes_without_mps(context)
    return bool(known)


def imports_without_mps(context: Context) -> bool:
    """Whether a module imports such a package anywhere, be it where it needs that."""
    imports = (*context.index.of(ast.Import), *context.index.of(ast.ImportFrom))
    return any(map(_holds_without_mps, imports))


def _makes_without_mps(context: Context) -> bool:
    """Whether a module makes such data and takes them to a device: what stays where it was made is
    for the CPU on every machine."""
    if any(
        _OTHER_KINDS.isdisjoint(keyword.arg or "" for keyword in call.keywords)
        and not _is_optional(context, call)
        for call in context.calls_of(*makers_without_mps(whole=True))
    ):
        return True
    made = context.calls_of(*makers_without_mps(whole=False))
    return any(_is_moved(context, call) and not _is_optional(context, call) for call in made)


def _is_optional(context: Context, call: ast.Call) -> bool:
    """Whether a program may do without a call: `if WITH_TORCH_SPARSE:`."""
    return any(
        isinstance(parent, ast.If | ast.IfExp) and not asks_for_name(parent.test)
        for parent in context.index.ancestors(call)
    )


def _is_moved(context: Context, call: ast.Call) -> bool:
    parent = context.index.parents[call]
    if isinstance(parent, ast.Attribute):
        return parent.attr in _MOVES
    if not isinstance(parent, ast.Assign):
        return False
    if any(isinstance(target, ast.Attribute) for target in parent.targets):
        return True  # a part of other data
    names = {target.id for target in parent.targets if isinstance(target, ast.Name)}
    return any(
        isinstance(move.func, ast.Attribute)
        and isinstance(move.func.value, ast.Name)
        and move.func.value.id in names
        for attribute in _MOVES
        for move in context.index.calls.get(attribute, ())
    )


def _holds_without_mps(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Import):
        return any(holds_without_mps(alias.name) for alias in statement.names)
    if isinstance(statement, ast.ImportFrom) and not statement.level:
        module = statement.module or ""
        return any(holds_without_mps(f"{module}.{alias.name}") for alias in statement.names)
    return False


def made_without_mps(cls: ast.ClassDef) -> bool:
    """Whether no object of a class is made without a package of operators that are built for the
    CPU and CUDA alone: its constructor imports that, for what the object computes with."""
    return any(
        isinstance(statement, ast.ImportFrom)
        and not statement.level
        and (kernels_of(statement.module or "") is not None)
        for function in cls.body
        if isinstance(function, FUNCTIONS) and function.name in _CONSTRUCTORS
        for statement in function.body
    )


def refuses_without_kernels(context: Context, node: ast.AST) -> bool:
    """Whether the function or class around raises without such a package: `if not has_triton:`"""
    known = context.memo.get("refusing-without-kernels")
    if known is None:
        known = context.memo["refusing-without-kernels"] = _refusing(context)
    assert isinstance(known, set)
    return bool(known) and any(parent in known for parent in context.index.ancestors(node))


def _imports_kernels(statement: ast.stmt) -> bool:
    modules: list[str] = []
    if isinstance(statement, ast.Import):
        modules = [alias.name for alias in statement.names]
    elif isinstance(statement, ast.ImportFrom) and statement.module:
        modules = [statement.module]
    relative = isinstance(statement, ast.ImportFrom) and statement.level
    for module in modules:
        first, *rest = module.split(".")
        if first in KERNEL_PACKAGES and not relative:
            return True
        if _KERNEL_FOLDERS.intersection(rest):
            return True
    return False


def _refusing(context: Context) -> set[ast.AST]:
    """Functions that ask first of all for what only an import of kernels gives, and classes whose
    constructors do."""
    missing = {name for item in context.tree.body for name in _missing(item)}
    found: set[ast.AST] = set()
    if not missing:
        return found
    statements: list[ast.If | ast.Assert] = [
        *context.index.of(ast.If),
        *context.index.of(ast.Assert),
    ]
    for statement in statements:
        function = context.index.parents[statement]
        if isinstance(function, FUNCTIONS) and _refuses(statement, missing):
            owner = context.index.parents[function]
            whole = isinstance(owner, ast.ClassDef) and function.name in _CONSTRUCTORS
            found.add(owner if whole else function)
    return found


def _missing(statement: ast.stmt) -> Iterator[str]:
    """Names that stay `None` or `False` where the import of kernels fails."""
    if not isinstance(statement, ast.Try) or not any(map(_imports_kernels, statement.body)):
        return
    for handler in statement.handlers:
        for item in handler.body:
            if isinstance(item, ast.Assign) and _is_nothing(item.value):
                for target in item.targets:
                    names = target.elts if isinstance(target, ast.Tuple) else [target]
                    yield from (name.id for name in names if isinstance(name, ast.Name))


def _is_nothing(value: ast.expr) -> bool:
    if isinstance(value, ast.Tuple):
        return all(_is_nothing(item) for item in value.elts)
    return isinstance(value, ast.Constant) and not value.value


def _refuses(statement: ast.If | ast.Assert, missing: set[str]) -> bool:
    """`if not has_kernels: raise ImportError`, `assert kernel is not None`"""
    if isinstance(statement, ast.Assert):
        return _wants(statement.test, missing, True)
    return isinstance(statement.body[-1], ast.Raise) and _wants(statement.test, missing, False)


def _wants(test: ast.expr, missing: set[str], outcome: bool) -> bool:
    """Whether one of these names has to be there where `test` comes out so."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _wants(test.operand, missing, not outcome)
    if isinstance(test, ast.BoolOp):
        some = isinstance(test.op, ast.And) == outcome
        return (any if some else all)(_wants(item, missing, outcome) for item in test.values)
    if isinstance(test, ast.Compare):
        right = test.comparators[0]
        if not isinstance(test.ops[0], ast.Is | ast.IsNot) or not _is_nothing(right):
            return False
        return isinstance(test.ops[0], ast.IsNot) == outcome and _wants(test.left, missing, True)
    return outcome and isinstance(test, ast.Name) and test.id in missing


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
