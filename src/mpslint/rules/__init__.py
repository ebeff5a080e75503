"""One module per rule, named as the rule; `python docs/generate.py` puts it into `index`."""

from __future__ import annotations

NO_RULES = ("common", "index", "registry")
"""The modules of this package that declare none."""


def load() -> None:
    """Import every rule module, so that each declares itself."""
    import importlib
    import pkgutil

    for info in pkgutil.iter_modules(__path__):
        if info.name not in NO_RULES:
            importlib.import_module(f"{__name__}.{info.name}")
