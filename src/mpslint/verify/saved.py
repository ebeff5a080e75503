"""Numbers that a script left in files, read without torch: enough to say whether two runs saved
the same.
"""

from __future__ import annotations

import hashlib
import math
import os
import zipfile
from collections.abc import Collection, Mapping
from typing import NamedTuple

from mpslint.verify import numbers, storages

_TENSORS = (".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".npy", ".npz", ".tar")
_TEXTS = (".txt", ".csv", ".tsv", ".json", ".jsonl", ".log", ".yaml", ".yml")
_MOST_FILES = 50
_MOST_BYTES = 64 << 20
_MOST_VALUES = 4 << 20  # bytes of one storage that are read as numbers
_CLOSE = 1e-4


class Part(NamedTuple):
    """One storage: bytes, SHA-256, norm and sum of its values (NaN when they are not known)."""

    size: int
    digest: str
    norm: float
    total: float


class Text(NamedTuple):
    """The numbers of a text file, line by line."""

    lines: tuple[numbers.Line, ...]


Saved = Mapping[str, Part] | Text


def _part(data: bytes, kind: str | None) -> Part:
    read = data if len(data) <= _MOST_VALUES else b""
    norm, total = storages.norm_and_sum(read, kind if read else None)
    return Part(len(data), hashlib.sha256(data).hexdigest(), norm, total)


def read(path: str) -> Saved:
    """The storages of one file, or the numbers of a text; the pickled structure is left out, it
    names the device."""
    if path.endswith(_TEXTS):
        with open(path, encoding="utf-8", errors="replace") as text:
            return Text(tuple(numbers.of(text.read())))
    if not zipfile.is_zipfile(path):
        with open(path, "rb") as file:
            kind, values = storages.numpy_kind(file.read())
            return {"": _part(values, kind)}
    return _read_archive(path)


def _read_archive(path: str) -> Mapping[str, Part]:
    parts: dict[str, Part] = {}
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        pickled = next((name for name in names if name.endswith("data.pkl")), None)
        kinds = storages.storage_kinds(archive.read(pickled)) if pickled else {}
        for full in names:
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
    for path, state in sorted(states(folder).items()):
        unchanged = before.get(path) == state
        if unchanged or not path.endswith(_TENSORS + _TEXTS) or state[0] > _MOST_BYTES:
            continue
        try:
            found[path] = read(os.path.join(folder, path))
        except (OSError, zipfile.BadZipFile, ValueError, RuntimeError, KeyError):
            continue
        if len(found) >= _MOST_FILES:
            break
    return found


def states(folder: str) -> dict[str, tuple[int, int]]:
    """Relative path -> (size, modification time in ns) of the regular files below a folder."""
    found = {}
    for top, _, files in os.walk(folder):
        for name in files:
            path = os.path.join(top, name)
            try:
                info = os.lstat(path)
            except OSError:
                continue
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
    return any(
        bool(file.lines)
        if isinstance(file, Text)
        else any(not math.isnan(part.norm) for part in file.values())
        for file in files.values()
    )


def _differs(path: str, one: Saved, two: Saved, tolerance: float) -> str | None:
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
    if math.isnan(one.norm) or math.isnan(two.norm):
        return True
    # Terms of both signs cancel in a sum: it is held against the norm.
    near = abs(one.total - two.total) <= 10 * _CLOSE * max(one.norm, two.norm)
    return near and math.isclose(one.norm, two.norm, rel_tol=_CLOSE)
