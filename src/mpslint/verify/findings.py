"""The numbers in a pickle: those that stand by themselves, and those in arrays."""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeGuard

from mpslint.verify import pickles, storages
from mpslint.verify.pickles import Made, Table

_MANY = 16  # numbers in a row are an array
_DEEPEST = 60
_TENSOR = "_rebuild_"  # Source: torch/_utils.py; all functions that make a tensor anew


class Blob(NamedTuple):
    """An array: the element type as `struct` spells it (None: unknown), and its bytes."""

    kind: str | None
    data: bytes


class Named(NamedTuple):
    """What a tensor is called by the path of modules that leads to it, as in a state dict."""

    path: str


Found = str | Blob | bytes | Named
"""A line of text about one number; an array; a file within the file; the name of a tensor."""


def of(value: Any, whole: bool = True) -> Iterator[Found]:
    """What is found in a value; each object is looked into once, whoever refers to it.

    whole: also whole numbers and texts; without, those that a checkpoint holds by itself (sizes,
    versions, names of devices) do not count as results.
    """
    return _Walk(whole).look(value, "", 0)


class _Walk:
    def __init__(self, whole: bool) -> None:
        self.whole = whole
        self.seen: set[int] = set()

    def look(self, value: Any, keys: str, depth: int) -> Iterator[Found]:
        if isinstance(value, float | int | str) and not isinstance(value, bool):
            if self.whole or isinstance(value, float):
                yield f"{keys}: {value!r}"
            return
        if not isinstance(value, list | Made) or id(value) in self.seen or depth > _DEEPEST:
            return
        self.seen.add(id(value))
        if isinstance(value, Made):
            yield from self._made(value, keys, depth + 1)
        elif isinstance(value, Table):
            for key, inner in zip(value[::2], value[1::2], strict=False):
                if _is_path(key) and isinstance(inner, Made) and inner.name.startswith(_TENSOR):
                    yield Named(key)
                yield from self.look(inner, f"{keys} {_word(key)}", depth + 1)
        elif (numbers := _array(value)) is not None:
            yield Blob("d", numbers.tobytes())
        else:
            for inner in value:
                yield from self.look(inner, keys, depth + 1)

    def _made(self, made: Made, keys: str, depth: int) -> Iterator[Found]:
        read = _READERS.get(made.name)
        found = read(made) if read else None
        if found is not None:
            yield from self.look(found, keys, depth) if isinstance(found, float) else [found]
            return
        # A call's arguments say how a thing is built: of these only what it consists of counts.
        arguments = made.arguments if isinstance(made.arguments, list) else []
        for argument in arguments:
            if isinstance(argument, float | Made | Table):
                yield from self.look(argument, keys, depth)
        yield from self.look(made.items, keys, depth)
        yield from self.look(made.state, keys, depth)


def _is_path(key: Any) -> TypeGuard[str]:
    """Other keys are the script's own words, for a device too, and may well be others."""
    return isinstance(key, str) and "." in key


def _word(key: Any) -> str:
    return key if isinstance(key, str) and not any(map(str.isdigit, key)) else ""


def _array(values: list[Any]) -> array[float] | None:
    """Many numbers in lists of lists as one array; None for anything else."""
    flat: array[float] = array("d")
    left = [iter(values)]
    while left:
        for value in left[-1]:
            if isinstance(value, list) and not isinstance(value, Table) and len(left) < _DEEPEST:
                left.append(iter(value))
                break
            if isinstance(value, bool) or not isinstance(value, float | int):
                return None
            flat.append(value if abs(value) < 1e300 else math.inf)
        else:
            left.pop()
    return flat if len(flat) > _MANY else None


def _bytes(value: Any) -> bytes | None:
    if isinstance(value, bytes | bytearray):
        return bytes(value)
    if isinstance(value, Made) and value.name == "encode":  # old protocols spell bytes as text
        text = value.arguments[0]
        return text.encode("latin-1", "replace") if isinstance(text, str) else None
    if isinstance(value, Made) and value.name == "PickleBuffer":
        return _bytes(value.arguments[0])
    return None


def _kind(dtype: Any) -> str | None:
    if not isinstance(dtype, Made) or dtype.name != "dtype" or not isinstance(dtype.state, list):
        return None
    if dtype.state[1] not in ("<", "|") or not isinstance(dtype.arguments[0], str):
        return None
    return storages.NUMPY.get(dtype.arguments[0])


def _reconstructed(made: Made) -> Blob | None:
    if not isinstance(made.state, list) or len(made.state) < 5:
        return None
    data = _bytes(made.state[4])
    return None if data is None else Blob(_kind(made.state[2]), data)


def _from_buffer(made: Made) -> Blob | None:
    data = _bytes(made.arguments[0])
    return None if data is None else Blob(_kind(made.arguments[1]), data)


def _scalar(made: Made) -> float | None:
    kind, data = _kind(made.arguments[0]), _bytes(made.arguments[1])
    if kind is None or data is None or len(data) != struct.calcsize(f"<{kind}"):
        return None
    return float(struct.unpack(f"<{kind}", data)[0])


def _file(made: Made) -> bytes | None:
    """A storage of torch's is a whole file of `torch.save`."""
    return _bytes(made.arguments[0])


_READERS: dict[str, Callable[[Made], Blob | float | bytes | None]] = {
    "_reconstruct": _reconstructed,
    "_frombuffer": _from_buffer,
    "scalar": _scalar,
    "_load_from_bytes": _file,
}


def in_pickle(data: bytes, whole: bool = True) -> list[Found]:
    """What is found in a pickle. Raises `pickles.NotRead`."""
    try:
        return list(of(pickles.read(data), whole))
    except (IndexError, TypeError, ValueError, RecursionError) as error:
        raise pickles.NotRead(str(error)) from None
