"""torch, imported before anybody knows the script, for runs that are forked from one process.

`prepare` imports it as the harness does in a process of its own, and only from where packages are
installed; then its modules are put aside. A forked run that imports torch gets them back at that
moment, so that all that happens to torch happens when the script asks for it.
"""

from __future__ import annotations

import compileall
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import os
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from types import ModuleType

_PACKAGES = ("torch", "functorch")
# What the libraries below torch, and torch itself, read while they are loaded.
_READ = (
    "ATEN_", "BLIS_", "C10_", "DNNL", "GOMP_", "GOTO_", "KMP_", "LD_", "MKL_", "NPY_", "NUMEXPR_",
    "NUMPY_", "OMP_", "ONEDNN", "OPENBLAS_", "PYTORCH_", "TORCH", "USE_NNPACK", "VECLIB_",
)  # fmt: skip
_READ_HERE = "PYTORCH_ENABLE_MPS_FALLBACK"  # by the simulation, when the script imports torch
_FORKS = "mpslint"
_PLUGINS = "torch.backends"  # entry points that torch loads while it is imported

_kept: dict[str, ModuleType] = {}
_read: dict[str, set[str | None]] = {}
"""Values, before and after, of what was read while torch was imported."""
_set: dict[str, str] = {}
"""What the import of torch added to the environment."""


class NotPossible(Exception):
    """Each run has to import torch for itself."""


def prepare(project: list[str]) -> dict[str, list[str]]:
    """Import torch, and nothing of the folders of the project; returns the names of all top-level
    modules that a run will find loaded.
    """
    if importlib.metadata.entry_points(group=_PLUGINS):
        raise NotPossible("torch would load plug-ins, and those may be the project's")
    from . import bootstrap, launcher  # noqa: F401 - loaded once for all runs

    path, finders, before = list(sys.path), list(sys.meta_path), dict(os.environ)
    sys.path[:] = [one for one in path if one and os.path.realpath(one) not in project]
    sys.meta_path[:] = [bootstrap._CFinder(), *filter(_is_pythons_own, finders)]
    importlib.import_module("torch")
    _read_the_rest()
    sys.path[:], sys.meta_path[:] = path, finders
    _remember(before)
    # Those of the one who forks are gone by then; a package of this name may be anybody's.
    loaded = sorted({name.partition(".")[0] for name in sys.modules} - {_FORKS})
    _put_aside()
    return {"loaded": loaded}


def _read_the_rest() -> None:
    """What each run would compile and read anew. Its modules are not loaded here: what they hold is
    watched from then on, and is filled in once there is a device.
    """
    from . import optable

    compileall.compile_dir(os.path.dirname(os.path.abspath(__file__)), quiet=2)
    with contextlib.suppress(RuntimeError, ImportError):  # the run says what is missing
        optable.of_installed()


def _is_pythons_own(finder: object) -> bool:
    return getattr(finder, "__module__", "").startswith(("_frozen_importlib", "importlib"))


def _remember(before: dict[str, str]) -> None:
    after = dict(os.environ)
    _set.update({name: value for name, value in after.items() if before.get(name) != value})
    for name in before.keys() | after.keys():
        _read[name] = {before.get(name), after.get(name)}


def changed_since() -> str | None:
    """A variable of the environment that the prepared torch has not seen as it is now."""
    if not _read:
        return None
    for name in sorted(os.environ.keys() | _read.keys()):
        seen = _read.get(name, {None})
        if name.startswith(_READ) and name != _READ_HERE and os.environ.get(name) not in seen:
            return name
    return None


def _put_aside() -> None:
    for name in _names_of(sys.modules, *_PACKAGES):
        _kept[name] = sys.modules.pop(name)
    sys.meta_path.insert(0, _Store())


def _names_of(names: Iterable[str], *packages: str) -> list[str]:
    return [name for name in names if name.partition(".")[0] in packages]


class _Store(importlib.abc.MetaPathFinder):
    """Finds what was put aside."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        real = getattr(_kept.get(fullname), "__spec__", None)
        if fullname not in _PACKAGES or real is None:
            return None
        spec = importlib.machinery.ModuleSpec(
            fullname, _GivesBack(real), origin=real.origin, is_package=True
        )
        spec.submodule_search_locations = real.submodule_search_locations
        spec.cached, spec.has_location = real.cached, True
        return spec


class _GivesBack(importlib.abc.Loader):
    """Puts a package and all its modules back in their place."""

    def __init__(self, real: importlib.machinery.ModuleSpec) -> None:
        self.real = real

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _kept[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self.real
        if module.__name__ != _PACKAGES[0]:
            importlib.import_module(_PACKAGES[0])
        os.environ.update({k: v for k, v in _set.items() if k not in os.environ})
        for name in _names_of(list(_kept), module.__name__):
            sys.modules[name] = _kept.pop(name)


def begin(argv: list[str]) -> int:
    """Be the harness of one run, in a forked process; `argv` as of a Python that is told to run
    the harness as a module.
    """
    from . import launcher
    from .recorder import RECORDER

    tempfile.tempdir = None  # the run has one of its own
    RECORDER.started = time.perf_counter()
    return launcher.main(argv[3:])
