"""Streams and events of the simulated CUDA device: work is done when it is called."""

from __future__ import annotations

import time
from typing import Any

import torch

from .state import SIM
from .sync_debug import wait

_CUDA_TYPE = 1


class _Streams:
    """The current stream, and how many were made: of one object, since names and classes of the
    harness that change during a run are taken for a script's doing.
    """

    def __init__(self) -> None:
        self.stream_id = self.made = 0


_streams = _Streams()


def default(index: int = 0) -> tuple[int, int, int]:
    """(stream id, device index, device type) of the default stream."""
    return 0, 0, _CUDA_TYPE


def current(index: int = 0) -> tuple[int, int, int]:
    """(stream id, device index, device type) of the current stream."""
    return _streams.stream_id, 0, _CUDA_TYPE


def select(stream_id: int, device_index: int, device_type: int) -> None:
    """Make a stream the current one."""
    _streams.stream_id = stream_id


class Stream:
    """Takes the place of ``torch.cuda.Stream``."""

    def __init__(
        self, device: Any = None, priority: int = 0, stream_id: int | None = None, **rest: Any
    ) -> None:
        if device is not None:
            with torch.cuda.device(device):
                pass  # refuses devices that do not exist
        if stream_id is None:
            _streams.made += 1
            stream_id = _streams.made
        self.stream_id = stream_id
        self.cuda_stream = stream_id
        self.priority = priority
        self.device_index = 0
        self.device_type = _CUDA_TYPE
        self.device = SIM.device

    def synchronize(self) -> None:
        wait("torch.cuda.Stream.synchronize")

    def wait_stream(self, stream: Any) -> None:
        pass

    def wait_event(self, event: Any) -> None:
        pass

    def record_event(self, event: Any = None) -> Any:
        event = Event() if event is None else event
        event.record(self)
        return event

    def query(self) -> bool:
        return True

    def __enter__(self) -> Stream:
        self._outer = _streams.stream_id
        _streams.stream_id = self.stream_id
        return self

    def __exit__(self, *exc: object) -> None:
        _streams.stream_id = self._outer

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.stream_id == self.stream_id

    def __hash__(self) -> int:
        return hash((self.stream_id, self.device))

    def __repr__(self) -> str:
        return f"<torch.cuda.Stream device={self.device} cuda_stream={self.cuda_stream:#x}>"


class Event:
    """Takes the place of ``torch.cuda.Event``; times are those of the CPU."""

    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None:
        self.enable_timing = enable_timing
        self.recorded_at: float | None = None

    def record(self, stream: Any = None) -> None:
        self.recorded_at = time.perf_counter()

    def wait(self, stream: Any = None) -> None:
        pass

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        from .cuda_names import wait_without_warning

        wait_without_warning("torch.cuda.Event.synchronize")

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds between two recorded events that were made with enable_timing."""
        if not (self.enable_timing and end_event.enable_timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self.recorded_at is None or end_event.recorded_at is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event.recorded_at - self.recorded_at) * 1e3
