"""Classes of which a Mac has no use, since all that they do ends in what only CUDA has: the forward
pass of a module, or each method that others call. What their objects are made of is CUDA's too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mpslint.semantics.worlds.machines import MACS
from mpslint.semantics.worlds.state import Class, Function


def is_for_cuda(cls: Class, classes: Iterable[Class], ends: Mapping[Function | None, int]) -> bool:
    """`classes`: all of the file, of which none may do something else in its place; `ends`: the
    worlds that come to the end of a function."""
    forward = cls.methods.get("forward") if cls.module else None
    used = [forward] if forward is not None else _for_others(cls)
    if not used or not all(_needs_cuda(method, ends) for method in used):
        return False
    return not any(other is not cls and other.derives_from(cls) for other in classes)


def _for_others(cls: Class) -> list[Function]:
    """The methods that others call; none of a class that has bases, whose methods are not all
    seen."""
    if cls.node.bases:
        return []
    return [method for name, method in cls.methods.items() if name[:1] != "_" or name == "__call__"]


def _needs_cuda(method: Function, ends: Mapping[Function | None, int]) -> bool:
    return method.own and not ends.get(method, MACS) & MACS
