"""What assignments give to attributes, and to the names of an unpacking."""

from __future__ import annotations

import ast

from mpslint.semantics.names.names import Binding
from mpslint.semantics.syntax.index import Index


class Assigned:
    """The assignments of a file to attributes, by their spelling."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._known: dict[str, list[tuple[ast.Attribute, ast.expr]]] | None = None
        self._spelled: dict[str, dict[str, list[ast.expr]]] = {}

    def to(self, node: ast.Attribute) -> list[ast.expr]:
        """Right sides of all assignments to the same spelling (`args.cuda`)."""
        if self._known is None:
            self._known = {}
            for statement in self._index.of(ast.Assign):
                for target in statement.targets:
                    self._note(target, statement.value)
            for annotated in self._index.of(ast.AnnAssign):
                self._note(annotated.target, annotated.value)
        candidates = self._known.get(node.attr)
        if not candidates:
            return []
        if node.attr not in self._spelled:
            by_text = self._spelled[node.attr] = {}
            for target, value in candidates:
                by_text.setdefault(ast.unparse(target), []).append(value)
        return list(self._spelled[node.attr].get(ast.unparse(node), ()))

    def _note(self, target: ast.expr, value: ast.expr | None) -> None:
        if isinstance(target, ast.Attribute) and value is not None and self._known is not None:
            self._known.setdefault(target.attr, []).append((target, value))


def bound_part(binding: Binding, name: str) -> ast.expr | None:
    """The expression that a binding gives to `name`, also out of `a, b = x, y`."""
    value = binding.value
    if binding.kind in ("assign", "annotate", "walrus"):
        return value
    if binding.kind != "unpack" or not isinstance(value, ast.Tuple | ast.List):
        return None
    for target in getattr(binding.node, "targets", ()):
        if isinstance(target, ast.Tuple | ast.List) and len(target.elts) == len(value.elts):
            for place, item in zip(target.elts, value.elts, strict=True):
                if isinstance(place, ast.Name) and place.id == name:
                    return item
    return None
