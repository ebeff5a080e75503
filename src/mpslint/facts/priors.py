"""What is only likely: packages, decorators, helpers that usually mean one machine.

`priors.json` holds the rows. Each says what it matches, how far it reaches (the rest of the block,
the function), why, and on how many of the repositories that it was tried on it helped and hurt.
Nothing of the kind stands in code.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from mpslint.facts.data import read_section
from mpslint.facts.machines import ANSWERS, MAYBE_ON_CUDA, Answer

_REMEMBERED = 4096
"""Of so many names the answers are kept: a project asks about the same ones again and again."""


class Prior(NamedTuple):
    """One row."""

    match: str
    worlds: str
    """`cuda` or `mps`: the machines that it leaves."""
    reason: str


@cache
def _rows(kind: str) -> dict[str, Prior]:
    return {
        match: Prior(match, row["worlds"], row["reason"])
        for match, row in read_section("priors.json", kind).items()
    }


@lru_cache(_REMEMBERED)
def package_worlds(module: str) -> str | None:
    """The machines that can have a package: `cuda`; None: any."""
    rows = _rows("packages")
    if module.startswith("."):
        last = module.rpartition(".")[2]  # `from ._ext import f`, `from . import _C`
        return rows[last].worlds if last in rows and last.startswith("_") else None
    first, _, rest = module.partition(".")
    row = rows.get(first) or (rows.get(f"{first}.{rest.partition('.')[0]}") if rest else None)
    return row.worlds if row is not None else None


@cache
def package_names() -> tuple[bytes, ...]:
    """The names of these packages, as they stand in a text."""
    return tuple(name.encode() for name in _rows("packages"))


@cache
def _decorators() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(match, re.I), row.worlds) for match, row in _rows("decorators").items()]


@lru_cache(_REMEMBERED)
def decorator_worlds(name: str, keywords: tuple[str, ...] = ()) -> str | None:
    """The machines that a decorator of this name, with these keywords, leaves a function."""
    for pattern, worlds in _decorators():
        if pattern.search(name) or any(pattern.search(word) for word in keywords):
            return worlds
    return None


@lru_cache(_REMEMBERED)
def helper_answer(name: str) -> Answer | None:
    """What a helper of a well-known library that asks the machine says, by its last name."""
    row = _rows("helpers").get(name)
    if row is not None:
        return ANSWERS[row.worlds]
    if name.startswith("is_") and name.endswith("_available"):
        # `is_xformers_available()`: as the package.
        if package_worlds(name[3:-10]) is not None:
            return MAYBE_ON_CUDA
    return None


def flag_answer(name: str) -> Answer | None:
    """What an imported flag that asks the machine says, by its last name."""
    row = _rows("flags").get(name)
    return ANSWERS[row.worlds] if row is not None else None


@cache
def _device_names() -> list[re.Pattern[str]]:
    return [re.compile(match, re.I) for match in _rows("device-names")]


@lru_cache(_REMEMBERED)
def names_device(name: str) -> bool:
    """Whether a name (of a variable, a parameter, a key, a function) is that of a device."""
    return any(pattern.search(name) for pattern in _device_names())


@cache
def _process_names() -> list[re.Pattern[str]]:
    return [re.compile(match, re.I) for match in _rows("process-names")]


def names_process(name: str) -> bool:
    """Whether a name is that of the number of a process, one for each GPU."""
    return any(pattern.search(name) for pattern in _process_names())


@cache
def _requests() -> list[re.Pattern[str]]:
    return [re.compile(match, re.I) for match in _rows("requests")]


def names_request(name: str) -> bool:
    """Whether a switch of this name, or this word, asks for CUDA."""
    return any(pattern.search(name) for pattern in _requests())


@lru_cache(_REMEMBERED)
def places_elsewhere(name: str) -> bool:
    """Whether what is called belongs to a library that has devices of its own, and no MPS."""
    rows = _rows("other-devices")
    return name.lstrip(".").partition(".")[0] in rows


def is_environment(name: str) -> bool:
    """Whether a call makes an environment that gives rewards by NumPy."""
    return name in _rows("environments")


def kernels_of(name: str) -> str | None:
    """The machines for which the operators of a package are built, by the name of what is called:
    `cuda`, or `any` for the CPU as well; None: nothing is known against MPS."""
    rows = _rows("kernels")
    while name:
        if name in rows:
            return rows[name].worlds
        name = name.rpartition(".")[0]
    return None


@cache
def _definitions() -> list[tuple[re.Pattern[str], str]]:
    return [(re.compile(match), row.worlds) for match, row in _rows("definitions").items()]


@lru_cache(_REMEMBERED)
def definition_worlds(name: str) -> str | None:
    """The machines that a function or class is for, as its name says."""
    for pattern, worlds in _definitions():
        if pattern.search(name):
            return worlds
    return None


def call_worlds(name: str) -> str | None:
    """The machines on which a call makes sense: `cuda`; None: any."""
    row = _rows("calls").get(name)
    return row.worlds if row is not None else None
