"""A long run says that it goes on."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

EVERY = 20.0  # seconds

Tell = Callable[[str], None]


@contextlib.contextmanager
def told(what: str, tell: Tell, every: float = EVERY) -> Iterator[None]:
    """Say what begins, and from time to time for how long it has been going on."""
    tell(what)
    began, over = time.monotonic(), threading.Event()

    def go_on() -> None:
        while not over.wait(every):
            tell(f"{what}: {time.monotonic() - began:.0f} s so far")

    thread = threading.Thread(target=go_on, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
