"""Verification: run the original and the rewritten script, and compare what they did.

Importing this package costs nothing: the harness, which runs in the user's Python, lives below it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mpslint.verify.report import Report, Run
    from mpslint.verify.request import Request
    from mpslint.verify.tracing import trace
    from mpslint.verify.verifier import verify

__all__ = ["Report", "Request", "Run", "trace", "verify"]
_HOME = {
    "Report": "report",
    "Run": "report",
    "Request": "request",
    "trace": "tracing",
    "verify": "verifier",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
