"""How much of a program the compared runs went through, in words."""

from __future__ import annotations

import os
from collections.abc import Iterator

from mpslint.verify.launch import Launch
from mpslint.verify.outcome import classify

_SHOWN = 3

Part = tuple[str, int, int | None, str, int]
"""What (batches, epochs, rounds), how many were run, of how many (None: nobody knows), where."""


def of(reference: Launch | None) -> str:
    """What the run that all are held against did not go through; nothing where it is whole."""
    if reference is None:
        return ""
    if parts := _parts(reference):
        said = list(dict.fromkeys(_in_words(parts)))
        more = f" and {len(said) - _SHOWN} more" if len(said) > _SHOWN else ""
        return f"sampled: {', '.join(said[:_SHOWN])}{more}"
    if reference.outcome != "stopped":
        return ""
    if reference.steps:
        return f"only the first {reference.steps} optimizer steps"
    return f"only the first {reference.forwards} forward passes"


def unlike(reference: Launch, patched: Launch) -> str | None:
    """A loop of another length than the original's, which the parts that were run do not show."""
    one, two = (sorted(map(_counted, _parts(launch))) for launch in (reference, patched))
    for left, right in zip(one, two, strict=False):
        if left != right:
            return f"{_said(*right)}, the original {_said(*left)}"
    if len(one) != len(two):
        return f"{len(two)} loops are too long to be run whole, of the original {len(one)}"
    return None


def why_not(again: Launch) -> str:
    """Why a run with long loops gone through in part is of no use."""
    outcome = classify(again)
    said = outcome.reason if not outcome.ok else "did not come to its end in time either"
    return f"the original {said}"


def _parts(launch: Launch) -> list[Part]:
    return [
        (str(what), int(kept), None if total is None else int(total), str(file), int(line))
        for what, kept, total, file, line in launch.value("in_part", [])
    ]


def _counted(part: Part) -> tuple[str, int, int]:
    what, kept, total, _, _ = part
    return what, kept, -1 if total is None else total


def _said(what: str, kept: int, total: int) -> str:
    return f"goes through {total} {what}" if total >= 0 else f"goes through {kept} {what} or more"


def _in_words(parts: list[Part]) -> Iterator[str]:
    """The first loader's batches, the first loop of epochs, and all other loops."""
    epochs = next((part for part in parts if part[0] == "epochs"), None)
    if batches := next((part for part in parts if part[0] == "batches"), None):
        yield f"{_share(batches)} batches{' an epoch' if epochs else ''}"
    if epochs:
        yield f"{_share(epochs)} epochs"
    for part in parts:
        if part[0] == "rounds":
            yield f"{_share(part)} rounds of {os.path.basename(part[3])}:{part[4]}"


def _share(part: Part) -> str:
    _, kept, total, _, _ = part
    return f"the first {kept}" if total is None else f"{kept} of {total}"
