"""Questions about the shape of an expression that need no knowledge of the file."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeGuard, TypeVar

from mpslint.semantics.syntax.index import walk

N = TypeVar("N", bound=ast.AST)


def last_name(node: ast.AST) -> str | None:
    """`c` of `a.b.c`, `a` of `a`."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else None


def root_of(node: N, *links: type[ast.expr]) -> N | ast.expr:
    """What a chain begins with: `args` of `args.sizes[0].get()`; `links`: what it may be made of,
    where that is not all of these."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        if links and not isinstance(node, links):
            break
        node = node.func if isinstance(node, ast.Call) else node.value  # type: ignore[assignment]
    return node


def root_name(node: ast.AST, *links: type[ast.expr]) -> str | None:
    """The name that a chain begins with; None: it begins with something else."""
    found = root_of(node, *links)
    return found.id if isinstance(found, ast.Name) else None


def names_in(node: ast.AST) -> set[str]:
    """The names that stand anywhere in a node, be they read or bound there."""
    return {item.id for item in walk(node) if isinstance(item, ast.Name)}


def taken_by(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    """What an import takes, by its whole name, as the file tells it: `..ops.fused`."""
    if isinstance(node, ast.Import):
        return alias.name
    module = "." * node.level + (node.module or "")
    return f"{module}{'' if module.endswith('.') else '.'}{alias.name}"


def keyword(node: ast.Call, name: str) -> ast.expr | None:
    """What a call gives by a name."""
    return next((k.value for k in node.keywords if k.arg == name), None)


def argument(node: ast.Call, at: int, name: str) -> ast.expr | None:
    """What a call gives a parameter, by its name or at its place."""
    given = keyword(node, name)
    return node.args[at] if given is None and len(node.args) > at else given


def arguments_for(node: ast.Call, at: int, name: str) -> list[ast.expr]:
    """What stands at a place of a call, and what it gives by a name: both only where the place is
    that of another parameter, as in `batch.to(dtype, device="cuda")` of some packages."""
    return [*node.args[at : at + 1], *(k.value for k in node.keywords if k.arg == name)]


def maker(decorator: ast.expr) -> ast.expr:
    """What is called to make a decorator, or the decorator itself."""
    return decorator.func if isinstance(decorator, ast.Call) else decorator


def only_raise(body: Sequence[ast.stmt]) -> ast.Raise | None:
    """The `raise` which, but for texts, is all that a function does."""
    done = [
        item
        for item in body
        if not (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant))
    ]
    return done[0] if len(done) == 1 and isinstance(done[0], ast.Raise) else None


def is_dtype(node: ast.expr) -> bool:
    last = last_name(node) or ""
    return last.endswith("dtype") or last in (
        "float",
        "int",
        "bool",
        "long",
        "float16",
        "float32",
        "float64",
        "bfloat16",
        "half",
        "double",
        "int64",
        "int32",
        "uint8",
    )


def is_main_test(test: ast.expr) -> bool:
    """`__name__ == "__main__"`, the test of the program itself."""
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.left, ast.Name)
        and test.left.id == "__name__"
    )


def is_main_block(node: ast.AST) -> TypeGuard[ast.If]:
    """`if __name__ == "__main__":`, which no import runs."""
    return isinstance(node, ast.If) and is_main_test(node.test)


def asks_for_name(test: ast.expr) -> bool:
    """Whether a test asks, among other things, whether the module is the program itself."""
    return "__name__" in names_in(test)


def is_path(node: ast.AST) -> bool:
    """Whether an expression is a name or a chain of attributes, which may be written twice."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def only_defines(tree: ast.Module) -> bool:
    """Whether a file does nothing itself."""
    return not any(
        isinstance(one, ast.For | ast.While | ast.With | ast.If)
        or (isinstance(one, ast.Expr) and isinstance(one.value, ast.Call))
        for one in tree.body
    )


def asked_for_type(node: ast.expr | None) -> ast.expr | None:
    """`x` of `x.type()`; None for anything else."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr == "type" and not node.args and not node.keywords:
            return node.func.value
    return None
