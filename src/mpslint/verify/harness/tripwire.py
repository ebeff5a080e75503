"""Hears what takes the check apart: an audit hook, which Python cannot remove.

What it hears is told at once, so that nothing can take it back. It says nothing to the many events
of ordinary programs: frames, generators, code and objects of others, the collector, ctypes.

What native code does to the process's memory is no event: see docs/verification.md.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import Any

from . import installed
from .channel import Send
from .frames import LIBRARIES, is_user_code
from .teller import Teller
from .vetting import HERE

Rule = Callable[[tuple[Any, ...], FrameType | None], str]

_CODE = ("__code__", "__defaults__", "__kwdefaults__", "__class__", "__bases__")
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_ADDRESSES = {
    "ctypes.cdata": "from_address",
    "ctypes.PyObj_FromPtr": "an address as an object",
    "ctypes.string_at": "string_at",
    "ctypes.wstring_at": "wstring_at",
    "ctypes.memoryview_at": "memoryview_at",
}


def _path(value: object) -> str:
    try:
        return os.fsdecode(value)  # type: ignore[arg-type]
    except TypeError:
        return ""


def _is_memory(path: str, mode: object, flags: int) -> bool:
    """Whether a path leads to the file that shows a process's memory."""
    named = os.path.basename(path) == "mem"
    if named and mode is None and not flags & os.O_CREAT and not os.path.lexists(path):
        return True  # below a folder that is open already
    if not named and not os.path.islink(path):
        return False
    real = os.path.realpath(path)
    return real.startswith("/proc/") and real.endswith("/mem")


def _is_ours(thing: Any) -> bool:
    if isinstance(thing, FunctionType):
        return thing.__code__.co_filename.startswith(HERE)
    owner = thing if isinstance(thing, type) else type(thing)
    module = str(getattr(owner, "__module__", ""))
    # A class that is being made is not yet where it belongs.
    made = getattr(sys.modules.get(module), owner.__name__, None) is owner
    return made and module.startswith((__package__ or "") + ".")


def _holds_ours(code: CodeType) -> bool:
    """Whether somebody else's text holds code that says it stands in a file of ours."""
    inner = [const for const in code.co_consts if isinstance(const, CodeType)]
    return any(part.co_filename.startswith(HERE) or _holds_ours(part) for part in inner)


def _same_text(file: str, source: object) -> bool:
    try:
        with open(file, "rb") as stream:
            return stream.read() == source
    except OSError:
        return False


class Wire:
    """Decides what an event means."""

    def __init__(self, teller: Teller | None, children: str | None) -> None:
        self.capsule = teller.capsule if teller is not None else None
        self.children = os.path.realpath(children) if children else ""
        self.run = {
            str(getattr(module, "__file__", ""))
            for name, module in list(sys.modules.items())
            if name.startswith(__package__ or "")
        }
        self.rules: dict[str, Rule] = {
            "object.__getattr__": self._attribute,
            "object.__setattr__": self._change,
            "object.__delattr__": self._change,
            "compile": self._compile,
            "exec": self._exec,
            "code.__new__": self._code,
            "function.__new__": self._function,
            "sys._getframe": self._frame,
            "sys._current_frames": self._frame,
            "sys.monitoring.register_callback": self._monitor,
            "open": self._open,
            **dict.fromkeys(("os.rename", "os.link", "os.symlink"), self._placed),
        }
        for event, what in _ADDRESSES.items():
            self.rules[event] = self._address(what)

    def _attribute(self, args: tuple[Any, ...], frame: FrameType | None) -> str:
        return self._frame(args, frame) if args[1] == "tb_frame" else ""

    def _change(self, args: tuple[Any, ...], frame: FrameType | None) -> str:
        if args[1] not in _CODE or not _is_ours(args[0]):
            return ""
        return f"changes the {args[1]} of {getattr(args[0], '__name__', 'an object')}"

    def _compile(self, args: tuple[Any, ...], frame: FrameType | None) -> str:
        file = _path(args[1])
        if not file.startswith(HERE) or _same_text(file, args[0]):
            return ""
        return f"compiles other text as {os.path.basename(file)}"

    def _exec(self, args: tuple[Any, ...], frame: FrameType | None) -> str:
        code = args[0]
        if code.co_filename.startswith(HERE):
            again = code.co_filename in self.run
            self.run.add(code.co_filename)
            imports = frame is not None and frame.f_code.co_filename.startswith("<frozen importlib")
            return "" if imports and not again else f"runs {os.path.basename(code.co_filename)}"
        if not is_user_code(code) or not _holds_ours(code):
            return ""
        return "runs code under the name of one of the check's files"

    def _code(self, args: tuple[Any, ...], frame: FrameType | None) -> str:
        file = _path(args[1])
        return f"makes code of {os.path.basename(file)}" if file.startswith(HERE) else ""

    def _function(self, args: tuple[Any, ...], frame: FrameType | None) -> str:
        ours = args[0].co_filename.startswith(HERE)
        return f"makes a function of the code of {args[0].co_name}" if ours else ""

    def _frame(self, args: tuple[Any, ...], frame: FrameType | None) -> str:
        inside = getattr(self.capsule, "gi_running", False)
        if not inside or frame is None or frame.f_code.co_filename.startswith(HERE):
            return ""
        while frame is not None:
            if frame.f_code.co_name == "_sealing" and frame.f_code.co_filename.startswith(HERE):
                return "asks for frames while a record is told"
            frame = frame.f_back
        return ""

    def _monitor(self, args: tuple[Any, ...], frame: FrameType | None) -> str:
        code = getattr(args[0] if args else None, "__code__", None)
        return "monitors all code" if code is not None and is_user_code(code) else ""

    def _address(self, what: str) -> Rule:
        def rule(args: tuple[Any, ...], frame: FrameType | None) -> str:
            if frame is None or not is_user_code(frame.f_code):
                return ""
            return f"reads or writes memory by its address ({what})"

        return rule

    def _open(self, args: tuple[Any, ...], frame: FrameType | None) -> str:
        path, flags = _path(args[0]), args[2] if len(args) > 2 else 0
        flags = flags if isinstance(flags, int) else 0
        if _is_memory(path, args[1], flags):
            return "opens the memory of a process"
        return self._puts(path, frame) if flags & _WRITES else ""

    def _placed(self, args: tuple[Any, ...], frame: FrameType | None) -> str:
        return self._puts(_path(args[1]), frame)

    def _puts(self, path: str, frame: FrameType | None) -> str:
        """Who writes among the records of the child processes."""
        if not self.children or not os.path.realpath(path).startswith(self.children + os.sep):
            return ""
        while frame is not None and not is_user_code(frame.f_code):
            if frame.f_code.co_filename.startswith(HERE):
                return ""
            frame = frame.f_back
        return "writes the record of a child process"


