"""Whether code runs only for some versions of torch, or with an error in mind."""

from __future__ import annotations

import ast

from mpslint.semantics.context import Context
from mpslint.semantics.names.flow import leaves

_VERSION_WORDS = frozenset(
    {"__version__", "version", "Version", "parse_version", "LooseVersion", "is_torch_version"}
)
# Fact: release notes of torch 1.0, "Removed": both went with the support of Lua's torch; those of
# torchtext 0.9 and 0.12, between which it had `legacy`: built for torch 1.8 to 1.11.
_BEFORE_MPS = ("torch.legacy.", "torch.utils.serialization.", "torchtext.legacy.")
"""Modules that no torch with MPS has. What those of Lua load is no `torch.nn.Module`: it has
`.cuda()`, and no `.to()`."""


def module_before_mps(context: Context) -> tuple[str, ast.stmt | None]:
    """A module that no torch with MPS has, and the statement that imports it; empty, and None:
    there is none."""
    for node in context.index.of(ast.Import):
        for alias in node.names:
            if f"{alias.name}.".startswith(_BEFORE_MPS):
                return alias.name, node
    for item in context.index.of(ast.ImportFrom):
        module = item.module or ""
        for name in (module, *(f"{module}.{alias.name}" for alias in item.names)):
            if not item.level and f"{name}.".startswith(_BEFORE_MPS):
                return name, item
    return "", None


def wants_torch_before_1(context: Context) -> bool:
    """Whether the file begins with what torch 1.0 took away: newer ones end there."""
    name, statement = module_before_mps(context)
    return name.startswith("torch.") and any(one is statement for one in context.tree.body)


def version_tested(context: Context, node: ast.AST) -> bool:
    """Whether `node` runs under a condition that asks for a version, or behind an exit on one."""
    child = node
    for parent in context.index.ancestors(node):
        if isinstance(child, ast.stmt) and _left_before(context, child):
            return True
        if isinstance(parent, ast.If | ast.IfExp | ast.While) and child is not parent.test:
            if _asks_version(context, parent.test):
                return True
        elif isinstance(parent, ast.BoolOp):
            for value in parent.values:
                if value is child:
                    break
                if _asks_version(context, value):
                    return True
        child = parent
    return False


def _left_before(context: Context, statement: ast.stmt) -> bool:
    """Whether an earlier statement of the same block leaves it for some versions."""
    parent = context.index.parents[statement]
    for field in ("body", "orelse", "finalbody"):
        block = getattr(parent, field, None)
        if isinstance(block, list) and any(item is statement for item in block):
            for earlier in block:
                if earlier is statement:
                    return False
                if isinstance(earlier, ast.If) and _asks_version(context, earlier.test):
                    if leaves(earlier.body):
                        return True
                elif isinstance(earlier, ast.Assert) and _asks_version(context, earlier.test):
                    return True
    return False


def _asks_version(context: Context, test: ast.expr) -> bool:
    for item in ast.walk(context.guards.behind(test)):
        word = item.attr if isinstance(item, ast.Attribute) else None
        if isinstance(item, ast.Name):
            word = item.id
        if word is not None and (word in _VERSION_WORDS or "version" in word.lower()):
            return True
    return False


def catches(context: Context, node: ast.AST, error: str) -> bool:
    """Whether `node` stands in a `try` that catches `error` (or everything)."""
    child = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, ast.Try) and any(item is child for item in parent.body):
            for handler in parent.handlers:
                kinds = handler.type
                items = kinds.elts if isinstance(kinds, ast.Tuple) else [kinds]
                for item in items:
                    last = item.attr if isinstance(item, ast.Attribute) else None
                    if isinstance(item, ast.Name):
                        last = item.id
                    if item is None or last in (error, "Exception", "BaseException"):
                        return True
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            return False
        child = parent
    return False
