"""Raising an exception in the main thread from another one, never in the middle of an operation.

``PyThreadState_SetAsyncExc`` raises it at the next bytecode, which may be one of a kernel that
libtorch is waiting for. So the main thread is asked, by a pending call, to look where it is, and
raises it itself between two of its bytecodes, or waits to be asked again.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from types import FrameType

from .frames import in_operation

_PAUSE = 0.005
_QUEUE_IS_FULL = -1


class _Question:
    """A pending call is a C function of one argument that returns -1 where it raises.

    ``PyObject_IsTrue`` is one, and calls Python: this object says False, or raises.
    """

    def __init__(self, interruption: Interruption) -> None:
        self.interruption = interruption

    def __bool__(self) -> bool:
        self.interruption.raise_between_operations(sys._getframe().f_back)
        return False


class Interruption:
    """One exception that is raised once, by whoever claims it."""

    def __init__(self, kind: type[BaseException]) -> None:
        self._kind = kind
        self._claimed = threading.Lock()
        self._asked = False
        self._wanted = False
        self._question = _Question(self)

    def claim(self) -> bool:
        """True for the first who asks: that one raises the exception, and nobody else does."""
        return self._claimed.acquire(blocking=False)

    def raise_in_main_thread(self, seconds: float) -> None:
        """Try for at most so long; called from another thread."""
        end = time.monotonic() + seconds
        self._wanted = True
        while not self._claimed.locked() and time.monotonic() < end:
            if not self._asked:
                self._asked = True
                if not self._ask():
                    self._asked = False
            time.sleep(_PAUSE)
        self._wanted = False

    def after_operation(self) -> None:
        """Raise it here, where it is wanted: who is asked now and then may be in an operation each
        time, since hardly anything else is done between two backward passes.
        """
        if self._wanted and threading.current_thread() is threading.main_thread():
            self.raise_between_operations(sys._getframe())

    def _ask(self) -> bool:
        add = ctypes.pythonapi.Py_AddPendingCall
        function = ctypes.cast(ctypes.pythonapi.PyObject_IsTrue, ctypes.c_void_p)
        # The queue of calls holds no reference of its own.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._question))
        asked: int = add(function, ctypes.c_void_p(id(self._question)))
        return asked != _QUEUE_IS_FULL

    def raise_between_operations(self, frame: FrameType | None) -> None:
        """What the main thread does when it is asked; ``frame`` is where it was."""
        if in_operation(frame):
            self._asked = False
        elif self.claim():
            raise self._kind()
