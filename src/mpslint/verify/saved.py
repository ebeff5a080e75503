"""Numbers that a script left in files, read without torch: enough to say whether two runs saved
the same.

The files are those of a program that may mean harm: only regular ones are opened, no link is
followed, and what they grow to when they are unpacked is counted.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import math
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Collection, Mapping
from typing import NamedTuple

from mpslint.files import files_below, read_regular
from mpslint.verify import numbers, storages
from mpslint.verify.storages import Summary

_TENSORS = (".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".npy", ".npz", ".tar")
_TEXTS = (".txt", ".csv", ".tsv", ".json", ".jsonl", ".log", ".yaml", ".yml")
_MOST_FILES = 50
_MOST_LISTED = 100_000
_MOST_BYTES = 64 << 20  # of one file, as it lies there and unpacked
_MOST_TEXT = 4 << 20
_MOST_VALUES = 4 << 20  # bytes of one storage that are read as numbers
_MOST_ALL = 256 << 20  # of all files of a run, unpacked
_MOST_PARTS = 10_000  # of one archive
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_CLOSE = 1e-4


class Part(NamedTuple):
    """One storage: its bytes, their SHA-256, and a summary of its values."""

    size: int
    digest: str
    values: Summary


class Text(NamedTuple):
    """The numbers of a text file, line by line."""

    lines: tuple[numbers.Line, ...]


class Unread(NamedTuple):
    """A file that was not looked into, and why."""

    reason: str


Saved = Mapping[str, Part] | Text | Unread
_BROKEN: tuple[type[Exception], ...] = (
    *(zipfile.BadZipFile, zlib.error, struct.error, ValueError, RuntimeError, KeyError),
    *(IndexError, EOFError, OverflowError, MemoryError),
)
"""What the libraries raise for files that are not what they should be."""


def _part(data: bytes, kind: str | None) -> Part:
    read = data if len(data) <= _MOST_VALUES else b""
    values = storages.summary(read, kind if read else None)
    return Part(len(data), hashlib.sha256(data).hexdigest(), values)


def read(path: str) -> Saved:
    """The storages of one file, or the numbers of a text; the pickled structure is left out, it
    names the device."""
    is_text = path.endswith(_TEXTS)
    try:
        data = read_regular(path, _MOST_TEXT if is_text else _MOST_BYTES, follow=False)
    except OSError as error:
        return Unread(error.strerror or "unreadable")
    if is_text:
        return Text(tuple(numbers.of(data.decode("utf-8", "replace"))))
    try:
        if zipfile.is_zipfile(io.BytesIO(data)):
            return _read_archive(data)
        kind, values = storages.numpy_kind(data)
        return {"": _part(values, kind)}
    except _BROKEN as error:
        return Unread(f"not read: {type(error).__name__}")


def _read_archive(data: bytes) -> Mapping[str, Part] | Unread:
    # Counted before the library makes an object of each.
    if data.count(b"PK\1\2") > _MOST_PARTS:
        return Unread(f"more than {_MOST_PARTS:,} parts")
    parts: dict[str, Part] = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {info.filename: info for info in archive.infolist()}
        if any(info.compress_type not in _PACKED for info in members.values()):
            return Unread("packed in a way that neither torch nor numpy packs")
        # No more of a part is unpacked than its size says.
        if sum(info.file_size for info in archive.infolist()) > _MOST_BYTES:
            return Unread(f"larger than {_MOST_BYTES:,} bytes when it is unpacked")
        pickled = next((name for name in members if name.endswith("data.pkl")), None)
        kinds = storages.storage_kinds(archive.read(pickled)) if pickled else {}
        for full in members:
            name = full.partition("/")[2] or full
            if name.endswith(".npy"):
                kind, values = storages.numpy_kind(archive.read(full))
                parts[name] = _part(values, kind)
            elif name.startswith("data/"):
                parts[name] = _part(archive.read(full), kinds.get(name[len("data/") :]))
    return parts


def collect(folder: str, before: Mapping[str, tuple[int, int]]) -> dict[str, Saved]:
    """Relative path -> numbers, of the files of tensors and texts that are new or changed since
    `before`."""
    found: dict[str, Saved] = {}
    read_so_far = 0
    for path, state in sorted(states(folder).items()):
        unchanged = before.get(path) == state
        if unchanged or not path.endswith(_TENSORS + _TEXTS):
            continue
        if len(found) >= _MOST_FILES:
            break
        if read_so_far > _MOST_ALL:
            found[path] = Unread(f"all together larger than {_MOST_ALL:,} bytes")
            continue
        saved = found[path] = read(os.path.join(folder, path))
        read_so_far += state[0] + (0 if isinstance(saved, Text | Unread) else _size(saved))
    return found


def _size(parts: Mapping[str, Part]) -> int:
    return sum(part.size for part in parts.values())


def unread(files: Mapping[str, Saved]) -> list[str]:
    """The files that were not looked into, each with the reason."""
    return [f"{path} ({file.reason})" for path, file in files.items() if isinstance(file, Unread)]


def states(folder: str) -> dict[str, tuple[int, int]]:
    """Relative path -> (size, modification time in ns) of the regular files below a folder."""
    found = {}
    for path in itertools.islice(files_below(folder), _MOST_LISTED):
        try:
            info = os.lstat(path)
        except OSError:
            continue
        if stat.S_ISREG(info.st_mode):
            found[os.path.relpath(path, folder)] = (info.st_size, info.st_mtime_ns)
    return found


def difference(
    original: Mapping[str, Saved],
    patched: Mapping[str, Saved],
    tolerance: float,
    unstable: Collection[str] = (),
) -> str | None:
    """What differs first between the files of two runs, in words; `unstable` paths are left out.

    A tolerance of 0 asks for the same bytes of tensors and the same numbers in texts.
    """
    for path, one in original.items():
        if path in unstable:
            continue
        if path not in patched:
            return f"the original saves {path}, the patched script does not"
        if found := _differs(path, one, patched[path], tolerance):
            return found
    return None


def unstable_files(one: Mapping[str, Saved], two: Mapping[str, Saved]) -> set[str]:
    """The files that two runs of one program on one device write differently."""
    return {path for path in one if difference({path: one[path]}, two, 0.0) is not None}


def has_numbers(files: Mapping[str, Saved]) -> bool:
    """Whether there is a number in any of the files."""
    return any(map(_has_numbers, files.values()))


def _has_numbers(file: Saved) -> bool:
    if isinstance(file, Text):
        return bool(file.lines)
    return not isinstance(file, Unread) and any(p.values.is_known for p in file.values())


def _differs(path: str, one: Saved, two: Saved, tolerance: float) -> str | None:
    if isinstance(one, Unread):
        return None
    if isinstance(two, Unread):
        return f"{path} cannot be compared with the original's: {two.reason}"
    if isinstance(one, Text) or isinstance(two, Text):
        assert isinstance(one, Text)
        assert isinstance(two, Text)
        other = numbers.different_line(one.lines, two.lines, tolerance)
        return None if other is None else f"{path} holds other numbers than the original's"
    if {name: part.size for name, part in one.items()} != {
        name: part.size for name, part in two.items()
    }:
        return f"{path} holds tensors of other sizes than the original's"
    for name, part in one.items():
        same = part.digest == two[name].digest
        if not same and (tolerance == 0 or not _close(part, two[name])):
            return f"{path} holds other tensors than the original's"
    return None


def _close(one: Part, two: Part) -> bool:
    first, second = one.values, two.values
    if not (first.is_known and second.is_known):
        return True
    if first.not_finite != second.not_finite:
        return False
    # Terms of both signs cancel in a sum: it is held against the norm.
    near = abs(first.total - second.total) <= 10 * _CLOSE * max(first.norm, second.norm)
    near = near or first.total == second.total
    return near and math.isclose(first.norm, second.norm, rel_tol=_CLOSE)
