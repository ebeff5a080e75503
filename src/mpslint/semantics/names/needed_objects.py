"""What a function, or who makes an object, must be given: by the classes that are annotated."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FunctionNode
from mpslint.semantics.syntax.parameters import positional_parameters, required_parameters


def needed_parameters(function: FunctionNode, *, bound: bool) -> Iterator[ast.expr]:
    """The classes of the parameters that each call must give, as they are written there; `bound`:
    the first of them is the object itself."""
    own = positional_parameters(function.args)[: int(bound)]
    for item in required_parameters(function.args):
        written = _class_of(item.annotation) if item not in own else None
        if written is not None:
            yield written


def needed_fields(owner: ast.ClassDef) -> Iterator[ast.expr]:
    """The classes of the fields without a default of a data class."""
    makers = (item.func if isinstance(item, ast.Call) else item for item in owner.decorator_list)
    if not any(last_name(maker) == "dataclass" for maker in makers):
        return
    for item in owner.body:
        if isinstance(item, ast.AnnAssign) and item.value is None:
            written = _class_of(item.annotation)
            if written is not None:
                yield written


def _class_of(annotation: ast.expr | None) -> ast.expr | None:
    """The one class of an annotation; None: it may be something else, or nothing."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        if not annotation.value.isidentifier():
            return None
        return ast.copy_location(ast.Name(annotation.value, ast.Load()), annotation)
    return annotation if isinstance(annotation, ast.Name | ast.Attribute) else None
