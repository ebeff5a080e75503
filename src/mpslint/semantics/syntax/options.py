"""Options of a command line as `argparse` knows them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.expressions import keyword

if TYPE_CHECKING:
    from mpslint.semantics.syntax.index import Index


def options(index: Index, name: str) -> Iterator[ast.Call]:
    """The `add_argument` calls of a file that fill the attribute `name` of what was parsed."""
    for call in index.calls.get("add_argument", ()):
        if destination(call) == name:
            yield call


def destination(call: ast.Call) -> str | None:
    """The attribute that an `add_argument` call fills: `no_cuda` of `("-n", "--no-cuda")`, `device`
    of `("-device")`; None where the text does not say."""
    named = keyword(call, "dest")
    if named is not None:
        value = named.value if isinstance(named, ast.Constant) else None
        return value if isinstance(value, str) else None
    return flag(call).lstrip("-").replace("-", "_") or None


def flag(call: ast.Call) -> str:
    """What a user writes for an option: the first long flag, else the first of all."""
    flags = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    return next((text for text in flags if text.startswith("--")), flags[0] if flags else "")
