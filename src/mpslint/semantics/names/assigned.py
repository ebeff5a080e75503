"""What assignments give to attributes."""

from __future__ import annotations

import ast

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
