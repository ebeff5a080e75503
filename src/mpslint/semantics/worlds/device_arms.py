"""Tables with an arm for each device: `{"cuda": fast, "mps": plain, "cpu": plain}`."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mpslint.semantics.facts_known import backend_word
from mpslint.semantics.worlds.machines import MACS, NVIDIA

_WORLDS = {"cuda": NVIDIA, "mps": MACS}


def device_arms(keys: Iterable[ast.expr | None]) -> dict[ast.expr | None, int]:
    """The worlds for which an entry is there, by its key, in a table that has entries for CUDA and
    for MPS: whoever looks one up has the device at hand."""
    named = {key: word for key in keys if (word := _backend(key)) in _WORLDS}
    if set(named.values()) != set(_WORLDS):
        return {}
    return {key: _WORLDS[word] for key, word in named.items() if word is not None}


def _backend(key: ast.expr | None) -> str | None:
    """The device that `"cuda"` or `torch.device("cuda")` names."""
    if isinstance(key, ast.Call) and len(key.args) == 1 and not key.keywords:
        key = key.args[0]
    return backend_word(key) if key is not None else None
