"""``torch._dynamo`` is loaded when something of it is asked for, not by the first optimizer.

Optimizers import torch's tracing compiler only to tell it "do not trace this", which costs a third
of a short run. As long as it is not loaded nothing can be traced, so that the two calls they make,
``disable`` and ``graph_break``, have nothing to do; whatever else is asked for loads the real one.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import threading
from collections.abc import Callable, Sequence
from types import FunctionType, ModuleType
from typing import Any

NAME = "torch._dynamo"
_LOCK = threading.Lock()


class _StandIn(ModuleType):
    """In ``sys.modules`` until the real module is there; then it hands everything on to that."""

    def __init__(self, spec: importlib.machinery.ModuleSpec) -> None:
        super().__init__(NAME)
        # What a search of sys.modules looks at must not be what loads the real module.
        self.__dict__.update(
            __spec__=spec,
            __file__=spec.origin,
            __package__=NAME,
            __wrapped__=None,
            disable=disable,
            graph_break=graph_break,
        )

    def __getattr__(self, name: str) -> Any:
        value = getattr(load(), name)
        _SUBMODULES.path_was_asked = name == "__path__"
        return value

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(load(), name, value)

    def __dir__(self) -> list[str]:
        return dir(load())


class _Submodules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Hands out submodules that came with the real module.

    ``import torch._dynamo.config`` asks for the package's ``__path__``, which loads it, and then
    for the submodule, which would run a second time.
    """

    def __init__(self) -> None:
        self.path_was_asked = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not self.path_was_asked or not fullname.startswith(NAME + "."):
            return None
        self.path_was_asked = False
        found = sys.modules.get(fullname)
        if found is None:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self)
        spec.loader_state = (found, found.__spec__)
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        found: ModuleType = spec.loader_state[0]
        return found

    def exec_module(self, module: ModuleType) -> None:
        state = getattr(module.__spec__, "loader_state", None)
        if state:
            module.__spec__ = state[1]


_SUBMODULES = _Submodules()


def _is_loaded() -> bool:
    return not isinstance(sys.modules.get(NAME), _StandIn)


def load() -> ModuleType:
    """The real module."""
    with _LOCK:
        if not _is_loaded():
            del sys.modules[NAME]
    return importlib.import_module(NAME)


def graph_break(*args: Any, **options: Any) -> None:
    """Where a trace would be cut: nothing without the compiler, and nothing outside a trace."""
    if _is_loaded():
        load().graph_break(*args, **options)


def disable(fn: Any = None, recursive: bool = True, **options: Any) -> Any:
    """``torch._dynamo.disable``; torch's own use of it takes effect once there is a compiler."""
    if _is_loaded() or not isinstance(fn, FunctionType) or options != {"wrapping": False}:
        return load().disable(fn, recursive, **options)
    real: Callable[..., Any] | None = None

    def untraced(*args: Any, **named: Any) -> Any:
        nonlocal real
        if real is None and _is_loaded():
            real = load().disable(fn, recursive, **options)
        return (real or fn)(*args, **named)

    return untraced


def install() -> None:
    """Put the stand-in where the first optimizer looks; nothing where the real module is loaded."""
    if NAME in sys.modules:
        return
    spec = importlib.util.find_spec(NAME)
    if spec is None:
        return
    sys.modules[NAME] = _StandIn(spec)
    sys.meta_path.insert(0, _SUBMODULES)
