"""What a file that a script wrote holds, told by its bytes and not by its name.

Nothing of it is executed, and what it grows to when it is unpacked is counted.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import pickletools
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mpslint.verify import findings, numbers, pickles, pictures, storages
from mpslint.verify.findings import Blob, Found, Named
from mpslint.verify.pictures import Picture
from mpslint.verify.storages import Summary

MOST_BYTES = 64 << 20  # of one file, as it lies there and unpacked
_MOST_TEXT = 4 << 20
_MOST_VALUES = 4 << 20  # bytes of one storage that are read as numbers
_MOST_PARTS = 10_000  # of one archive
_MOST_PICKLED = 4 << 20  # of a checkpoint's structure
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_DEEPEST = 3  # files in files
_ZIP, _GZIP, _NUMPY = b"PK\3\4", b"\x1f\x8b", b"\x93NUMPY"
_OLD_TORCH = b"\x8a\x0a" + bytes.fromhex("6cfc9c46f9206aa85019")  # its magic number, pickled
_SAFETENSORS = {
    "F64": "d", "F32": "f", "F16": "e", "BF16": "bf16", "I64": "q", "I32": "i", "I16": "h",
    "I8": "b", "U8": "B", "BOOL": "B",
}  # fmt: skip


class Part(NamedTuple):
    """One storage: its bytes, their SHA-256, and a summary of its values."""

    size: int
    digest: str
    values: Summary


class Text(NamedTuple):
    """The numbers of a text file, line by line."""

    lines: tuple[numbers.Line, ...]


class Mixed(NamedTuple):
    """A file of numbers and of arrays. paths: what tensors in it are called, module by module."""

    lines: tuple[numbers.Line, ...]
    parts: Mapping[str, Part]
    paths: frozenset[str] = frozenset()


class Shown(NamedTuple):
    """A picture."""

    picture: Picture


class Unknown(NamedTuple):
    """A kind of file that is not known: only whether it is the same can be said."""

    digest: str


class Unread(NamedTuple):
    """A file that was not looked into, and why."""

    reason: str


Saved = Mapping[str, Part] | Text | Mixed | Shown | Unknown | Unread
_BROKEN: tuple[type[Exception], ...] = (
    *(zipfile.BadZipFile, zlib.error, struct.error, ValueError, RuntimeError, KeyError),
    *(IndexError, EOFError, OverflowError, MemoryError, TypeError, AttributeError, OSError),
)
"""What the libraries raise for files that are not what they should be."""


def part(data: bytes, kind: str | None) -> Part:
    read = data if len(data) <= _MOST_VALUES else b""
    values = storages.summary(read, kind if read else None)
    return Part(len(data), hashlib.sha256(data).hexdigest(), values)


def read(data: bytes, depth: int = 0) -> Saved:
    """What the bytes of a file hold."""
    try:
        return _read(data, depth)
    except _BROKEN as error:
        return Unread(f"not read: {type(error).__name__}")


def _read(data: bytes, depth: int) -> Saved:
    if data.startswith(_NUMPY):
        kind, values = storages.numpy_kind(data)
        return {"": part(values, kind)}
    if data.startswith(_GZIP) and depth < _DEEPEST:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as packed:
            unpacked = packed.read(MOST_BYTES + 1)
        return _too_large() if len(unpacked) > MOST_BYTES else read(unpacked, depth + 1)
    if data.startswith(_ZIP) or zipfile.is_zipfile(io.BytesIO(data)):
        return _read_archive(data, depth)
    if (picture := pictures.read(data)) is not None:
        return Shown(picture)
    if data.startswith(_OLD_TORCH, 2):
        return _old_checkpoint(data)
    if data[:1] == b"\x80" and data[-1:] == b".":
        try:
            return _mixed(findings.in_pickle(data), depth)
        except pickles.NotRead as error:
            return Unread(f"a pickle that is not followed: {error}")
    if (tensors := _safetensors(data)) is not None:
        return tensors
    if (text := _text(data)) is not None:
        return Text(tuple(numbers.of_document(text)))
    return Unknown(hashlib.sha256(data).hexdigest())


def _too_large() -> Unread:
    return Unread(f"larger than {MOST_BYTES:,} bytes when it is unpacked")


def _text(data: bytes) -> str | None:
    """A file as text, if it is one."""
    if b"\0" in data or len(data) > _MOST_TEXT:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _mixed(found: Iterable[Found], depth: int) -> Mixed:
    lines: list[numbers.Line] = []
    parts: dict[str, Part] = {}
    paths: set[str] = set()
    for number, one in enumerate(found):
        if isinstance(one, str):
            lines += numbers.of(one)
        elif isinstance(one, Named):
            paths.add(one.path)
        elif isinstance(one, Blob):
            parts[str(number)] = part(one.data, one.kind)
        elif depth < _DEEPEST:
            inner = read(one, depth + 1)
            for name, held in parts_of(inner).items():
                parts[f"{number}/{name}"] = held
    return Mixed(tuple(lines), parts, frozenset(paths))


def parts_of(file: Saved) -> Mapping[str, Part]:
    """The arrays of a file."""
    if isinstance(file, Mixed):
        return file.parts
    return {} if isinstance(file, Text | Shown | Unknown | Unread) else file


def lines_of(file: Saved) -> tuple[numbers.Line, ...]:
    """The numbers of a file that stand by themselves."""
    return file.lines if isinstance(file, Text | Mixed) else ()


def paths_of(file: Saved) -> frozenset[str]:
    """What tensors of a file are called, module by module."""
    return file.paths if isinstance(file, Mixed) else frozenset()


def _read_archive(data: bytes, depth: int) -> Saved:
    # Counted before the library makes an object of each.
    if data.count(b"PK\1\2") > _MOST_PARTS:
        return Unread(f"more than {_MOST_PARTS:,} parts")
    parts: dict[str, Part] = {}
    lines: list[numbers.Line] = []
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {info.filename: info for info in archive.infolist()}
        if any(info.compress_type not in _PACKED for info in members.values()):
            return Unread("packed in a way that neither torch nor numpy packs")
        # No more of a part is unpacked than its size says.
        if sum(info.file_size for info in archive.infolist()) > MOST_BYTES:
            return _too_large()
        pickled = next((name for name in members if name.endswith("data.pkl")), None)
        structure = archive.read(pickled) if pickled else b""
        kinds = storages.storage_kinds(structure) if pickled else {}
        for full in members:
            name = full.partition("/")[2] or full
            if name.endswith(".npy"):
                kind, values = storages.numpy_kind(archive.read(full))
                parts[name] = part(values, kind)
            elif name.startswith("data/"):
                parts[name] = part(archive.read(full), kinds.get(name[len("data/") :]))
            elif pickled is None and depth < _DEEPEST:
                inner = read(archive.read(full), depth + 1)
                lines += lines_of(inner)
                parts.update({f"{full}/{key}": one for key, one in parts_of(inner).items()})
    if structure and len(structure) <= _MOST_PICKLED:
        return _structured(parts, structure, lines)
    return Mixed(tuple(lines), parts) if lines else parts


def _structured(
    parts: Mapping[str, Part], structure: bytes, before: Iterable[numbers.Line] = ()
) -> Saved:
    """A checkpoint: its storages, what they are called, and its real numbers that are no tensors;
    what it is built of names devices.
    """
    try:
        found = findings.in_pickle(structure, whole=False)
    except pickles.NotRead:
        found = []
    lines = [line for one in found if isinstance(one, str) for line in numbers.of(one)]
    paths = frozenset(one.path for one in found if isinstance(one, Named))
    lines = [*before, *lines]
    return Mixed(tuple(lines), parts, paths) if lines or paths else parts


def _old_checkpoint(data: bytes) -> Saved:
    """Storages one after the other, behind five pickles: a magic number, a version, the machine,
    the structure and the storages' keys.

    Source: torch/serialization.py (`_legacy_save`).
    """
    stream = io.BytesIO(data)
    pickled = []
    for _ in range(5):
        begins = stream.tell()
        for _ in pickletools.genops(stream):
            pass
        pickled.append(data[begins : stream.tell()])
    kinds = storages.storage_kinds(pickled[3])
    numbered = {key: number for number, key in enumerate(kinds)}  # the keys are addresses
    parts: dict[str, Part] = {}
    for key in pickles.read(pickled[4]):
        kind = kinds.get(key)
        if kind is None:
            break
        size = int.from_bytes(stream.read(8), "little") * storages.width(kind)
        parts[f"data/{numbered[key]}"] = part(stream.read(min(size, len(data))), kind)
    return _structured(parts, pickled[3])


def _safetensors(data: bytes) -> Mapping[str, Part] | None:
    """Source: the README of huggingface/safetensors (8 bytes of length, JSON, the values)."""
    size = int.from_bytes(data[:8], "little")
    if len(data) < 10 or not 2 <= size <= len(data) - 8 or data[8:9] != b"{":
        return None
    try:
        header = json.loads(data[8 : 8 + size])
        values = memoryview(data)[8 + size :]
        return {
            name: part(bytes(values[slice(*one["data_offsets"])]), _SAFETENSORS.get(one["dtype"]))
            for name, one in header.items()
            if name != "__metadata__"
        }
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
