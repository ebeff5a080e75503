"""The parameters of a function, as they are written, and what they are where a call leaves them
out."""

from __future__ import annotations

import ast


def positional_parameters(arguments: ast.arguments) -> list[ast.arg]:
    """Those that have a place, in order."""
    return [*arguments.posonlyargs, *arguments.args]


def positional_names(arguments: ast.arguments) -> list[str]:
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


def required_parameters(arguments: ast.arguments) -> list[ast.arg]:
    """Those that each call has to give."""
    optional = [parameter for parameter, _ in defaults_of(arguments)]
    return [one for one in explicit_parameters(arguments) if one not in optional]
