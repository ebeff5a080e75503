"""What the files of a run, looked at together, had against each other's fixes when they were last
checked: a project is read for that as a whole, which takes longer than all else of a run whose
files the cache knows.

It is kept for the same files with the same findings, with all that was looked at: files and folders
by their times, absent ones as well. As with the cache, whatever goes wrong costs time, never a
result.
"""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING, Any

from mpslint.findings.results import FileResult, from_record, to_record
from mpslint.folders.cache_folder import open_folder
from mpslint.folders.looks import Looked
from mpslint.running.cache import digest_of, key_of, packed, unpacked
from mpslint.sources.reading import UNSURE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.folders.cache_folder import CacheFolder
    from mpslint.folders.discovery import Target
    from mpslint.together.withheld import Projects

_MOST = 50_000
"""So many files and folders an answer may rest on: each is looked at before it is believed."""


class Remembered:
    """What is known of one run: of these files, with these results of each by itself."""

    def __init__(
        self, targets: Sequence[Target], results: Sequence[FileResult], *, with_fixes: bool
    ) -> None:
        self._results = list(results)
        self._with_fixes = with_fixes
        self._said = [self._records(result) for result in results]
        """As they are before anybody looks at them together."""
        settings = {id(target.settings): target.settings for target in targets}
        numbers = {one: number for number, one in enumerate(settings)}
        keys = [key_of(one, os.path.join(one.root or os.getcwd(), "")) for one in settings.values()]
        paths = [(target.path, numbers[id(target.settings)]) for target in targets]
        asked = (os.getcwd(), keys, with_fixes, paths)
        self._file = f"{_digest(asked)}.together"
        self._of = _digest(
            [
                (
                    one.error,
                    said,
                    [to_record(other, with_fix=False) for other in one.untold],
                    one.mended,
                )
                for one, said in zip(results, self._said, strict=True)
            ]
        )

    def known(self) -> list[FileResult] | None:
        """The results as they were found to be together; None where that is not known."""
        folder = open_folder()
        if folder is None:
            return None
        try:
            entry = unpacked(folder.read(self._file))
            if entry["of"] != self._of or not _still(*entry["looked"]):
                return None
            return [self._changed(at, entry["said"]) for at in range(len(self._results))]
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None
        finally:
            folder.close()

    def keep(self, results: Sequence[FileResult], projects: Projects) -> None:
        """Remember the results as they were found to be in these projects."""
        looked = Looked({}, {}, {}, {})
        for project in projects.made:
            looked.add(project.rests_on())
        if UNSURE in looked.signs.values() or len(looked.signs) > _MOST:
            return
        said = {}
        for at, (result, before) in enumerate(zip(results, self._said, strict=True)):
            now = self._records(result)
            if now != before:
                said[str(at)] = now
        entry = {
            "of": self._of,
            "looked": looked,
            "said": said,
        }
        with contextlib.suppress(OSError, ValueError):
            folder = open_folder(make=True)
            if folder is not None:
                self._write(folder, entry)

    def _write(self, folder: CacheFolder, entry: dict[str, Any]) -> None:
        try:
            folder.write(self._file, packed(entry))
        finally:
            folder.close()

    def _records(self, result: FileResult) -> list[Any]:
        return [to_record(one, with_fix=self._with_fixes) for one in result.findings]

    def _changed(self, at: int, said: dict[str, list[Any]]) -> FileResult:
        result = self._results[at]
        records = said.get(str(at))
        if records is None:
            return result
        return result._replace(findings=tuple(map(from_record, records)))


def _digest(value: object) -> str:
    return digest_of(repr(value).encode("utf-8", "replace"))


def _still(signs: dict[str, list[int]], *others: dict[str, Any]) -> bool:
    """Whether all that was looked at is as it was."""
    return Looked({path: (time, size) for path, (time, size) in signs.items()}, *others).still()
