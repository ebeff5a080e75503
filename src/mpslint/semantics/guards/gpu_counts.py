"""Numbers of GPUs: when a count of so many devices proves that there is CUDA."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.semantics.names.flow import Flow
from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.index import Index
from mpslint.semantics.terms.facts_known import NONE, Facts

if TYPE_CHECKING:
    from mpslint.semantics.guards.guards import Guards

_COUNTERS = {
    "torch.cuda.device_count": "cuda",
    "torch.mps.device_count": "mps",
    "torch.accelerator.device_count": "accelerator",
}
_NO, _NEVER, _ONLY_CUDA = range(3)
"""Whether a number can be that big without CUDA: it can; it cannot at all; not without CUDA."""
_DEPTH = 5


class GpuCounts:
    def __init__(self, guards: Guards, index: Index, names: Names, flow: Flow) -> None:
        self._guards = guards
        self._names = names
        self._flow = flow
        self._any = bool(index.attributes.get("device_count") or index.names.get("device_count"))

    def constant(self, number: ast.expr) -> int | None:
        """A whole number that is written out, here or as the one value of a name."""
        if isinstance(number, ast.Name) and self._any:
            reaching = self._flow.reaching(number)
            if len(reaching) == 1 and reaching[0].value is not None:
                number = reaching[0].value
        value = number.value if isinstance(number, ast.Constant) else None
        return int(value) if isinstance(value, int) else None

    def reached(self, number: ast.expr, least: int) -> tuple[Facts, Facts]:
        """What is so when `number` is at least `least`, and when it is not."""
        if least < 1:
            return NONE, NONE
        if not self._any:
            return NONE, NONE
        backend = self._backend(number)
        if backend is not None:
            few = frozenset({f"no-{backend}"}) if least == 1 else NONE
            several = backend == "accelerator" and least > 1
            return frozenset({backend, "no-mps"} if several else {backend}), few
        return (frozenset({"cuda"}) if self.implies_cuda(number, least) else NONE), NONE

    def implies_cuda(self, number: ast.expr, least: int) -> bool:
        """Whether `number` can only reach `least` on a machine with CUDA."""
        return self._any and self._needs(number, least, _DEPTH) == _ONLY_CUDA

    def _backend(self, number: ast.expr) -> str | None:
        """The backend whose devices a call counts, also by way of one name."""
        if isinstance(number, ast.Name):
            reaching = self._flow.reaching(number)
            if len(reaching) == 1 and reaching[0].kind == "assign" and reaching[0].value:
                number = reaching[0].value
        if not isinstance(number, ast.Call):
            return None
        return _COUNTERS.get(self._names.resolve(number.func) or "")

    def _needs(self, number: ast.expr, least: int, depth: int) -> int:
        if isinstance(number, ast.Constant):
            small = isinstance(number.value, int) and number.value < least
            return _NEVER if small else _NO
        if depth == 0:
            return _NO
        if isinstance(number, ast.Call):
            return self._called(number, least, depth - 1)
        if isinstance(number, ast.IfExp):
            orelse = self._needs(number.orelse, least, depth - 1)
            if "cuda" in self._guards.implied(number.test, True):
                return _ONLY_CUDA if orelse else _NO
            return _all([self._needs(number.body, least, depth - 1), orelse])
        if isinstance(number, ast.BoolOp) and isinstance(number.op, ast.And):
            return max(self._needs(item, least, depth - 1) for item in number.values)
        values = self._behind(number)
        return _all([self._needs(v, least, depth - 1) if v is not None else _NO for v in values])

    def _called(self, call: ast.Call, least: int, depth: int) -> int:
        name = self._names.resolve(call.func)
        if name == "torch.cuda.device_count":
            return _ONLY_CUDA if least >= 1 else _NO
        if not isinstance(call.func, ast.Name) or not call.args or call.keywords:
            return _NO
        if call.func.id not in ("int", "min", "max"):
            return _NO
        parts = [self._needs(item, least, depth) for item in call.args]
        return max(parts) if call.func.id == "min" else _all(parts)

    def _behind(self, number: ast.expr) -> list[ast.expr | None]:
        """All that a name or an attribute of this file may hold; None for what is unknown."""
        if isinstance(number, ast.Name):
            reaching = self._flow.reaching(number)
            return [b.value if b.kind in ("assign", "annotate") else None for b in reaching]
        if isinstance(number, ast.Attribute):
            return list(self._guards.assigned(number))
        return []


def _all(parts: list[int]) -> int:
    """Of several numbers one of which it is."""
    return max(parts) if parts and _NO not in parts else _NO
