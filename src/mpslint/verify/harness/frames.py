"""Which line of the user's code are we in?"""

from __future__ import annotations

import contextlib
import dis
import os
import sys
import sysconfig
from collections.abc import Iterator
from types import CodeType, FrameType, TracebackType

Location = tuple[str, int]

NOWHERE: Location = ("<unknown>", 0)

_INTERNAL, _LIBRARY, _USER = 0, 1, 2

_HERE = os.path.dirname(os.path.abspath(__file__))
_SIMULATOR = os.path.join(_HERE, "simulator") + os.sep
_WAITS_IN_C = ("_engine_run_backward", "__del__")
_STDLIB = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
LIBRARIES = tuple({*_STDLIB, *filter(None, map(sysconfig.get_path, ("purelib", "platlib"))), "<"})
"""How names of files begin whose code is not the user's own."""
_TELLING = tuple(os.path.join(_HERE, name) for name in ("teller.py", "vetting.py", "tripwire.py"))
_ranks: dict[CodeType, int] = {}
_torch_folder: str | None = None
# innermost last; several threads may each run a backward pass
_waiting_for_autograd: list[Location] = []


def _rank(code: CodeType) -> int:
    """2 for the user's project, 1 for installed libraries, 0 for torch, Python and ourselves."""
    global _torch_folder
    if _torch_folder is None:
        torch_file = getattr(sys.modules.get("torch"), "__file__", None)
        _torch_folder = os.path.dirname(torch_file) + os.sep if torch_file else None
    name = code.co_filename
    if name.startswith("<"):
        # exec'd text has no file; only what notebooks and doctests run could be the user's.
        rank = _INTERNAL
    elif name.startswith(_HERE) or (_torch_folder and name.startswith(_torch_folder)):
        rank = _INTERNAL
    elif "site-packages" in name or "dist-packages" in name:
        rank = _LIBRARY
    elif name.startswith(_STDLIB):
        rank = _INTERNAL
    else:
        rank = _USER
    if _torch_folder is not None:
        _ranks[code] = rank
    return rank


def is_user_code(code: CodeType) -> bool:
    """True for code of the user's project itself (not torch, not an installed library)."""
    rank = _ranks.get(code)
    return (_rank(code) if rank is None else rank) == _USER


def user_location() -> Location:
    """File and line of the innermost frame of the user's project.

    Falls back to the innermost frame of an installed library, then to the line that waits for
    autograd (whose device thread calls a kernel with no Python frame around it), then to
    :data:`NOWHERE`.
    """
    frame: FrameType | None = sys._getframe()
    library: Location | None = None
    while frame is not None:
        code = frame.f_code
        rank = _ranks.get(code)
        if rank is None:
            rank = _rank(code)
        if rank == _USER:
            return code.co_filename, frame.f_lineno
        if rank == _LIBRARY and library is None:
            library = (code.co_filename, frame.f_lineno)
        frame = frame.f_back
    if library is not None:
        return library
    return _waiting_for_autograd[-1] if _waiting_for_autograd else NOWHERE


@contextlib.contextmanager
def waiting_for_autograd() -> Iterator[None]:
    """Within, what no frame of the user's accounts for is put down to the line that is here now."""
    place = user_location()
    _waiting_for_autograd.append(place)
    try:
        yield
    finally:
        _waiting_for_autograd.remove(place)


def called_by_user() -> bool:
    """Whether the function that asks was called by code of the user's project itself.

    Python itself calls functions, too, with no frame below them (``atexit``, for one).
    """
    asking = sys._getframe().f_back
    caller = asking.f_back if asking is not None else None
    return caller is not None and is_user_code(caller.f_code)


def in_operation(frame: FrameType | None) -> bool:
    """Whether torch's C++ code waits for what runs in ``frame``: a kernel, a hook of autograd, a
    destructor. An exception that comes from nowhere ends badly there, or is lost. The same holds
    while a record is told.
    """
    while frame is not None:
        code = frame.f_code
        file = code.co_filename
        if file.startswith(_SIMULATOR) or file in _TELLING or code.co_name in _WAITS_IN_C:
            return True
        frame = frame.f_back
    return False


def traceback_location(traceback: TracebackType | None) -> Location:
    """Like :func:`user_location`, for the frames of a traceback."""
    library: Location | None = None
    user: Location | None = None
    last: Location | None = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        place = (code.co_filename, traceback.tb_lineno)
        rank = _rank(code)
        if rank == _USER:
            user = place
        elif rank == _LIBRARY:
            library = place
        last = place
        traceback = traceback.tb_next
    return user or library or last or NOWHERE


def raised_by_user(traceback: TracebackType | None) -> bool:
    """Whether a `raise` or an `assert` of the user's project ended it, and not what that called:
    C++ code has no frame of its own."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None or not is_user_code(traceback.tb_frame.f_code):
        return False
    code = traceback.tb_frame.f_code.co_code
    return dis.opname[code[traceback.tb_lasti]] == "RAISE_VARARGS"
