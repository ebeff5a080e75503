"""The parameters of a function, as they are written, and what they are where a call leaves them
out."""

from __future__ import annotations

import ast

from mpslint.semantics.syntax.expressions import keyword


def positional_parameters(arguments: ast.arguments) -> list[ast.arg]:
    """Those that have a place, in order."""
    return [*arguments.posonlyargs, *arguments.args]


def positional_names(arguments: ast.arguments) -> list[str]:
    """Their names."""
    return [parameter.arg for parameter in positional_parameters(arguments)]


def explicit_parameters(arguments: ast.arguments) -> list[ast.arg]:
    """All but `*args` and `**kwargs`: each takes one thing."""
    return [*positional_parameters(arguments), *arguments.kwonlyargs]


def defaults_of(arguments: ast.arguments) -> list[tuple[ast.arg, ast.expr]]:
    """The parameters that a call may leave out, each with what it is then."""
    placed = positional_parameters(arguments)
    named = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return [
        *zip(placed[len(placed) - len(arguments.defaults) :], arguments.defaults, strict=True),
        *((parameter, default) for parameter, default in named if default is not None),
    ]


def default_of(arguments: ast.arguments, parameter: ast.arg) -> ast.expr | None:
    """What a parameter is where a call leaves it out; None: each call has to give it."""
    return dict(defaults_of(arguments)).get(parameter)


def required_parameters(arguments: ast.arguments) -> list[ast.arg]:
    """Those that each call has to give."""
    optional = [parameter for parameter, _ in defaults_of(arguments)]
    return [one for one in explicit_parameters(arguments) if one not in optional]


def given_for(
    arguments: ast.arguments, call: ast.Call, name: str, *, skipped: int | None = None
) -> ast.expr | None:
    """What a call gives the parameter of this name; None: nothing, or nobody can tell. `skipped`:
    how many are given already; unless that is said the object, where the function is called by it.
    """
    given, names = keyword(call, name), positional_names(arguments)
    if given is not None or name not in names:
        return given
    if skipped is None:
        skipped = int(isinstance(call.func, ast.Attribute) and names[0] in ("self", "cls"))
    at = names.index(name) - skipped
    before = call.args[: max(at + 1, 0)]
    is_open = any(isinstance(one, ast.Starred) for one in before)
    return before[at] if 0 <= at < len(before) and not is_open else None
