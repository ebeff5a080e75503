"""Whether it is an installed package that does something, by itself, while it is imported."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Callable
from types import CodeType, FrameType

_PLACES = ("stdlib", "platstdlib", "purelib", "platlib")


def folders() -> tuple[str, ...]:
    """Where this Python has its own modules and those of installed packages."""
    found = {path for name in _PLACES if (path := sysconfig.get_path(name))}
    return tuple(os.path.join(path, "") for path in sorted(found))


def judge(places: tuple[str, ...]) -> Callable[[FrameType | None], bool]:
    """A function that says so of the frame that does it: all frames up to Python's import are of
    one file in one of the places, and their code is what the file holds.

    A script cannot write such a file. What is used is in variables, which a script cannot replace.
    """
    begins, of_python, module = str.startswith, "<frozen importlib", "<module>"
    read, make, kind, is_of, every, any_error = open, compile, CodeType, isinstance, all, Exception

    def holds(whole: CodeType, wanted: CodeType) -> bool:
        pending = [whole]
        while pending:
            code = pending.pop()
            if code == wanted:
                return True
            pending += [const for const in code.co_consts if is_of(const, kind)]
        return False

    def while_imported(frame: FrameType | None) -> bool:
        if frame is None or not begins(frame.f_code.co_filename, places):
            return False
        file, codes = frame.f_code.co_filename, []
        while frame is not None and frame.f_code.co_filename == file:
            codes.append(frame.f_code)
            frame = frame.f_back
        if frame is None or not begins(frame.f_code.co_filename, of_python):
            return False
        if codes[-1].co_name != module:
            return False
        try:
            with read(file, "rb") as stream:
                whole = make(stream.read(), file, "exec", 0, True)
        except any_error:
            return False
        return every(holds(whole, code) for code in codes)

    return while_imported
