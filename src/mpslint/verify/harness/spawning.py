"""A Mac starts worker processes from nothing: what they are to do is pickled, and the main module
is imported again. Linux forks, where neither can go wrong.

On simulated mps both are tried before a worker is forked, with the errors that Python gives there.
"""

from __future__ import annotations

import ast
import functools
import io
import linecache
import multiprocessing
import sys
from multiprocessing import context, reduction
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any

import torch

_OWN = ("multiprocessing.", "torch.multiprocessing.")
_NOT_YET = """
        An attempt has been made to start a new process before the
        current process has finished its bootstrapping phase.

        This probably means that you are not using fork to start your
        child processes and you have forgotten to use the proper idiom
        in the main module:

            if __name__ == '__main__':
                freeze_support()
                ..."""

_chosen: list[str] = []
"""The start methods that the script asked for by name."""


def install() -> None:
    """Try what a Mac does, for each process that is started in the default way."""
    start: Any = BaseProcess.start
    default: Any = context.DefaultContext

    @functools.wraps(start)
    def tried(self: Any) -> None:
        if "fork" not in _chosen and multiprocessing.get_start_method() == "fork":
            _refuse_unguarded(sys._getframe().f_back)
            _pickle((self._target, self._args, self._kwargs))
        start(self)

    BaseProcess.start = tried  # type: ignore[method-assign]
    for name in ("get_context", "set_start_method"):
        setattr(default, name, _noting(getattr(default, name)))
        setattr(multiprocessing, name, getattr(context._default_context, name))


def _noting(choose: Any) -> Any:
    @functools.wraps(choose)
    def noted(self: Any, method: str | None = None, *args: Any, **kwargs: Any) -> Any:
        if method is not None:
            _chosen.append(method)
        return choose(self, method, *args, **kwargs)

    return noted


class _Pickler(reduction.ForkingPickler):
    def reducer_override(self, value: Any) -> Any:
        # Queues, locks and tensors are handed over in ways of their own.
        handed_over = isinstance(value, torch.Tensor | torch.UntypedStorage)
        kinds = type(value).__mro__  # the queues of concurrent.futures are heirs of these
        if handed_over or any(kind.__module__.startswith(_OWN) for kind in kinds):
            return int, ()
        return NotImplemented


class _Nowhere(io.RawIOBase):
    def write(self, data: Any) -> int:
        return len(data)


def _pickle(work: Any) -> None:
    # Arrays are left where they are.
    _Pickler(_Nowhere(), 5, True, lambda _buffer: False).dump(work)


def _refuse_unguarded(frame: FrameType | None) -> None:
    """A start that an import of the main module comes to: a Mac gets no further than that."""
    script = vars(sys.modules["__main__"])
    main = None
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_globals is script:
            main = frame
        frame = frame.f_back
    if main is None:
        return
    try:
        tree = ast.parse("".join(linecache.getlines(main.f_code.co_filename)))
    except (SyntaxError, ValueError):
        return
    if not any(_is_guard(node, main.f_lineno) for node in tree.body):
        raise RuntimeError(_NOT_YET)


def _is_guard(node: ast.stmt, line: int) -> bool:
    """Whether a statement holds a line, and runs it by the module's name alone."""
    if not node.lineno <= line <= (node.end_lineno or node.lineno):
        return False
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return isinstance(node, ast.If) and "__name__" in names
