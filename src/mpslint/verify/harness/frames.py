"""Which line of the user's code are we in?"""

from __future__ import annotations

import os
import sys
import sysconfig
from types import CodeType, FrameType, TracebackType

Location = tuple[str, int]

NOWHERE: Location = ("<unknown>", 0)

_INTERNAL, _LIBRARY, _USER = 0, 1, 2

_HERE = os.path.dirname(os.path.abspath(__file__))
_STDLIB = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})
_ranks: dict[CodeType, int] = {}
_torch_folder: str | None = None


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


def user_location(depth: int = 1) -> Location:
    """File and line of the innermost frame of the user's project above the caller.

    Falls back to the innermost frame of an installed library, then to :data:`NOWHERE` (autograd's
    device thread has no Python frames of the user at all).
    """
    frame: FrameType | None = sys._getframe(depth)
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
    return library or NOWHERE


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
