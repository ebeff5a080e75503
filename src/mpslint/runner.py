"""Check many files and keep their order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.checking import check_file

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mpslint.discovery import Target
    from mpslint.results import FileResult


def check_all(
    targets: Iterable[Target], *, jobs: int, cache: bool, with_fixes: bool
) -> list[FileResult]:
    return [check_file(target) for target in targets]
