"""The page of a trace in a browser."""

from __future__ import annotations

import pytest

from .conftest import SCHEMES, overflow, violations
from .projects import trace

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [320, 520, 768, 1440])
def test_the_page_fits_its_window_and_keeps_axes_rules(show, width, scheme) -> None:
    page = show(trace().to_html(), width, scheme)
    assert overflow(page) == 0
    assert violations(page) == []


def test_no_cell_of_a_table_leaves_its_card(show) -> None:
    page = show(trace().to_html(), 520)
    outside = page.evaluate(
        "[...document.querySelectorAll('.card table td, .card table th')].filter((cell) => "
        "cell.getBoundingClientRect().right > "
        "cell.closest('.card').getBoundingClientRect().right + 1).length"
    )
    assert outside == 0


def test_a_script_that_failed_early_says_so_at_the_top(show) -> None:
    page = show(trace(ok=False).to_html())
    stop = page.locator(".stop")
    assert "data is missing" in stop.inner_text()
    assert stop.bounding_box()["y"] < page.locator("svg").bounding_box()["y"]


def test_the_timeline_can_be_scrolled_by_keyboard(show) -> None:
    page = show(trace().to_html(), 320)
    region = page.locator(".scroll")
    region.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_function("document.querySelector('.scroll').scrollLeft > 0")
