"""What is asked for as a tensor is, and is none: it has no `device`.

A class of the file's own may have an `is_cuda`, a `size()` or a `shape`, and so has torch's
PackedSequence an `is_cuda` and a `data`. That a name is a tensor then follows from none of these.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.syntax.index import FunctionNode

_OWN = "names that classes of the file define"
_TENSORS = ("torch.Tensor", "torch.FloatTensor")
# Source: torch/nn/utils/rnn.py (torch 2.13): a named tuple of data, batch_sizes and two more.
_PACKED = frozenset({"PackedSequence", "pack_padded_sequence", "pack_sequence"})
_PARTS = frozenset({"data", "batch_sizes", "sorted_indices", "unsorted_indices"})
_OF_TENSORS = frozenset(
    {"size", "shape", "dim", "view", "new", "detach", "contiguous", "unsqueeze"}
)
"""What a tensor has, and a packed sequence has not."""


def own_names(context: Context) -> frozenset[str]:
    """The methods and attributes of classes of the file that are no tensors and have no device."""
    known = context.memo.get(_OWN)
    if known is None:
        found: set[str] = set()
        for klass in context.index.of(ast.ClassDef):
            if not any(context.resolve(base) in _TENSORS for base in klass.bases):
                names = set(_defined(context, klass))
                found |= names if "device" not in names else set()
        known = context.memo[_OWN] = frozenset(found)
    return known  # type: ignore[return-value]


def _defined(context: Context, klass: ast.ClassDef) -> list[str]:
    found: list[str] = []
    for item in klass.body:
        if isinstance(item, FUNCTIONS):
            found.append(item.name)
        elif isinstance(item, ast.Assign):
            found += [one.id for one in item.targets if isinstance(one, ast.Name)]
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            found.append(item.target.id)
    for name in ("device", "shape", "is_cuda"):
        stores = context.index.attributes.get(name, ())
        if any(
            isinstance(use.ctx, ast.Store) and context.index.within(use, klass) for use in stores
        ):
            found.append(name)
    return found


def may_be_packed(context: Context, function: FunctionNode | None, name: str) -> bool:
    """Whether a name may stand for a packed sequence, in a file that speaks of these: a part of it
    is read that a packed sequence has."""
    if function is None or not _speaks_of_packed(context):
        return False
    read = {
        use.attr
        for held in context.index.names.get(name, ())
        if context.index.within(held, function)
        if isinstance(use := context.index.parents[held], ast.Attribute)
    }
    return bool(read & _PARTS) and not read & _OF_TENSORS


def _speaks_of_packed(context: Context) -> bool:
    names, attributes = context.index.names, context.index.attributes
    return any(name in names or name in attributes for name in _PACKED)
