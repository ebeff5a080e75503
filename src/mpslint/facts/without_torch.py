"""Packages that neither need torch nor know it, by what they say of themselves.

Where they read arrays, a tensor on MPS makes them raise as one on CUDA does; the others are given
none. `benchmarks/packages_without_torch.py` makes the list.
"""

from __future__ import annotations

from functools import cache

from mpslint.facts.data import read_section


def is_without_torch(package: str) -> bool:
    """Whether a package, by the name it is imported under, has nothing to do with torch."""
    return package.lower() in _names("names") or reads_arrays(package)


def reads_arrays(package: str) -> bool:
    """Whether it is one of these that need NumPy, so that it may be given tensors as arrays."""
    return package.lower() in _names("of_arrays")


@cache
def _names(which: str) -> frozenset[str]:
    return frozenset(read_section("without_torch.json", "packages")[which])
