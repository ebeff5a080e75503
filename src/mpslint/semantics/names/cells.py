"""What the cells of a marimo notebook hand each other by name.

Such a notebook is a Python file in which each cell is a function: what one cell imports, another
has as a parameter of the same name, and never a caller's to choose.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode

_APP = "App"
_CELL = "cell"
"""Fact: marimo writes `app = marimo.App()` and puts `@app.cell` above each cell
(https://docs.marimo.io/guides/editor_features/cells_in_files/)."""


def cells_of(tree: ast.Module) -> list[FunctionNode]:
    """The cells of a file; none where it is no notebook of marimo's."""
    apps = {
        target.id
        for item in tree.body
        if isinstance(item, ast.Assign) and _makes_app(item.value)
        for target in item.targets
        if isinstance(target, ast.Name)
    }
    if not apps:
        return []
    return [item for item in tree.body if isinstance(item, FUNCTIONS) and _is_cell(item, apps)]


def imported_in(cells: list[FunctionNode]) -> dict[str, str]:
    """What cells import, by the names under which others have it."""
    found: dict[str, str] = {}
    for cell in cells:
        for name, qualified in _imports(cell.body):
            found.setdefault(name, qualified)
    return found


def _makes_app(value: ast.expr) -> bool:
    """`marimo.App(width="full")`"""
    return (
        isinstance(value, ast.Call)
        and isinstance(value.func, ast.Attribute)
        and value.func.attr == _APP
        and isinstance(value.func.value, ast.Name)
    )


def _is_cell(function: FunctionNode, apps: set[str]) -> bool:
    for decorator in function.decorator_list:
        maker = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(maker, ast.Attribute) and maker.attr == _CELL:
            return isinstance(maker.value, ast.Name) and maker.value.id in apps
    return False


def _imports(body: list[ast.stmt]) -> Iterator[tuple[str, str]]:
    for item in body:
        if isinstance(item, ast.Import):
            for alias in item.names:
                top = alias.name.partition(".")[0]
                yield (alias.asname, alias.name) if alias.asname else (top, top)
        elif isinstance(item, ast.ImportFrom):
            module = "." * item.level + (item.module or "")
            dot = "" if module.endswith(".") else "."
            for alias in item.names:
                yield alias.asname or alias.name, f"{module}{dot}{alias.name}"
        elif isinstance(item, ast.Try | ast.If | ast.With):
            yield from _imports(item.body)
