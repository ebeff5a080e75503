"""The launcher's end of the channel: what seals a record and sends it, in a place of its own.

The key and the socket lie in the variables of a generator, and nowhere else: no attribute, closure
or module leads to them, and asking for a generator's frame is an event that the tripwire hears. The
functions that seal are C functions in variables, too. While a record is told, nothing of the
script's runs: handlers of signals, profilers and the garbage collector wait.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import _socket
import gc
import hashlib
import hmac
import json
import os
import struct
import sys
import threading
from collections.abc import Callable, Generator
from json import encoder
from typing import Any, NamedTuple

from .channel import KEY_BYTES, LENGTH, RATCHET, Record, Send
from .vetting import Vetting

Capsule = Generator[Exception | None, Record, None]


class Teller(NamedTuple):
    """`send` tells a record, from this process only; `capsule` is what holds the key."""

    send: Send
    capsule: Capsule
    vetted: Vetting | None


def _encoder() -> Callable[[Record], str]:
    make: Any = getattr(encoder, "c_make_encoder", None)
    if make is None:
        return json.JSONEncoder(allow_nan=True).encode

    def no_text(value: object) -> None:
        raise TypeError(f"a record holds a {type(value).__name__}")

    encode = make(
        None, no_text, encoder.encode_basestring_ascii, None, ": ", ", ", False, False, True
    )
    join = "".join
    return lambda record: join(encode(record, 0))


def _sealing(handle: int, vetted: Vetting | None) -> Capsule:
    """Takes records; gives the error of the last one, if there was one."""
    fstat, getpid, no_file, asking = os.fstat, os.getpid, OSError, sys._getframe
    digest: Any = hmac.digest
    if hasattr(hmac, "_hashopenssl"):
        digest = hmac._hashopenssl.hmac_digest
    advance, ratchet = hashlib.sha256, RATCHET
    pack = struct.Struct(LENGTH).pack
    encode, any_error, size, text = _encoder(), Exception, len, str.encode
    sock = _socket.socket(fileno=handle)
    key = b""
    while size(key) < KEY_BYTES:
        part = sock.recv(KEY_BYTES - size(key))
        if not part:
            raise no_file("the channel was closed before it was used")
        key += part
    del part
    os.set_inheritable(handle, False)
    sock.shutdown(_socket.SHUT_RD)
    process, itself = getpid(), fstat(handle).st_ino
    failed: Exception | None = None
    while True:
        record = yield failed
        failed = None
        try:
            if getpid() != process:
                continue
            records = [record]
            if vetted is not None:
                wrong = vetted.send((record, asking(1)))
                if wrong:
                    records = [{"touched": wrong}, record]
            for record in records:
                if "loaded" in record:
                    continue
                data = text(encode(record))
                seal, key = digest(key, data, "sha256"), advance(ratchet + key).digest()
                # A script that closes all files, as daemons do, loses its report and nothing else.
                if fstat(handle).st_ino == itself:
                    sock.sendall(pack(size(data)) + seal + data)
        except no_file:
            pass
        except any_error as error:
            failed = error


def open_channel(handle: int, vetted: Vetting | None = None) -> Teller:
    """Take the key from the socket; what tells records from now on."""
    if vetted is not None:
        next(vetted)
    capsule = _sealing(handle, vetted)
    next(capsule)
    lock = threading.RLock()
    main = threading.main_thread().ident
    tell, thread, get_handler, set_handler = (
        capsule.send, threading.get_ident, _signal.getsignal, _signal.signal,
    )  # fmt: skip
    signals = sorted(_signal.valid_signals())
    set_profile, get_profile = sys.setprofile, sys.getprofile
    set_trace, get_trace = sys.settrace, sys.gettrace
    collects, collect, do_not_collect = gc.isenabled, gc.enable, gc.disable
    again = _signal.raise_signal

    def send(record: Record) -> None:
        with lock:
            arrived: dict[int, Any] = {}
            handlers: list[tuple[int, Any]] = []
            profile, trace, collecting = get_profile(), get_trace(), collects()
            try:
                # What was written in C shows no frames; it cannot always be put back, either.
                if callable(profile):
                    set_profile(None)
                if callable(trace):
                    set_trace(None)
                do_not_collect()
                if thread() == main:
                    for number in signals:
                        handler = get_handler(number)
                        if callable(handler):
                            set_handler(number, arrived.setdefault)
                            handlers.append((number, handler))
                failed = tell(record)
            finally:
                for number, handler in handlers:
                    set_handler(number, handler)
                if collecting:
                    collect()
                if callable(trace):
                    set_trace(trace)
                if callable(profile):
                    set_profile(profile)
                for number in arrived:
                    again(number)
            if failed is not None:
                raise failed

    return Teller(send, capsule, vetted)
