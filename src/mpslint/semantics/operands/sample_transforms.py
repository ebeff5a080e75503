"""What only the transforms of a data set, or the set itself, run: on samples, which lie on the CPU
until a batch of them is moved.

Such a transform is an object that is called with a sample and gives the sample back with more, or
something else, in it. A module that does so belongs to a model.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.operands.data_sets import is_of_data_set
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode
from mpslint.semantics.syntax.methods import method_of

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_DEPTH = 4
"""So many helpers, one called by the other, stand between a transform and what it does."""


def only_transforms_run(context: Context, node: ast.AST) -> bool:
    """Whether `node` stands in a transform of samples, in a data set, or in a function that nobody
    else uses."""
    return _is_of_transforms(context, node, _DEPTH)


def _is_of_transforms(context: Context, node: ast.AST, depth: int) -> bool:
    klass = context.index.enclosing(node, ast.ClassDef)
    if klass is not None:
        return _is_transform(context, klass) or is_of_data_set(context, node)
    outermost = next(
        (item for item in context.index.ancestors(node) if item in context.tree.body), None
    )
    if not isinstance(outermost, FUNCTIONS) or depth == 0 or context.elsewhere is None:
        return False
    uses = [
        use
        for use in context.index.names.get(outermost.name, ())
        if isinstance(use.ctx, ast.Load) and not context.index.within(use, outermost)
    ]
    return (
        bool(uses)
        and all(_is_of_transforms(context, use, depth - 1) for use in uses)
        and not context.elsewhere.uses(context.source.path, outermost.name, method=False)
    )


def _is_transform(context: Context, klass: ast.ClassDef) -> bool:
    if context.values.is_module_class(klass):
        return False
    called = method_of(klass, "__call__")
    return called is not None and _gives_back(context, called)


def _gives_back(context: Context, called: FunctionNode) -> bool:
    """Whether a function puts something into the one thing that it is given, and returns it."""
    if len(called.args.args) != 2 or called.args.vararg or called.args.kwonlyargs:
        return False
    sample = called.args.args[1].arg
    returned = [item for item in context.index.of(ast.Return) if _stands_in(context, item, called)]
    return (
        bool(returned)
        and all(isinstance(item.value, ast.Name) and item.value.id == sample for item in returned)
        and any(
            isinstance(part.ctx, ast.Store)
            and isinstance(part.value, ast.Name)
            and part.value.id == sample
            for part in ast.walk(called)
            if isinstance(part, ast.Attribute | ast.Subscript)
        )
    )


def _stands_in(context: Context, item: ast.Return, function: FunctionNode) -> bool:
    return context.index.function(item) is function
