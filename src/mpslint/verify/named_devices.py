"""Lines that take a device as somebody names it: `if args.device != "auto": return
torch.device(args.device)`.

They run only where a device is named, and then do what was asked for, so that a run without that
option leaves nothing open.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator


def rows(text: bytes) -> set[int]:
    """The rows of such statements; none where the text does not parse."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return set()
    return {row for node in ast.walk(tree) if isinstance(node, ast.If) for row in _of(node)}


def _of(test: ast.If) -> Iterator[int]:
    asked = {ast.dump(part) for part in ast.walk(test.test) if _is_given(part)}
    for block in (test.body, test.orelse):
        if len(block) != 1:
            continue
        (statement,) = block
        given = _taken(statement)
        if given is not None and ast.dump(given) in asked:
            yield from range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)


def _is_given(node: ast.AST) -> bool:
    """A name, or a field of one: nothing that is worked out here."""
    if isinstance(node, ast.Attribute):
        return _is_given(node.value)
    return isinstance(node, ast.Name)


def _taken(statement: ast.stmt) -> ast.expr | None:
    """What is given out as a device, or put under a name, as it came."""
    if not isinstance(statement, ast.Return | ast.Assign | ast.AnnAssign):
        return None
    value = statement.value
    if isinstance(value, ast.Call):
        made = value.func
        name = made.attr if isinstance(made, ast.Attribute) else getattr(made, "id", "")
        if name != "device" or len(value.args) != 1 or value.keywords:
            return None
        value = value.args[0]
    return value if value is not None and _is_given(value) else None
