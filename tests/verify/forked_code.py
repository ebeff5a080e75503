"""What the tests' fork server prepares, nothing, and what each of its commands does: the code that
it is given as the last of its arguments.
"""

from __future__ import annotations


def prepare() -> dict[str, list[str]]:
    return {"loaded": []}


def begin(argv: list[str]) -> int:
    exec(argv[-1], {"__name__": "__main__"})
    return 0
