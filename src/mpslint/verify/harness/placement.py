"""Where each module of the script's models does its work: on the device or on the CPU.

The work of a call is estimated: twice the number of the module's own parameters, for each position
of its output. A model that runs by other means than modules is not seen here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

MOST = 2000


class _Row:
    """A module that has parameters of its own."""

    __slots__ = ("away", "held", "module", "name", "on", "size")

    def __init__(self, module: torch.nn.Module, name: str, own: Sequence[torch.Tensor]) -> None:
        self.module = module  # its identity is no other's as long as it is kept
        self.name = name
        self.size = sum(p.numel() for p in own)
        self.held = max((int(p.shape[0]) for p in own if p.dim()), default=1) or 1
        self.on = self.away = 0.0


_rows: dict[int, _Row] = {}
_roots: dict[int, tuple[torch.nn.Module, str]] = {}
_kinds: dict[str, int] = {}


def called(root: torch.nn.Module, module: torch.nn.Module, result: Any, device: str) -> None:
    """A module was called, as a part of ``root``."""
    own = [p for p in module._parameters.values() if p is not None]
    # While torch.jit traces, a question for a size would become a part of the traced program.
    if not own or torch._C._get_tracing_state() is not None:
        return
    row = _rows.get(id(module))
    if row is None:
        if len(_rows) >= MOST:
            return
        row = _rows[id(module)] = _Row(module, _name(root, module), own)
    given = result[0] if isinstance(result, tuple) and result else result
    positions = given.numel() / row.held if isinstance(given, torch.Tensor) else 1.0
    work = 2.0 * row.size * positions
    if own[0].device.type == device:
        row.on += work
    else:
        row.away += work


def _name(root: torch.nn.Module, module: torch.nn.Module) -> str:
    """Like ``Model.encoder.0``; the second model of a class is ``Model#2``."""
    if id(root) not in _roots:
        kind = type(root).__name__
        _kinds[kind] = count = _kinds.get(kind, 0) + 1
        _roots[id(root)] = root, kind if count == 1 else f"{kind}#{count}"
    label = _roots[id(root)][1]
    path = next((name for name, one in root.named_modules() if one is module), "?")
    return f"{label}.{path}" if path else label


def rows() -> list[list[Any]]:
    """Name, work on the device, work elsewhere."""
    return [[row.name, row.on, row.away] for row in _rows.values()]
