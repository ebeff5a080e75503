"""Frameworks that put models and batches on a device by themselves, none of them on MPS, and the
modules that they run: those with a class that is registered with one, or derived from one of its.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.facts.priors import frameworks_without_mps
from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import root_name
from mpslint.semantics.syntax.index import FUNCTIONS


class Framework(NamedTuple):
    package: str

    def takes(self, tree: ast.Module) -> bool:
        """Whether a module gives it a class or a function to run."""
        names = set(self._names(tree))
        return any(
            root_name(part, ast.Attribute, ast.Call) in names
            for item in tree.body
            if isinstance(item, (ast.ClassDef, *FUNCTIONS))
            for part in (*item.decorator_list, *getattr(item, "bases", ()))
        )

    def _names(self, tree: ast.Module) -> Iterator[str]:
        """What the module calls the things that it has from the package, be they optional."""
        for item in (x for top in tree.body for x in _with_optional(top)):
            if isinstance(item, ast.Import):
                for alias in item.names:
                    if alias.name.partition(".")[0] == self.package:
                        yield alias.asname or self.package
            elif isinstance(item, ast.ImportFrom) and not item.level:
                if (item.module or "").partition(".")[0] == self.package:
                    yield from (alias.asname or alias.name for alias in item.names)


def _with_optional(statement: ast.stmt) -> list[ast.stmt]:
    return statement.body if isinstance(statement, ast.Try) else [statement]


def frameworks_of(data: bytes) -> list[Framework]:
    """The frameworks whose names a text has."""
    return [Framework(name) for name in frameworks_without_mps() if name.encode() in data]
