"""One module per rule, named as the rule."""

from __future__ import annotations

_loaded = False


def load() -> None:
    """Import every rule module, so that each registers itself."""
    global _loaded
    if _loaded:
        return
    import importlib
    import pkgutil

    for info in pkgutil.iter_modules(__path__):
        if info.name not in ("registry", "common"):
            importlib.import_module(f"{__name__}.{info.name}")
    _loaded = True
