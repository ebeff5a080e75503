"""A default that is found out when the function is called, not while its module is imported.

`def f(device="cuda")` becomes `device=None`, with `if device is None:` as the first thing it does.
To ask for CUDA while the module is imported would settle which GPUs the process sees.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.patterns.text import indent_unit, insert, replace
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.parameters import defaults_of, given_for

if TYPE_CHECKING:
    from mpslint.model import Edit
    from mpslint.semantics.context import Context
    from mpslint.semantics.syntax.index import FunctionNode


def resolved_inside(
    context: Context, default: ast.expr, parameter: ast.AST, value: str
) -> tuple[Edit, ...] | None:
    """The edits; None where None is something of its own for the function, or the body has no line
    of its own."""
    if not isinstance(parameter, ast.arg) or _lists_values(context, parameter):
        return None
    arguments = context.index.parents[parameter]
    function = context.index.parents[arguments]
    if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        return None
    if _is_scripted(context, function):
        return None
    if context.index.parents[default] is not arguments or _means_another(context, parameter):
        return None
    if _may_be_given_none(context, function, parameter):
        return None
    first = next((item for item in function.body if not _says_nothing(item)), None)
    if first is None:
        return None
    source, name = context.source, parameter.arg
    row = min(item.lineno for item in (first, *getattr(first, "decorator_list", ())))
    start = source.starts[row - 1]
    if source.text[start : source.span(first)[0]].strip(" \t@"):
        return None  # behind the colon, or another statement
    indent, newline = source.indentation(row), source.newline
    text = (
        f"{indent}if {name} is None:{newline}{indent}{indent_unit(source)}{name} = {value}{newline}"
    )
    return (*_annotated(context, parameter), replace(source, default, "None"), insert(start, text))


def may_be_anything(context: Context, parameter: ast.arg) -> bool:
    """Whether the type of a parameter lets in None, or there is none."""
    annotation = parameter.annotation
    if annotation is None:
        return True
    text = context.source.segment(annotation)
    return "Optional" in text or "None" in text


def _annotated(context: Context, parameter: ast.arg) -> list[Edit]:
    """The parameter's type with None, as its file can say that. One that says it nowhere has types
    for its readers alone: these see the default."""
    annotation = parameter.annotation
    if annotation is None or may_be_anything(context, parameter):
        return []
    if isinstance(annotation, ast.Constant):
        return []
    text = context.source.segment(annotation)
    optional = _optional(context)
    if optional is not None:
        return [replace(context.source, annotation, f"{optional}[{text}]")]
    if _is_read_late(context):
        return [replace(context.source, annotation, f"{text} | None")]
    return []


def _is_scripted(context: Context, function: FunctionNode) -> bool:
    """Whether TorchScript compiles a function, or something of its file: there a default has the
    type that it says."""
    words = ("torch.jit.script", "torch.jit.export", "torch.jit.script_method")
    decorated = (
        item.func if isinstance(item, ast.Call) else item for item in function.decorator_list
    )
    called = next(iter(context.calls_of(words[0])), None)
    return called is not None or any(context.resolve(one) in words for one in decorated)


def _lists_values(context: Context, parameter: ast.arg) -> bool:
    """Whether the type is one of values that are written out (`Literal["cuda", "cpu"]`)."""
    annotation = parameter.annotation
    return annotation is not None and "Literal[" in context.source.segment(annotation)


def _optional(context: Context) -> str | None:
    """How the module calls `typing.Optional`."""
    for use in (
        *context.index.names.get("Optional", ()),
        *context.index.attributes.get("Optional", ()),
    ):
        if context.resolve(use) == "typing.Optional":
            return context.source.segment(use)
    return None


def _is_read_late(context: Context) -> bool:
    """Whether annotations are evaluated by nobody: `X | None` needs no newer Python then."""
    return any(
        isinstance(item, ast.ImportFrom)
        and item.module == "__future__"
        and any(alias.name == "annotations" for alias in item.names)
        for item in context.tree.body
    )


def _means_another(context: Context, parameter: ast.arg) -> bool:
    """Whether the function asks for None itself: `if device is None: device = "cpu"`."""
    function = context.index.parents[context.index.parents[parameter]]
    for use in context.index.names.get(parameter.arg, ()):
        asked = context.index.parents[use]
        if isinstance(asked, ast.Compare) and context.index.within(asked, function):
            sides = (asked.left, *asked.comparators)
            if any(isinstance(one, ast.Constant) and one.value is None for one in sides):
                return True
    return False


def _may_be_given_none(context: Context, function: FunctionNode, parameter: ast.arg) -> bool:
    """Whether somebody gives the parameter None, which is the CPU for torch: a call, or a function
    of the same file that has a parameter of that name for it (a wrapper, a subclass)."""
    name, owner = parameter.arg, context.index.parents[function]
    known, skipped = function.name, None
    if isinstance(owner, ast.ClassDef) and known == "__init__":
        known, skipped = owner.name, 1
    elif isinstance(owner, ast.ClassDef):
        known = f"{owner.name}.{known}"
    others = context.elsewhere.calls(context.source.path, known) if context.elsewhere else ()
    called = [
        call
        for spelled in {function.name, known.rpartition(".")[2]}
        for call in context.index.calls.get(spelled, ())
    ]
    given = [
        given_for(function.args, call, name, skipped=skipped)
        for call in (*called, *others)
        if call is not None
    ]
    given += [
        item.value
        for call in context.index.of(ast.Call)
        for item in call.keywords
        if item.arg == name
    ]
    return any(
        one is not None and (_is_none(one) or _stands_for_none(context, one)) for one in given
    )


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _stands_for_none(context: Context, given: ast.expr) -> bool:
    """Whether what a function of the file hands on is a parameter of it that may be None, and of
    which it does not ask that itself."""
    function = context.index.function(given) if isinstance(given, ast.Name) else None
    if not isinstance(given, ast.Name) or not isinstance(function, FUNCTIONS):
        return False
    return any(
        one.arg == given.id and _is_none(value) and not _means_another(context, one)
        for one, value in defaults_of(function.args)
    )


def _says_nothing(statement: ast.stmt) -> bool:
    """A docstring, `pass`, `...`"""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    return isinstance(statement, ast.Pass)