def install(teller: Teller | None, children: str | None) -> None:
    """Hear from now on; what happens in a process that cannot tell is refused instead.

    What `hear` uses is in variables: it must not call what a script can put under a name of ours.
    """
    wire = Wire(teller, children)
    send: Send | None = teller.send if teller is not None else None
    secret: tuple[Any, ...] = (teller.capsule, teller.vetted) if teller is not None else ()
    rules, busy, told = wire.rules, set[int](), set[str]()
    thread, asking, getpid, process = threading.get_ident, sys._getframe, os.getpid, os.getpid()
    count, begins, ends, text, refused = (
        gc.get_freeze_count, str.startswith, str.rpartition, str, PermissionError,
    )  # fmt: skip
    libraries, nothing_said = (HERE, *LIBRARIES), contextlib.suppress
    librarys, listens = installed.judge(installed.folders()), "listens to the events of Python"
    # What the collector has put aside is not among "all objects" until it is asked for.
    gc.freeze()
    half = count() // 2

    def tell(what: str, frame: FrameType | None) -> None:
        while frame is not None and begins(frame.f_code.co_filename, libraries):
            frame = frame.f_back
        if frame is not None:
            what += f", {ends(frame.f_code.co_filename, '/')[2]}:{text(frame.f_lineno)}"
        if send is not None and what not in told:
            told.add(what)
            send({"touched": what})

    def hear(event: str, args: tuple[Any, ...]) -> None:
        what = ""
        if event == "object.__getattr__":
            for thing in secret:
                if args[0] is thing:
                    what = "asks for what holds the key"
        elif event in ("gc.get_objects", "gc.get_referrers", "gc.get_referents"):
            if count() < half:
                what = "asks for all objects after gc.unfreeze"
            if event != "gc.get_objects":
                for asked in args[0]:
                    for thing in secret:
                        if asked is thing:
                            what = "asks the collector for what holds the key"
        elif event == "sys.addaudithook":
            what = listens
        rule = rules.get(event)
        number = thread()
        if not what and (rule is None or number in busy):
            return
        mine = number in busy
        busy.add(number)
        try:
            # At the end of a thread, for one, no frame lies below the hook's.
            frame = asking().f_back
            if what is listens and not mine and librarys(frame):
                return
            if not what and rule is not None:
                with nothing_said(Exception):
                    what = rule(args, frame)
            if not what:
                return
            if send is not None and getpid() == process:
                tell(what, frame)
            elif "of a child process" in what:
                raise refused(what)
        finally:
            if not mine:
                busy.discard(number)

    sys.addaudithook(hear)
