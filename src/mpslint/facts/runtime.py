"""What `torch.cuda.*` does on a machine without CUDA, and `torch.accelerator.*` on MPS.

`names.json` was read out of the macOS wheels of torch 2.0 to 2.15, and the outcomes by calling
each name on a build of torch 2.13 without CUDA (the Mac wheel has the same Python layer).
"""

from __future__ import annotations

from functools import cache

from mpslint.facts.data import read_section
from mpslint.facts.ops import Release, release
from mpslint.records import NamedTuple


class CudaName(NamedTuple):
    """One name below `torch.cuda`."""

    outcome: str
    """`raises`, `answers` (0, False or an empty container) or `ignores` (does nothing)."""
    detail: str
    """The exception, or the answer."""
    mps: str | None
    """Its counterpart on MPS."""
    mps_since: Release | None


@cache
def cuda_names() -> dict[str, CudaName]:
    """By the name behind `torch.cuda.`; names that were not called are missing."""
    found = {}
    for name, row in read_section("names.json", "cuda").items():
        outcome, detail, *counterpart = row
        mps, since = counterpart or (None, None)
        found[name] = CudaName(outcome, detail, mps, release(since) if since else None)
    return found


def error_of(name: str) -> str | None:
    """What a name below `torch.cuda` raises without CUDA; None where it does not, or is unknown."""
    known = cuda_names().get(name.removeprefix("torch.cuda."))
    return known.detail if known is not None and known.outcome == "raises" else None


@cache
def accelerator_on_mps() -> dict[str, Release]:
    """The release from which a `torch.accelerator` function works on MPS."""
    section = read_section("names.json", "accelerator_on_mps_since")
    return {name: release(text) for name, text in section.items()}
