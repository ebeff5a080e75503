"""Kernels that are registered for a type of device: the text that says which one is a key by which
torch finds the kernel later, and nothing is put anywhere."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from mpslint.semantics.syntax.index import walk
from mpslint.semantics.worlds.core import Core
from mpslint.semantics.worlds.machines import ALL, MACS, NVIDIA
from mpslint.semantics.worlds.state import Env, Function
from mpslint.semantics.worlds.values import (
    CONST,
    FUNCTION,
    NAME,
    SEQUENCE,
    SKIP,
    UNK,
    Atom,
    Value,
    one,
    text_of,
)

# Fact: `torch.library.register_kernel(op, device_types)`, `custom_op(name, device_types=...)`,
# `impl(qualname, types)`; these as well take the names of dispatch keys (`"CUDA"`).
_TYPES = frozenset({"device_types", "types", "dispatch_key"})
_MACHINES = {"cuda": NVIDIA, "mps": MACS, "cpu": ALL}
_LIBRARY = "torch.library."


def registers(function: Atom) -> bool:
    """Whether something is called by this name that registers kernels and the like."""
    return function.kind == NAME and str(function.v).startswith(_LIBRARY)


def names_operator(args: Iterable[Value]) -> bool:
    """Whether one of these is the name of an operator of a library, `"mylib::scaled_mm"`: whoever
    is told one, and a type of device, is told for which the operator has a kernel."""
    return any(
        atom.kind == CONST and _is_operator(text_of(atom))
        for atom in (one(value, ALL) for value in args)
    )


def without_types(keywords: Env) -> Env:
    """What else is given by name than the types of devices that a kernel is for."""
    return {key: value for key, value in keywords.items() if key not in _TYPES}


def kernel_for(args: Iterable[Value], keywords: Env) -> Value:
    """What registers a kernel, as a mark of the function that it is given: who registers one for
    CUDA has it run on tensors of CUDA alone."""
    given = [*args, *(value for key, value in keywords.items() if key in _TYPES)]
    types = {text_of(atom).lower() for value in given for atom in _each(value)} & _MACHINES.keys()
    if len(types) != 1:
        return UNK
    return Atom(SKIP, _MACHINES[types.pop()])


def mark_given(kernel: Atom, args: Iterable[Value]) -> None:
    """Functions that are handed to what registers them, `register("mylib::mm", "cuda")(mm)`: they
    are run there, whoever else runs them."""
    for value in args:
        if value.__class__ is Atom and value.kind == FUNCTION and value.v.handed:
            worlds, tests = value.v.handed.pop()
            value.v.handed.append((worlds & kernel.v, tests))


def _each(value: Value) -> Iterator[Atom]:
    atom = one(value, ALL)
    if atom.kind == SEQUENCE:
        yield from (one(item, ALL) for item in atom.v)
    else:
        yield atom


def registered_by(function: Function) -> frozenset[str]:
    """The parameters with which a function does nothing but hand them on to `torch.library`."""
    home: Core | None = function.home
    if home is None or not home.count_of(_LIBRARY[:-1]):
        return frozenset()
    given = _names(function.node, handed_on_by=home)
    used = _names(function.node)
    return frozenset(name for name, count in given.items() if count == used[name])


def _names(function: ast.AST, handed_on_by: Core | None = None) -> dict[str, int]:
    """How often names are read; of arguments of calls of `torch.library` alone, where somebody
    knows what the function's names are."""
    found: dict[str, int] = {}
    for item in walk(function):
        if handed_on_by is None:
            read = [item]
        elif isinstance(item, ast.Call) and _is_of_library(handed_on_by, item.func):
            read = [*item.args, *(keyword.value for keyword in item.keywords)]
        else:
            continue
        for name in read:
            if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Load):
                found[name.id] = found.get(name.id, 0) + 1
    return found


def _is_of_library(home: Core, function: ast.expr) -> bool:
    key = home.key(function)
    first, dot, rest = (key or "").partition(".")
    value = home.lookup(first) if key is not None else None
    atom = one(value, ALL) if value is not None else UNK
    return atom.kind == NAME and registers(atom.but(v=f"{atom.v}{dot}{rest}"))


def _is_operator(text: str) -> bool:
    library, colons, operator = text.partition("::")
    return bool(colons) and library.isidentifier() and operator.replace(".", "_").isidentifier()
