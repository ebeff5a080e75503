"""What stands in for parts of torch while a test runs: `@mock.patch("torch.nn.Module.to")`. All
else of torch is the real one there.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

_CUDA = "torch.cuda"
_OF_OBJECTS = {"Module": "module", "Tensor": "tensor"}
"""Classes of torch's whose methods are called on objects, and the kinds of these."""


def target(decorator: ast.Call) -> str | None:
    """What is replaced, where that is of torch's."""
    first = decorator.args[0] if decorator.args else None
    text = first.value if isinstance(first, ast.Constant) else None
    return text if isinstance(text, str) and text.startswith("torch.") else None


def acts_cuda(patched: Iterable[str]) -> bool:
    """Whether something stands in for CUDA: what is handed a CUDA device then may never come to a
    GPU."""
    return any(one == _CUDA or one.startswith(f"{_CUDA}.") for one in patched)


def stands_in(patched: Iterable[str], name: str) -> bool:
    """Whether something stands in for what is called by this name, or for what holds it."""
    return any(name == one or name.startswith(f"{one}.") for one in patched)


def stands_in_for_method(patched: Iterable[str], method: str, kind: str) -> bool:
    """Whether something stands in for a method of an object of this kind."""
    for one in patched:
        holder, _, name = one.rpartition(".")
        of = _OF_OBJECTS.get(holder.rpartition(".")[2])
        if name == method and of is not None and kind not in set(_OF_OBJECTS.values()) - {of}:
            return True
    return False
