"""Ops by their Python name, and the torch release from which the MPS backend runs them.

`ops.json` was read out of the macOS wheels of torch 2.0 to 2.15. It holds only what a rule can
use: names whose plain call has no kernel in some release after 2.5 (variants that depend on an
argument's value or shape are left out), and only public names.

A release is a pair such as (2, 14); `NEVER` stands for "not in 2.15, the newest one read".
"""

from __future__ import annotations

from functools import cache

from mpslint.facts.data import read_section
from mpslint.records import NamedTuple

Release = tuple[int, int]
NEVER: Release = (99, 0)
NEWEST: Release = (2, 15)


class Support(NamedTuple):
    """From which release an op runs on MPS."""

    native_since: dict[str, Release]
    """Functions and modules: forward raises `NotImplementedError` before this release."""
    backward_native_since: dict[str, Release]
    """Functions that run forward earlier than backward."""
    methods_since: dict[str, Release]
    """Methods that only count where a tensor is known to be asked."""
    fallback_until: dict[str, Release]
    """Functions that run on the CPU by themselves, with a warning, before this release."""


@cache
def support() -> Support:
    """The op table; the file is read when a rule first asks."""
    sections = (
        {name: release(text) for name, text in read_section("ops.json", field).items()}
        for field in Support._fields
    )
    return Support(*sections)


def release(text: str | None) -> Release:
    """`"2.14"` as (2, 14); None as `NEVER`."""
    if text is None:
        return NEVER
    major, minor = text.split(".")
    return int(major), int(minor)


def release_text(number: Release) -> str:
    return f"{number[0]}.{number[1]}"
