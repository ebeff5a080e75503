"""How the report reaches mpslint: as it comes about, over a socket, in one sealed record after the
other.

The launcher reads a key from the socket before it runs the script. Each record carries a seal made
with the key, and each seal uses the key up: the next one is made from it, and there is no way back.
So a report that the script wrote itself is not believed, whether it comes before, between or after
the launcher's records; what was sent cannot be changed later; and without the last record, the one
that says how the script ended, there is no report at all.

The script runs in the same process. There `teller` keeps the key, `vetting` looks at who tells
what, and `tripwire` hears what takes them apart. Code that reads and writes the process's memory by
its address can still get at the key, and no seal helps against that: see docs/verification.md.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

KEY_BYTES = 32
LENGTH = ">I"
RATCHET = b"next"
"""What is put before a key to make the next one of it."""
_LENGTH = struct.Struct(LENGTH)
# A clock that interrupts the launcher between the two halves of sending costs one key.
_SKIPPED = 4

Record = dict[str, Any]
Send = Callable[[Record], None]


class Forged(Exception):
    """What came over the channel is not what the launcher sent; the message says how."""


class Told(NamedTuple):
    """What the launcher told: its last record's report (None: it never came), the exit status that
    it was about to leave with, and what was told before.
    """

    report: dict[str, Any] | None
    status: int | None
    records: list[Record]


def _seal(key: bytes, data: bytes) -> bytes:
    return hmac.digest(key, data, "sha256")


def _next(key: bytes) -> bytes:
    return hashlib.sha256(RATCHET + key).digest()


def read(data: bytes, key: bytes) -> Told:
    """What came over the channel. Raises Forged where somebody else than the launcher wrote."""
    try:
        return _told(data, key)
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        # The launcher's key, and not the launcher's words.
        raise Forged("the report is not one that the launcher writes") from None


def _told(data: bytes, key: bytes) -> Told:
    records: list[Record] = []
    at = 0
    while at < len(data):
        if records and "end" in records[-1]:
            raise Forged("something was written after the report's end")
        start = at + _LENGTH.size + KEY_BYTES
        if start > len(data):
            break  # killed while it wrote: there is no end either
        (length,) = _LENGTH.unpack_from(data, at)
        seal, body = data[at + _LENGTH.size : start], data[start : start + length]
        if len(body) < length:
            if records or length < len(data):
                break
            raise Forged("the report does not begin as one")
        for _ in range(_SKIPPED):
            same = hmac.compare_digest(_seal(key, body), seal)
            key = _next(key)
            if same:
                break
        else:
            raise Forged("a part of the report was not written by the launcher")
        record = json.loads(body)
        if not isinstance(record, dict):
            raise TypeError
        records.append(record)
        at = start + length
    _distrust(records)
    if not records or "end" not in records[-1]:
        return Told(None, None, records)
    last = records.pop()
    _agree(last["end"], records)
    return Told(last["end"], last["status"], records)


def _distrust(records: list[Record]) -> None:
    """What the check heard of somebody who takes it apart; nothing that came later is believed."""
    for record in records:
        if "changed" in record:
            raise Forged(f"the script changed what the check recorded ({record['changed']})")
        if "touched" in record:
            raise Forged(f"the script takes the check apart: it {record['touched']}")


def _agree(report: Record, records: list[Record]) -> None:
    """The end must not contradict what was told on the way."""
    came = report["from_children"]
    if report["device_ops"] > came["ops"] and not any("used" in record for record in records):
        raise Forged("the report counts operations of the device, and none was seen")
    limits = [record["limit"] for record in records if "limit" in record]
    if any(limit not in report["limits"] for limit in limits):
        raise Forged("the report leaves out a limit of the simulation that was met")
    if any("unavailable" in record for record in records) and report["outcome"] != "unavailable":
        raise Forged("the report leaves out that there is no device")
    # A clock that stops the script may do so between counting and telling.
    slack = 1 if report["outcome"] == "stopped" else 0
    for name, key in (("losses", "loss"), ("params_digest", "digest")):
        told = [record[key] for record in records if key in record]
        kept = report[name][: len(report[name]) - came[name]]
        both = min(len(told), len(kept))
        if repr(told[:both]) != repr(kept[:both]) or abs(len(told) - len(kept)) > slack:
            raise Forged(f"the report's {name} are not those that were seen while it ran")
    steps = [record for record in records if "step" in record]
    seen = min(report["steps"] - came["steps"], report["told_steps"])
    if abs(seen - len(steps)) > slack:
        raise Forged("the report's steps are not those that were seen while it ran")
    if steps and report["device_ops"] < steps[-1]["ops"]:
        raise Forged("the report counts less than was seen while it ran")
