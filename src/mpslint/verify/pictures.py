"""The pixels of a picture, without a library of pictures: PNG and the portable formats (PNM).

Of other formats only the bytes can be compared.
"""

from __future__ import annotations

import re
import zlib
from typing import NamedTuple

_PNG = b"\x89PNG\r\n\x1a\n"
_PNM = re.compile(rb"(P[56])(?:\s+|#[^\n]*\n)+(\d{1,5})\s+(\d{1,5})\s+(255)\s")
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_MOST_PIXELS = 8 << 20
_FEW = 1e-3  # the share of values that may be further away than that
_NEAR = 2


class Picture(NamedTuple):
    width: int
    height: int
    channels: int
    pixels: bytes


def read(data: bytes) -> Picture | None:
    """The picture that a file holds; None where it is none of ours. Raises ValueError, zlib.error
    and IndexError for broken ones.
    """
    if data.startswith(_PNG):
        return _png(data)
    found = _PNM.match(data)
    if found is None:
        return None
    channels = 3 if found[1] == b"P6" else 1
    return Picture(int(found[2]), int(found[3]), channels, data[found.end() :])


def close(one: Picture, two: Picture) -> bool:
    """Whether nearly all values are the same but for rounding."""
    if one[:3] != two[:3] or len(one.pixels) != len(two.pixels):
        return False
    far = sum(abs(a - b) > _NEAR for a, b in zip(one.pixels, two.pixels, strict=True))
    return far <= _FEW * len(one.pixels)


def _png(data: bytes) -> Picture | None:
    at, packed, header = len(_PNG), bytearray(), b""
    while at + 8 <= len(data):
        size, kind = int.from_bytes(data[at : at + 4], "big"), data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            header = body
        elif kind in (b"IDAT", b"PLTE"):
            packed += body if kind == b"IDAT" else b""
        at += 12 + size
    if len(header) != 13:
        return None
    width, height = int.from_bytes(header[:4], "big"), int.from_bytes(header[4:8], "big")
    depth, colours, interlaced = header[8], header[9], header[12]
    if depth != 8 or colours not in _CHANNELS or interlaced:
        return None
    channels = _CHANNELS[colours]
    expected = height * (1 + width * channels)
    if expected > _MOST_PIXELS:
        return None
    raw = zlib.decompressobj().decompress(bytes(packed), expected)
    if len(raw) != expected:
        return None
    return Picture(width, height, channels, _unfiltered(raw, width * channels, channels))


def _unfiltered(raw: bytes, stride: int, step: int) -> bytes:
    """Source: the PNG specification, section 9 (filtering)."""
    found = bytearray()
    above = bytearray(stride)
    for start in range(0, len(raw), stride + 1):
        line = bytearray(raw[start + 1 : start + 1 + stride])
        kind = raw[start]
        for at in range(stride if kind else 0):
            left = line[at - step] if at >= step else 0
            corner = above[at - step] if at >= step else 0
            up = above[at]
            if kind == 1:
                guess = left
            elif kind == 2:
                guess = up
            elif kind == 3:
                guess = (left + up) // 2
            else:
                guess = _paeth(left, up, corner)
            line[at] = (line[at] + guess) & 255
        found += line
        above = line
    return bytes(found)


def _paeth(left: int, up: int, corner: int) -> int:
    guess = left + up - corner
    distances = abs(guess - left), abs(guess - up), abs(guess - corner)
    return (left, up, corner)[distances.index(min(distances))]
