"""Tests of a program, which alone are no use of what they try: somebody left it behind with them.

Of a package that others install anything may be of use to these, and its tests show how; and where
nothing of a project is a program, somebody who is not seen has a use for all of it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.paths import is_among_tests, is_test

if TYPE_CHECKING:
    from mpslint.project.layout.whole import Whole
    from mpslint.project.published.published import Published
    from mpslint.project.uses.importable import Importable
    from mpslint.project.uses.leading import Leading


class Tries:
    def __init__(self, published: Published, leading: Leading) -> None:
        self._published = published
        self._leading = leading
        self._programs: dict[str, bool] = {}
        """By the head of the project: whether it has one."""

    def alone(self, whole: Whole, path: str, other: str) -> bool:
        """Whether a module is a test of the program that the module at `path` is a part of, which
        is none itself."""
        return (
            _is_of_tests(whole, other)
            and not _is_of_tests(whole, path)
            and not self._published.is_for_others(whole)[0]
            and self._has_program(whole)
        )

    def has_more(self, whole: Whole, path: str, others: list[str], importable: Importable) -> bool:
        """Whether such tests and a module that could run name something of the module at `path`:
        somebody may start what nothing is seen to lead to."""
        tests = [other for other in others if self.alone(whole, path, other)]
        return bool(tests) and any(
            other not in tests and not importable.is_lost(whole, other) for other in others
        )

    def _has_program(self, whole: Whole) -> bool:
        if whole.head not in self._programs:
            self._programs[whole.head] = any(
                not _is_of_tests(whole, one) and self._leading.runs_by_itself(one)
                for one in whole.modules
            )
        return self._programs[whole.head]


def _is_of_tests(whole: Whole, path: str) -> bool:
    return is_test(path) or is_among_tests(os.path.relpath(path, whole.head))
