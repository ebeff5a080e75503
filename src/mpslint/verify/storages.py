"""Numbers in the files that `torch.save` and `numpy.save` write, read without either of them.

Only the bytes of storages and what the pickle calls their types are looked at: nothing is
unpickled, since that would run code of the script.
"""

from __future__ import annotations

import ast
import math
import pickletools
import struct
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

_TYPES = {
    "FloatStorage": "f",
    "DoubleStorage": "d",
    "HalfStorage": "e",
    "BFloat16Storage": "bf16",
    "LongStorage": "q",
    "IntStorage": "i",
    "ShortStorage": "h",
    "CharStorage": "b",
    "ByteStorage": "B",
    "BoolStorage": "B",
    # A complex number is two real ones.
    "ComplexHalfStorage": "e",
    "ComplexFloatStorage": "f",
    "ComplexDoubleStorage": "d",
}
NUMPY = {
    "f2": "e", "f4": "f", "f8": "d", "i8": "q", "i4": "i", "i2": "h", "i1": "b", "u8": "Q",
    "u4": "I", "u2": "H", "u1": "B", "b1": "B", "c8": "f", "c16": "d",
}  # fmt: skip
_NUMPY_MAGIC = b"\x93NUMPY"
_MOST_HEADER = 64 << 10
_MOST_PICKLED = 4 << 20
_GETS = ("BINGET", "LONG_BINGET", "GET")
_PUTS = ("BINPUT", "LONG_BINPUT", "PUT")
_TEXTS = ("BINUNICODE", "SHORT_BINUNICODE", "UNICODE")


class Summary(NamedTuple):
    """What is told of many values: the L2 norm and the sum of the finite ones (NaN when the values
    are not known), and how many are NaN, infinite and minus infinite.
    """

    norm: float
    total: float
    not_finite: tuple[int, int, int]

    @property
    def is_known(self) -> bool:
        return not math.isnan(self.norm)


UNKNOWN = Summary(math.nan, math.nan, (0, 0, 0))


def summary(data: bytes, kind: str | None) -> Summary:
    """The summary of little-endian `data`; `UNKNOWN` where `kind` is None or does not fit."""
    if kind is None or len(data) % width(kind):
        return UNKNOWN
    values = list(_values(data, kind))
    finite = [value for value in values if math.isfinite(value)]
    odd = (
        [value for value in values if not math.isfinite(value)] if len(finite) < len(values) else []
    )
    counts = (sum(map(math.isnan, odd)), odd.count(math.inf), odd.count(-math.inf))
    # Scaled, so that no square of a large number is infinite.
    largest = max(map(abs, finite), default=0) or 1
    norm = largest * math.sqrt(math.fsum((value / largest) ** 2 for value in finite))
    return Summary(norm, largest * math.fsum(value / largest for value in finite), counts)


def width(kind: str) -> int:
    """Bytes of one value."""
    return 2 if kind == "bf16" else struct.calcsize(f"<{kind}")


def _values(data: bytes, kind: str) -> Iterable[float]:
    if kind == "e":
        return (value for (value,) in struct.iter_unpack("<e", data))
    numbers = array("H" if kind == "bf16" else kind, data)
    if sys.byteorder == "big":
        numbers.byteswap()
    if kind == "bf16":
        # The upper half of a float32.
        return array("f", array("I", (half << 16 for half in numbers)).tobytes())
    return numbers


def numpy_kind(data: bytes) -> tuple[str | None, bytes]:
    """The element type of a `.npy` file as `struct` spells it (None: not one of ours), and the
    values' bytes. Source: numpy/lib/format.py (`numpy.lib.format`)."""
    if not data.startswith(_NUMPY_MAGIC) or len(data) < 12:
        return None, data
    wide = data[6] > 1
    start = 12 if wide else 10
    end = start + int.from_bytes(data[8:start], "little")
    if end - start > _MOST_HEADER:
        return None, data
    try:
        described = ast.literal_eval(data[start:end].decode("latin-1").strip())["descr"]
    except (ValueError, SyntaxError, KeyError, TypeError, RecursionError, MemoryError):
        return None, data
    if not isinstance(described, str) or described[:1] not in "<|":
        return None, data
    return NUMPY.get(described[1:]), data[end:]


def storage_kinds(pickled: bytes) -> Mapping[str, str]:
    """Storage key -> element type, as the pickle in a checkpoint names them.

    Source: torch/serialization.py (`persistent_id`: ("storage", type, key, location, numel)).
    """
    if len(pickled) > _MOST_PICKLED:
        return {}
    kinds: dict[str, str] = {}
    memo: dict[object, object] = {}
    last: object = None
    waiting: str | None = None
    for operation, argument, _ in _operations(pickled):
        if operation.name in _PUTS:
            memo[argument] = last
            continue
        if operation.name == "GLOBAL":
            last = str(argument).rpartition(" ")[2]
        elif operation.name in _GETS:
            last = memo.get(argument)
        elif operation.name in _TEXTS:
            last = argument
            if waiting is not None:
                kinds[str(argument)], waiting = waiting, None
        else:
            last = None
        if isinstance(last, str) and last in _TYPES:
            waiting = _TYPES[last]
    return kinds


def _operations(pickled: bytes) -> Iterator[tuple[pickletools.OpcodeInfo, object, int | None]]:
    """The operations of a pickle, as far as it is one."""
    try:
        yield from pickletools.genops(pickled)
    except (ValueError, OverflowError, IndexError, AssertionError):
        return
