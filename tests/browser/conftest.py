"""Pages in a real Chromium: no console message, no request, no violation of axe's rules."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browsers import chromium, missing

WIDTHS = (320, 768, 1440)
SCHEMES = ("light", "dark")


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """A Chromium for the tests of this folder, and no longer: while Playwright is there its event
    loop counts as running, and no other test of the same process could run one."""
    if missing():
        pytest.fail(f"these tests need a browser: {missing()}")
    from playwright.sync_api import sync_playwright

    # As root Chromium refuses its own sandbox; the pages are ours.
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(
            executable_path=chromium(), args=["--no-sandbox"] if root else []
        )
        yield started
        started.close()


Shown = Callable[..., Any]


@pytest.fixture
def show(browser: Any, tmp_path: Path) -> Iterator[Shown]:
    """Opens the text of a page; whatever it writes to the console or asks of the network fails
    the test."""
    opened: list[tuple[Any, list[str]]] = []

    def open_page(text: str, width: int = 1440, scheme: str = "light") -> Any:
        path = tmp_path / "page.html"
        path.write_text(text, encoding="utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
        )
        page = context.new_page()
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda asked: said.append(asked.url) if _remote(asked.url) else None)
        page.goto(path.as_uri())
        opened.append((context, said))
        return page

    yield open_page
    for context, said in opened:
        context.close()
        assert said == []


def _remote(url: str) -> bool:
    return not url.startswith(("file:", "data:"))


def overflow(page: Any) -> int:
    """By how many pixels a page is wider than its window."""
    root = "document.documentElement"
    return int(page.evaluate(f"{root}.scrollWidth - {root}.clientWidth"))


def violations(page: Any) -> list[str]:
    """What axe-core's rules find, each with the first element."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {json.dumps(one['nodes'][0]['html'])}" for one in found]
