"""What is moved to a device, with what nobody knows kept apart from what is no float64: a tensor
that is made of an array of unknown dtype may be float64, as NumPy's own are.
"""

from __future__ import annotations

import ast

from mpslint.facts import batches
from mpslint.semantics.syntax.expressions import is_dtype, keyword
from mpslint.semantics.wide.moved_kinds import MovedKinds
from mpslint.semantics.wide.sample_scopes import Scope
from mpslint.semantics.wide.sample_values import ANY, NARROW, UNREAD, WIDE, Value, worst

OPEN = (ANY, UNREAD, WIDE)
"""The kinds of what may be float64: nobody knows, it is made of an array, and it is for sure."""
OF_ARRAYS = frozenset({"tensor", "as_tensor", "asarray"})
"""Functions of torch that give back the dtype of an array; of a list it is torch's own."""
_OF_LOADERS = frozenset({"DataLoader"})
_KEEPING = frozenset(
    {"stack", "cat", "concat", "vstack", "hstack", "squeeze", "unsqueeze", "flatten", "reshape"}
    | {"transpose", "permute", "clone", "atleast_1d", "atleast_2d", "flip", "roll", "clamp"}
)
"""Functions of torch that give back the dtype of what they are given first."""
_MOVING = frozenset({"to", "cuda", "cpu", "pin_memory"})


class OpenKinds(MovedKinds):
    """As it is for `MovedKinds`, which takes for float32 what is a tensor and not known."""

    def _call(self, node: ast.Call, scope: Scope, row: int) -> Value | None:
        found = super()._call(node, scope, row)
        if found != NARROW or keyword(node, "dtype") is not None:
            return found
        kept, is_array = self._kept_of(node)
        if kept is None:
            return found
        kind = worst(self.value(kept, scope, row))
        if kind == ANY and is_array:
            return UNREAD
        return kind if kind in (ANY, UNREAD) else found

    def _kept_of(self, node: ast.Call) -> tuple[ast.expr | None, bool]:
        """What a call keeps the dtype of, and whether it makes a tensor of that."""
        function, given = node.func, node.args[0] if node.args else None
        package, _, name = self._qualified(function).rpartition(".")
        if package:
            is_loader = name in _OF_LOADERS and package.startswith("torch.")
            if package == "torch" and name in OF_ARRAYS:
                return given, True
            return (given, False) if is_loader or name in _KEEPING else (None, False)
        if not isinstance(function, ast.Attribute) or any(map(is_dtype, node.args)):
            return None, False
        is_kept = function.attr in _MOVING or function.attr in batches.SHAPING
        return (function.value, False) if is_kept else (None, False)
