"""What earlier runs found, so that an unchanged file is not even read.

One file per set of settings and folder, in the user's own cache (`cache_folder`): what a
project brings is no memory of ours. A file is known by its modification time and size, else by the
hash of its content. The key holds the settings, the folder, the Python version and the state of
mpslint's own files, so that neither an upgrade nor an edited rule can show old findings. It is an
optimisation: whatever goes wrong with it (read-only or full disk, broken file, another
process writing at the same time) costs time, never a result.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from mpslint.findings.results import FileResult, from_record, to_record
from mpslint.folders.cache_folder import CacheFolder, open_folder
from mpslint.sources.reading import RECENT_NS, UNSURE, sign_of

if TYPE_CHECKING:
    from mpslint.folders.discovery import Target
    from mpslint.settings.settings import Settings

_MAX_ENTRIES = 50_000
_PARSED, _FIXES, _IN_PART = 1, 2, 4
_NO_MATTER = (
    "exclude",
    "extend_exclude",
    "respect_gitignore",
    "force_exclude",
    "max_file_size",
    "baseline",
)


class Caches:
    """The caches of one run: one per settings."""

    def __init__(self) -> None:
        """Raises `BadSettings`."""
        self._by_settings: dict[int, tuple[Settings, Cache]] = {}
        self._folder = open_folder()

    def of(self, settings: Settings) -> Cache:
        # Targets below one settings file share the object, so identity is the quick key.
        known = self._by_settings.get(id(settings))
        if known is None:
            known = self._by_settings[id(settings)] = (settings, Cache(settings, self._folder))
        return known[1]

    def save(self) -> None:
        """Write what is new, and let go of the folder."""
        caches = [cache for _, cache in self._by_settings.values() if cache.has_news]
        with contextlib.suppress(OSError):
            if caches and self._folder is None:
                self._folder = open_folder(make=True)
            if self._folder is not None:
                for cache in caches:
                    cache.save(self._folder)
                if caches:
                    self._folder.prune()
        if self._folder is not None:
            self._folder.close()


class Cache:
    """Entries of one set of settings: path -> [mtime_ns, size, digest, flags, records, warning,
    consulted, records of what is untold, rows that are mended], `consulted` being a list of [path,
    mtime_ns, size] of the files that the findings rest on."""

    def __init__(self, settings: Settings, folder: CacheFolder | None) -> None:
        self._here = os.getcwd() + os.sep
        self._root = os.path.join(settings.root or os.getcwd(), "")
        self._file = f"{key_of(settings, self._root)}.json"
        self._entries = _entries(folder, self._file)
        self._fresh: dict[str, list[Any]] = {}
        self._signs: dict[str, tuple[int, int]] = {}
        self.used_before = bool(self._entries)

    def by_stat(
        self, target: Target, status: os.stat_result, *, with_fixes: bool
    ) -> FileResult | None:
        """The findings of a file with this time and size; None when that is not known."""
        entry = self._entry(target.path)
        if entry is None or entry[0] != status.st_mtime_ns or entry[1] != status.st_size:
            return None
        if not self._still(entry):
            return None
        return _result(entry, target, with_fixes=with_fixes)

    def digest(self, target: Target, *, with_fixes: bool) -> str:
        """The content for which findings are known, empty for none."""
        entry = self._entry(target.path)
        if entry is None or _result(entry, target, with_fixes=with_fixes) is None:
            return ""
        if not self._still(entry):
            return ""
        return str(entry[2])

    def touch(self, target: Target, status: os.stat_result, read_at: int) -> FileResult:
        """The known findings of a file whose content turned out to be the known one."""
        entry = self._entry(target.path)
        assert entry is not None
        self._keep(target.path, [*_stamp(status, read_at), *entry[2:]])
        result = _result(entry, target, with_fixes=False)
        return result if result is not None else FileResult(target.path)

    def store(
        self,
        target: Target,
        status: os.stat_result,
        read_at: int,
        digest: str,
        result: FileResult,
        *,
        with_fixes: bool,
    ) -> None:
        """Remember the result; errors are not kept, so that they are said again."""
        if result.error is None:
            flags = (_PARSED if target.named else 0) | (_FIXES if with_fixes else 0)
            flags |= 0 if result.is_whole else _IN_PART
            records = [to_record(finding, with_fix=with_fixes) for finding in result.findings]
            stamp = _stamp(status, read_at)
            # The path in front is that of this run; another may stand in another folder.
            warning = (result.warning or "").removeprefix(f"{target.path}: ")
            others = [[self._name(other.path), *other[1:]] for other in result.consulted]
            untold = [to_record(finding, with_fix=False) for finding in result.untold]
            said = [digest, flags, records, warning, others, untold, list(result.mended)]
            self._keep(target.path, [*stamp, *said])

    @property
    def has_news(self) -> bool:
        return bool(self._fresh)

    def save(self, folder: CacheFolder) -> None:
        """Write what is new, together with what other processes wrote meanwhile."""
        merged = {**_entries(folder, self._file), **self._fresh}
        if len(merged) > _MAX_ENTRIES:
            merged = dict(list(merged.items())[-_MAX_ENTRIES:])
        folder.write(self._file, packed(merged))

    def _name(self, path: str) -> str:
        plain = not os.path.isabs(path) and ".." not in path
        full = self._here + path if plain else os.path.abspath(path)
        return full[len(self._root) :] if full.startswith(self._root) else full

    def _entry(self, path: str) -> list[Any] | None:
        entry = self._entries.get(self._name(path))
        return entry if isinstance(entry, list) and len(entry) == 9 else None

    def _still(self, entry: list[Any]) -> bool:
        """Whether the other files that an entry rests on are as they were."""
        try:
            then = {name: (time, size) for name, time, size in entry[6]}
            return all(sign != UNSURE and self._sign(name) == sign for name, sign in then.items())
        except (ValueError, TypeError):
            return False

    def _sign(self, name: str) -> tuple[int, int]:
        if name not in self._signs:
            self._signs[name] = sign_of(os.path.join(self._root, name))
        return self._signs[name]

    def _keep(self, path: str, entry: list[Any]) -> None:
        self._entries[self._name(path)] = self._fresh[self._name(path)] = entry


def _result(entry: list[Any], target: Target, *, with_fixes: bool) -> FileResult | None:
    """What an entry says of a file, None where it does not say enough."""
    _, _, _, flags, records, warning, _, beside, rows = entry
    try:
        if target.named and not flags & _PARSED:
            return None
        findings = tuple(from_record(record) for record in records)
        untold = tuple(from_record(record) for record in beside)
        mended = tuple(map(int, rows))
    except (ValueError, TypeError, KeyError):
        return None
    if with_fixes and not flags & _FIXES and any(f.applicability for f in findings):
        return None
    said = f"{target.path}: {warning}" if warning else None
    is_whole = not flags & _IN_PART
    return FileResult(
        target.path, findings, None, said, untold=untold, is_whole=is_whole, mended=mended
    )


def digest_of(data: bytes) -> str:
    try:
        # hashlib is a front for this, and loads OpenSSL: a tenth of a short run.
        from _blake2 import blake2b
    except ImportError:
        from hashlib import blake2b

    return blake2b(data, digest_size=16).hexdigest()


def _stamp(status: os.stat_result, read_at: int) -> tuple[int, int]:
    recent = read_at - status.st_mtime_ns < RECENT_NS
    return (0 if recent else status.st_mtime_ns, status.st_size)


def key_of(settings: Settings, root: str) -> str:
    values = [
        f"{name}={value!r}" for name, value in settings._asdict().items() if name not in _NO_MATTER
    ]
    return digest_of(
        "\n".join([*values, root, sys.version, _own_state()]).encode("utf-8", "replace")
    )


@functools.lru_cache(maxsize=1)
def _own_state() -> str:
    """Times and sizes of mpslint's own files, below `verify` excepted."""
    parts = []
    folders = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
    while folders:
        with os.scandir(folders.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    if entry.name not in ("__pycache__", "verify", "cli", "output"):
                        folders.append(entry.path)
                else:
                    status = entry.stat()
                    parts.append(f"{entry.name}:{status.st_mtime_ns}:{status.st_size}")
    return " ".join(sorted(parts))


def packed(entries: dict[str, Any]) -> bytes:
    """Entries as they are kept: a line with the digest of what follows, so that what a disk or a
    program has changed since is not believed."""
    text = json.dumps(entries, separators=(",", ":")).encode()
    return b"%b\n%b" % (digest_of(text).encode(), text)


def unpacked(data: bytes) -> dict[str, Any]:
    """Raises `ValueError` for what `packed` has not made."""
    digest, _, text = data.partition(b"\n")
    entries = json.loads(text) if digest == digest_of(text).encode() else None
    if not isinstance(entries, dict):
        raise ValueError("not as it was written")
    return entries


def _entries(folder: CacheFolder | None, name: str) -> dict[str, Any]:
    if folder is None:
        return {}
    try:
        return unpacked(folder.read(name))
    except (OSError, ValueError, RecursionError):
        return {}
