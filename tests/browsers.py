"""Finds the Chromium that the pages are tried in."""

from __future__ import annotations

import importlib.util
import os
import shutil

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
NAMED = "CHROMIUM"


def chromium() -> str | None:
    """The path of a Chromium; None where there is none."""
    named = os.environ.get(NAMED)
    if named:
        return named
    return next((path for path in map(shutil.which, _NAMES) if path), None)


def missing() -> str:
    """What is not there of what the browser tests need; empty where all is."""
    if importlib.util.find_spec("playwright") is None:
        return "Playwright is not installed"
    if chromium() is None:
        return f"no Chromium is on PATH (its Debian package is `chromium`; {NAMED} names another)"
    return ""
