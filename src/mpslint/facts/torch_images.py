"""Which torch lies in NVIDIA's images (`nvcr.io/nvidia/pytorch:20.12-py3`), by a tag's month.

Fact: NVIDIA, "PyTorch Release Notes", the table "NVIDIA PyTorch Container Versions". An image holds
a state on the way to the release that it names (1.8.0a0 in 20.12): what that release brought may be
missing in it.
"""

from __future__ import annotations

_FIRST_WITH = (
    ((18, 5), (0, 4)),
    ((18, 12), (1, 0)),
    ((19, 4), (1, 1)),
    ((19, 7), (1, 2)),
    ((19, 10), (1, 3)),
    ((19, 11), (1, 4)),
    ((20, 3), (1, 5)),
    ((20, 6), (1, 6)),
    ((20, 8), (1, 7)),
    ((20, 11), (1, 8)),
    ((21, 3), (1, 9)),
    ((21, 7), (1, 10)),
    ((21, 11), (1, 11)),
    ((22, 3), (1, 12)),
    ((22, 6), (1, 13)),
    ((23, 3), (2, 0)),
    ((23, 4), (2, 1)),
    ((23, 11), (2, 2)),
    ((24, 2), (2, 3)),
    ((24, 5), (2, 4)),
)
"""The first tag with each release, up to the one from which on all that fixes write is there."""
_BEFORE = ((0, 4), *(release for _, release in _FIRST_WITH))


def torch_of_image(year: int, month: int) -> tuple[int, int] | None:
    """The release that an image of this tag has all of; None where it is newer than all of them."""
    known = sum(first <= (year, month) for first, _ in _FIRST_WITH)
    return _BEFORE[max(known - 1, 0)] if known < len(_FIRST_WITH) else None
