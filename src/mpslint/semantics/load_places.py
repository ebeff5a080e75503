"""Where a checkpoint is loaded to by a function of its storages."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.value_syntax import last_name

if TYPE_CHECKING:
    from mpslint.semantics.index import Index


def places_a_checkpoint(index: Index, node: ast.AST) -> bool:
    """Whether `node` stands in `map_location=lambda storage, place: storage.cuda()`: what moves a
    storage there is the place of the load, and a storage has another `to` than a tensor."""
    function = index.enclosing(node, ast.Lambda)
    given = index.parents[function] if function is not None else None
    if isinstance(given, ast.Call):
        # `torch.load(file, map_location)`
        return last_name(given.func) == "load" and given.args[1:2] == [function]
    return isinstance(given, ast.keyword) and given.arg == "map_location"
