"""Tables with an arm for each device: `{"cuda": fast, "mps": plain, "cpu": plain}`."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from typing import Any

from mpslint.semantics.terms.facts_known import backend_word
from mpslint.semantics.worlds.machines import MACS, NVIDIA
from mpslint.semantics.worlds.values import MAPPING, Atom, Value

_WORLDS = {"cuda": NVIDIA, "mps": MACS}


class Arms(dict[Any, Value]):
    """The entries of such a table, each for the machines that have its device."""

    def __init__(self, entries: dict[Any, Value], everywhere: dict[Any, Value]) -> None:
        super().__init__(entries)
        self.everywhere = everywhere
        """What entries are for whoever asks for one by its name: `PLACES["cuda"]` is that on each
        machine."""


def device_arms(keys: Iterable[ast.expr | None]) -> dict[ast.expr | None, int]:
    """The worlds for which an entry is there, by its key, in a table that has entries for CUDA and
    for MPS: whoever looks one up has the device at hand."""
    named = {key: word for key in keys if (word := _backend(key)) in _WORLDS}
    if set(named.values()) != set(_WORLDS):
        return {}
    return {key: _WORLDS[word] for key, word in named.items() if word is not None}


def named_arm(table: Value, key: ast.expr) -> Value | None:
    """What such a table has for a device that is asked for by its name; None: it is another table,
    or whoever asks has the device at hand."""
    arms = table.v if table.__class__ is Atom and table.kind == MAPPING else None
    if not isinstance(arms, Arms) or not isinstance(key, ast.Constant):
        return None
    return arms.everywhere.get(key.value)


def _backend(key: ast.expr | None) -> str | None:
    """The device that `"cuda"` or `torch.device("cuda")` names."""
    if isinstance(key, ast.Call) and len(key.args) == 1 and not key.keywords:
        key = key.args[0]
    return backend_word(key) if key is not None else None
