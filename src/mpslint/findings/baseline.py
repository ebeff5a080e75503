"""The file of findings that are known: `--baseline FILE`, written by `--write-baseline`.

An entry names file, rule and fingerprint (see `fingerprints`), and how many findings are alike,
but no row: lines may move. An entry of a file that is gone holds for a finding like it wherever the
file went. JSON, one entry a line, in an order of its own, so that two branches merge.
"""

from __future__ import annotations

import copy
import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any

from mpslint.errors import MpslintError, reason_of
from mpslint.findings.fingerprints import fingerprint
from mpslint.model import Severity
from mpslint.records import NamedTuple
from mpslint.sources.files import read_regular
from mpslint.sources.opening import line_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from mpslint.model import Finding
    from mpslint.sources.source import SourceFile

VERSION = 1
_LONG = 100
_MOST = 256 << 20


class BadBaseline(MpslintError):
    """A baseline that cannot be read or written."""


class Entry(NamedTuple):
    """One kind of finding of one file."""

    path: str
    """From the baseline's folder, with slashes."""
    code: str
    fingerprint: str
    severity: str
    text: str
    """The line, for people."""

    @property
    def key(self) -> tuple[str, str, str]:
        return self.path, self.code, self.fingerprint


class Baseline:
    """What one baseline knows, and what of it a run has met."""

    def __init__(self, path: str, entries: Iterable[tuple[Entry, int]] = ()) -> None:
        self.path = os.path.abspath(path)
        self._folder = os.path.dirname(self.path)
        self._entries: dict[tuple[str, str, str], Entry] = {}
        self._left: Counter[tuple[str, str, str]] = Counter()
        for entry, count in entries:
            self._entries[entry.key] = entry
            self._left[entry.key] += count
        self._whole = Counter(self._left)
        paths = {path for path, _, _ in self._entries}
        self._homeless = {path for path in paths if not os.path.lexists(self._full(path))}
        self._moved: dict[tuple[str, str], list[tuple[str, str, str]]] = {}
        for key in self._entries:
            if key[0] in self._homeless:
                self._moved.setdefault(key[1:], []).append(key)

    def renewed(self) -> Baseline:
        """The same baseline, of which nothing has been met."""
        other = copy.copy(self)
        other._left = Counter(self._whole)
        return other

    def unknown(
        self, path: str, findings: Sequence[Finding], source: SourceFile | None
    ) -> list[Finding]:
        """The findings of one file that the baseline does not know; what it knows counts as met."""
        name = self.name(path)
        return [f for f in findings if not self._meet(name, f.code, fingerprint(f, source))]

    def _meet(self, name: str, code: str, mark: str) -> bool:
        for key in ((name, code, mark), *self._moved.get((code, mark), ())):
            if self._left[key] > 0:
                self._left[key] -= 1
                return True
        return False

    def gone(self, judged: Callable[[Entry, str], bool]) -> list[tuple[Entry, int]]:
        """What the run has not met, of the entries that it was about (`judged` gets an entry and
        the full path of its file)."""
        return [
            (self._entries[key], self._left[key])
            for key in sorted(self._left)
            if self._left[key] > 0 and judged(self._entries[key], self._full(key[0]))
        ]

    def name(self, path: str) -> str:
        return os.path.relpath(path, self._folder).replace(os.sep, "/")

    def _full(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def kept(self, judged: Callable[[Entry, str], bool]) -> list[tuple[Entry, int]]:
        """The entries that a run was not about."""
        return [
            (entry, self._whole[key])
            for key, entry in self._entries.items()
            if not judged(entry, self._full(key[0]))
        ]


def write_baseline(
    baseline: Baseline,
    found: Iterable[tuple[str, Sequence[Finding], SourceFile | None]],
    kept: Iterable[tuple[Entry, int]],
) -> int:
    """Make the baseline's file hold the findings of these files, and the entries that are kept;
    how many findings that were. Raises `BadBaseline`."""
    counts: Counter[Entry] = Counter()
    for path, findings, source in found:
        counts.update(_entry(baseline.name(path), finding, source) for finding in findings)
    lines = [
        json.dumps({**entry._asdict(), "count": count}, ensure_ascii=False)
        for entry, count in sorted([*_merged(counts), *kept])
    ]
    body = ",\n".join(f"    {line}" for line in lines)
    listed = f"[\n{body}\n  ]" if lines else "[]"
    text = f'{{\n  "version": {VERSION},\n  "findings": {listed}\n}}\n'
    _write(baseline.path, text.encode("utf-8", "surrogatepass"))
    return sum(counts.values())


def _merged(counts: Counter[Entry]) -> Iterable[tuple[Entry, int]]:
    """Lines that differ in what does not count are one entry."""
    sums: Counter[tuple[str, str, str]] = Counter()
    first: dict[tuple[str, str, str], Entry] = {}
    for entry, count in counts.items():
        sums[entry.key] += count
        first.setdefault(entry.key, entry)
    return [(first[key], count) for key, count in sums.items()]


def _entry(name: str, finding: Finding, source: SourceFile | None) -> Entry:
    line = line_of(source, finding.cell, finding.row) if source is not None else None
    text = (line or "").strip()[:_LONG]
    mark = fingerprint(finding, source)
    return Entry(name, finding.code, mark, finding.severity.label, text)


def read_baseline(path: str) -> Baseline:
    """The baseline in a file. Raises `BadBaseline` (one line, with the way out)."""
    try:
        document = json.loads(read_regular(path, _MOST).decode("utf-8"))
    except FileNotFoundError:
        raise BadBaseline(
            f"{path}: no such baseline; make it with `mpslint check --baseline {path} "
            "--write-baseline`"
        ) from None
    except OSError as error:
        raise BadBaseline(f"{path}: cannot be read: {reason_of(error)}") from None
    except (ValueError, RecursionError):
        raise BadBaseline(
            f"{path}: is no JSON (a merge conflict?); mend it, or delete it and use "
            "--write-baseline"
        ) from None
    version = document.get("version") if isinstance(document, dict) else None
    if version is None:
        raise BadBaseline(
            f"{path}: is no baseline; name a file that --write-baseline made, or a new one"
        )
    if version != VERSION:
        raise BadBaseline(
            f"{path}: is a baseline of version {version!r}, not {VERSION}; delete it and use "
            "--write-baseline"
        )
    try:
        entries = [_parsed(row) for row in document["findings"]]
    except (KeyError, TypeError, ValueError, OverflowError):
        raise BadBaseline(
            f"{path}: an entry lacks a field; mend it, or delete it and use --write-baseline"
        ) from None
    return Baseline(path, entries)


def _parsed(row: dict[str, Any]) -> tuple[Entry, int]:
    values = {name: str(row[name]) for name in Entry._fields}
    Severity[values["severity"].upper()]
    return Entry(**values), int(row["count"])


def _write(path: str, data: bytes) -> None:
    from mpslint.errors import CannotWrite
    from mpslint.sources.writer import create, replace

    try:
        if not os.path.lexists(path):
            create(path, data)
            return
        before = read_regular(path)
        if before != data:
            replace(path, before, data)
    except CannotWrite as error:
        raise BadBaseline(str(error)) from None
    except OSError as error:
        raise BadBaseline(f"{path}: cannot be written: {reason_of(error)}") from None
