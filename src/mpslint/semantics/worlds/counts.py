"""Numbers that are 0 on a Mac: that of CUDA's devices, and what is multiplied by it."""

from __future__ import annotations

import ast

from mpslint.semantics.worlds.core import Core
from mpslint.semantics.worlds.events import DIVIDES, SETS_RATE, SIZES_BATCHES, Kind
from mpslint.semantics.worlds.machines import MAC, NVIDIA
from mpslint.semantics.worlds.values import (
    ARRAY,
    NO_TESTS,
    TENSOR,
    UNK,
    Cases,
    Tests,
    Value,
    cases_of,
    is_counted_zero,
    is_text,
    one,
)

_BY_ZERO = frozenset({TENSOR, ARRAY})
"""What can be divided by 0."""
_LOADER = "torch.utils.data.DataLoader"
_OPTIMIZERS = "torch.optim."


class Counts(Core):
    def counted(self, value: Value, node: ast.AST, harm: str = "") -> None:
        """The number of CUDA's devices, where a number of something is made of it; `harm`: what a
        0 does harm as."""
        if value.__class__ is not Cases or not self.recording:
            return
        worlds, tests = self._none_on_mac(value)
        if worlds:
            worlds = worlds if harm else self.frame.mask
            self.emit(Kind.COUNTED, node, worlds=worlds, value=value, tests=tests, name=harm)

    def _none_on_mac(self, value: Value) -> tuple[int, Tests]:
        """The Mac's worlds in which a number is 0 for want of CUDA, and what it hangs on."""
        here = self.frame.mask
        none, tests = 0, NO_TESTS
        for worlds, atom in cases_of(value, here & MAC):
            if is_counted_zero(atom):
                none |= worlds
                tests |= atom.tests
        if none and any(is_counted_zero(atom) for _, atom in cases_of(value, here & NVIDIA)):
            return 0, NO_TESTS
        return none, tests

    def computed(self, node: ast.BinOp | ast.AugAssign, a: Value, b: Value) -> None:
        """What an operator makes of such a number; a text by `%` is no division."""
        self.counted(a, node)
        divides = isinstance(node.op, ast.Mod | ast.Div | ast.FloorDiv)
        first = one(a, self.frame.mask)
        divides = divides and not is_text(first) and first.kind not in _BY_ZERO
        self.counted(b, node, DIVIDES if divides else "")

    def given_number(
        self, name: str, node: ast.Call, args: list[Value], keywords: dict[str, Value]
    ) -> None:
        """What takes no 0, or does nothing with one."""
        if name == _LOADER:
            size = keywords.get("batch_size", args[1] if len(args) > 1 else UNK)
            self.counted(size, node, SIZES_BATCHES)
        elif name.startswith(_OPTIMIZERS):
            self.counted(keywords.get("lr", UNK), node, SETS_RATE)
