"""Calls of functions that end on a Mac with a NameError: what they use in their turn is imported
from a project's own kernels, or only where there is CUDA, with nothing put in its place elsewhere.

`try: from .kernels import fast` with `except ImportError: use = slow` leaves `fast` without a value
where there are no kernels, and so does an import below `if torch.cuda.is_available():`. The
function that uses it is for others than Macs, and so is one that always goes on to it, a test of
kernels say.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.project.compiled.kernel_imports import catches_failed_import, modules_of
from mpslint.semantics.syntax.index import FUNCTIONS, statements
from mpslint.semantics.uses.defined import definitions_around
from mpslint.semantics.worlds.machines import MACS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mpslint.semantics.context import Context
    from mpslint.semantics.names.names import Binding
    from mpslint.semantics.syntax.index import FunctionNode

_APPLY, _FORWARD = "apply", "forward"
# Fact: torch.autograd.Function: `apply` calls the `forward` of the class.
_CHOICES = (ast.Lambda, ast.IfExp, ast.BoolOp, ast.GeneratorExp)
_MAKERS = (ast.ListComp, ast.SetComp, ast.DictComp)
_COMPOUND = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Match, *FUNCTIONS, ast.ClassDef)
_OPEN = (*_CHOICES, *_MAKERS, *_COMPOUND)
"""What may be left out, in part or as a whole."""


def goes_on_to_kernels(context: Context, row: int) -> bool:
    """Whether a line stands in a function that goes on to what ends so, on each way through it."""
    return any(
        isinstance(one.node, FUNCTIONS) and _goes_on(context, one.node)
        for one in definitions_around(context, row)
    )


def _goes_on(context: Context, function: FunctionNode) -> bool:
    known = context.memo.setdefault("functions that go on to kernels", {})
    assert isinstance(known, dict)
    if function not in known:
        known[function] = any(
            _lacks(context, node) for node in _always(function.body) if isinstance(node, ast.expr)
        )
    return bool(known[function])


def _lacks(context: Context, node: ast.expr) -> str:
    """The name that an operator of autograd's lacks which is used here (`Fast.apply`), or a
    function that is called."""
    if isinstance(node, ast.Attribute) and node.attr == _APPLY:
        there, owner = _defined(context, node.value) or (context, None)
        methods = owner.body if isinstance(owner, ast.ClassDef) else []
        forward = next((it for it in methods if getattr(it, "name", "") == _FORWARD), None)
        return _missing_in(context, there, forward)
    return missing_name(context, node) if isinstance(node, ast.Call) else ""


def missing_name(context: Context, call: ast.Call) -> str:
    """The name that the function which is called lacks on each Mac; empty: none is known."""
    return _missing_in(context, *(_defined(context, call.func) or (context, None)))


def _missing_in(context: Context, there: Context, node: ast.AST | None) -> str:
    if not isinstance(node, FUNCTIONS):
        return ""
    for name in _always(node.body):
        if not isinstance(name, ast.Name) or not isinstance(name.ctx, ast.Load):
            continue
        bindings = there.names.module.bindings.get(name.id, [])
        if bindings and there.names.owner(name.id, name) is there.names.module:
            if all(_fails_on_macs(context, there, binding) for binding in bindings):
                return name.id
    return ""


def _defined(context: Context, called: ast.expr) -> tuple[Context, ast.AST] | None:
    """The function or class that a name stands for, and where it is defined."""
    there: Context = context
    bindings: tuple[Binding, ...] = ()
    if isinstance(called, ast.Name):
        bindings = tuple(context.names.module.bindings.get(called.id, ()))
    if not any(isinstance(binding.node, (*FUNCTIONS, ast.ClassDef)) for binding in bindings):
        qualified = context.resolve(called)
        found = context.definition_elsewhere(qualified) if qualified else None
        if found is None:
            return None
        there, bindings = found.context, found.bindings
    return (there, bindings[0].node) if len(bindings) == 1 else None


def _always(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """What is evaluated each time that a function with this body runs to its end; what stands in a
    choice or in a function of its own may not be, nor what stands below one that may have returned.
    What a `with` holds runs as what stands around it."""
    for statement in body:
        todo: list[ast.AST] = [statement]
        if isinstance(statement, ast.With | ast.AsyncWith):
            todo = [*statement.items]
        elif _may_return(statement):
            return
        while todo:
            node = todo.pop()
            if not isinstance(node, _OPEN):
                yield node
                todo += ast.iter_child_nodes(node)
        if isinstance(statement, ast.With | ast.AsyncWith):
            yield from _always(statement.body)
            if _may_return(statement):
                return


def _may_return(statement: ast.stmt) -> bool:
    """Whether a statement that holds others may end its function."""
    if isinstance(statement, (ast.Return, ast.ClassDef, *FUNCTIONS)):
        return False
    return any(isinstance(item, ast.Return) for item in statements(statement))


def _fails_on_macs(context: Context, there: Context, binding: Binding) -> bool:
    """Whether a binding is an import that fails on each Mac, and is caught, or is only made where
    there is CUDA."""
    node = binding.node
    parent = there.index.parents.get(node)
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return False
    is_caught = (
        isinstance(parent, ast.Try)
        and node in parent.body
        and any(map(catches_failed_import, parent.handlers))
    )
    if not is_caught and "cuda" not in there.guards.at(node):
        return False
    elsewhere = context.elsewhere
    return elsewhere is not None and not any(
        elsewhere.imports_on(there.source.path, module) & MACS for module in modules_of(node)
    )
