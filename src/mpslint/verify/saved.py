"""Tensors that a script left in files, read without torch: enough to say whether two runs saved
the same.
"""

from __future__ import annotations

import array
import hashlib
import math
import os
import zipfile
from collections.abc import Mapping
from typing import NamedTuple

SUFFIXES = (".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".npy", ".npz", ".tar")
_MOST_FILES = 50
_MOST_BYTES = 64 << 20
_CLOSE = 1e-4


class Part(NamedTuple):
    """One storage: bytes, SHA-256, and the norm of its values read as float32 (NaN when they are
    none).
    """

    size: int
    digest: str
    norm: float


Saved = Mapping[str, Part]


def _part(data: bytes) -> Part:
    norm = math.nan
    if len(data) % 4 == 0 and len(data) <= 4 << 20:
        values = array.array("f", data)
        norm = math.sqrt(math.fsum(v * v for v in values if math.isfinite(v) and abs(v) < 1e18))
    return Part(len(data), hashlib.sha256(data).hexdigest(), norm)


def read(path: str) -> Saved:
    """The storages of one file; the pickled structure is left out, it names the device."""
    if not zipfile.is_zipfile(path):
        with open(path, "rb") as file:
            return {"": _part(file.read())}
    parts = {}
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            name = info.filename.partition("/")[2] or info.filename
            if name.startswith("data/") or name.endswith(".npy"):
                parts[name] = _part(archive.read(info))
    return parts


def collect(folder: str, before: Mapping[str, tuple[int, int]]) -> dict[str, Saved]:
    """Relative path -> storages, of the tensor files that are new or changed since `before`."""
    found: dict[str, Saved] = {}
    for path, state in sorted(states(folder).items()):
        unchanged = before.get(path) == state
        if unchanged or not path.endswith(SUFFIXES) or state[0] > _MOST_BYTES:
            continue
        try:
            found[path] = read(os.path.join(folder, path))
        except (OSError, zipfile.BadZipFile, ValueError, RuntimeError):
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
    original: Mapping[str, Saved], patched: Mapping[str, Saved], exact: bool
) -> str | None:
    """What differs first between the saved tensors of two runs, in words."""
    for path, parts in original.items():
        if path not in patched:
            return f"the original saves {path}, the patched script does not"
        other = patched[path]
        if {name: part.size for name, part in parts.items()} != {
            name: part.size for name, part in other.items()
        }:
            return f"{path} holds tensors of other sizes"
        for name, part in parts.items():
            same = part.digest == other[name].digest
            if not same and (exact or not _close(part.norm, other[name].norm)):
                return f"the tensors saved in {path} differ"
    return None


def _close(one: float, two: float) -> bool:
    return math.isnan(one) or math.isnan(two) or math.isclose(one, two, rel_tol=_CLOSE)
