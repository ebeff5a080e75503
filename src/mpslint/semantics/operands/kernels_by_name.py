"""Operators without a kernel for MPS that are called by another name than their own.

A table of functions, an argument, an attribute, a class derived from one of torch's: whoever
mentions such an operator without calling it lets somebody call it where nobody sees which it is.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from mpslint.facts.ops import support
from mpslint.semantics.operands.lacking_kernels import counted_release, lacking_names
from mpslint.semantics.syntax.expressions import last_name

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_ASKING = frozenset({"isinstance", "issubclass", "hasattr"})
_TENSOR = "torch.Tensor."
_ANNOTATED = ("annotation", "returns")


def kernels_by_name(context: Context) -> Iterator[ast.expr]:
    """Mentions of such operators, and of the modules that call them, that are no calls."""
    release = counted_release(context)
    if release is None:
        return
    names = lacking_names(release)
    lasts: dict[str, set[str]] = {}
    for name in names:
        lasts.setdefault(name.rpartition(".")[2], set()).add(name)
    index = context.index
    known_as = _aliases(context)
    for last in lasts:
        names_of = (last, *known_as.get(last, ()))
        named = [use for name in names_of for use in index.names.get(name, ())]
        for node in (*index.attributes.get(last, ()), *named):
            if _is_mention(context, node) and context.resolve(node) in lasts[last]:
                yield node
    for method, since in support().methods_since.items():
        for node in index.attributes.get(method, ()):
            if context.resolve(node) == _TENSOR + method and since > release:
                yield node
    for call in index.calls.get("getattr", ()):
        if isinstance(call.func, ast.Name) and len(call.args) > 1:
            module = context.resolve(call.args[0])
            if module is not None and module.startswith("torch"):
                if _may_ask_for(context, call.args[1], module, names):
                    yield call


def _aliases(context: Context) -> dict[str, list[str]]:
    """`ev` of `from torch.linalg import eigvals as ev`, by the name that it has there."""
    found: dict[str, list[str]] = {}
    for item in context.index.of(ast.ImportFrom):
        for alias in item.names:
            if alias.asname is not None:
                found.setdefault(alias.name, []).append(alias.asname)
    return found


def _is_mention(context: Context, node: ast.expr) -> bool:
    parent = context.index.parents.get(node)
    if not isinstance(getattr(node, "ctx", None), ast.Load) or isinstance(parent, ast.Compare):
        return False
    if isinstance(parent, ast.Call):
        return parent.func is not node and last_name(parent.func) not in _ASKING
    if isinstance(parent, ast.Tuple):
        around = context.index.parents.get(parent)
        if isinstance(around, ast.Call) and last_name(around.func) in _ASKING:
            return False
    if isinstance(parent, ast.Attribute | ast.Expr):
        return False
    return not any(getattr(parent, field, None) is node for field in _ANNOTATED)


def _may_ask_for(context: Context, asked: ast.expr, module: str, names: Collection[str]) -> bool:
    """Whether an operator is looked up by its name: the one that stands there, or any that a text
    of the file names."""
    if isinstance(asked, ast.Constant):
        return f"{module}.{asked.value!s}" in names
    return any(
        name.rpartition(".")[0] == module and context.index.spelled(name.rpartition(".")[2])
        for name in names
    )
