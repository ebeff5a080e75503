"""Brings the simulated device into every Python that the script under test starts.

The launcher puts this folder first on PYTHONPATH; Python imports a module of this name at start.
Whatever ``sitecustomize`` it hides is run afterwards.
"""

import importlib
import importlib.machinery
import importlib.util
import json
import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))


def _start_harness() -> None:
    settings = os.environ.get("MPSLINT_HARNESS")
    if not settings or "mpslint_harness" in sys.modules:
        return
    folder = json.loads(settings)["folder"]
    spec = importlib.util.spec_from_file_location(
        "mpslint_harness",
        os.path.join(folder, "__init__.py"),
        submodule_search_locations=[folder],
    )
    if spec is None or spec.loader is None:
        return
    package = importlib.util.module_from_spec(spec)
    sys.modules["mpslint_harness"] = package
    spec.loader.exec_module(package)
    importlib.import_module("mpslint_harness.bootstrap").start_child()


def _run_hidden_sitecustomize() -> None:
    others = [path for path in sys.path if os.path.abspath(path or ".") != _FOLDER]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


_start_harness()
_run_hidden_sitecustomize()
