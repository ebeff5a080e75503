"""Small, deterministic ways to break a script: the negative control asks whether the check would
notice.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple


class Mutant(NamedTuple):
    """What was done to the script, in words, and its new text."""

    what: str
    text: bytes


def candidates(text: bytes) -> list[Mutant]:
    """Broken variants of a script, the most telling one first; none when it does not parse."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []
    made = [_wrong_device_name(text, tree), _early_exit(text, tree)]
    return [mutant for mutant in made if mutant is not None]


def _wrong_device_name(text: bytes, tree: ast.Module) -> Mutant | None:
    """`torch.device("mps")` becomes `torch.device("mpz")`, wherever a device is made rather than
    asked about.
    """
    lines = text.splitlines(keepends=True)
    changed = False
    for node in sorted(_device_names(tree), key=lambda n: (n.lineno, n.col_offset), reverse=True):
        line = lines[node.lineno - 1]
        found = line.find(b"mps", node.col_offset, node.end_col_offset)
        if node.lineno == node.end_lineno and found >= 0:
            lines[node.lineno - 1] = line[:found] + b"mpz" + line[found + 3 :]
            changed = True
    return Mutant('misspells "mps"', b"".join(lines)) if changed else None


def _device_names(tree: ast.Module) -> Iterator[ast.Constant]:
    asked = {
        id(constant)
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare)
        for constant in ast.walk(node)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and node.value in ("mps", "mps:0")
            and id(node) not in asked
        ):
            yield node


def _early_exit(text: bytes, tree: ast.Module) -> Mutant | None:
    """The script ends with success right after its imports."""
    for node in tree.body:
        if _is_preamble(node):
            continue
        decorators = getattr(node, "decorator_list", [])
        row = decorators[0].lineno if decorators else node.lineno
        lines = text.splitlines(keepends=True)
        ending = b"\r\n" if lines and lines[0].endswith(b"\r\n") else b"\n"
        lines.insert(row - 1, b"raise SystemExit(0)" + ending)
        return Mutant("ends after its imports", b"".join(lines))
    return None


def _is_preamble(node: ast.stmt) -> bool:
    if isinstance(node, ast.Import | ast.ImportFrom):
        return True
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return True
    bodies = [node.body] if isinstance(node, ast.Try | ast.If) else []
    return bool(bodies) and all(
        isinstance(inner, ast.Import | ast.ImportFrom) for inner in bodies[0]
    )
