"""The report in a browser: looked at, clicked, filtered and walked through by keyboard."""

from __future__ import annotations

from typing import Any

import pytest

from .conftest import SCHEMES, WIDTHS, overflow, violations
from .projects import report

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


@pytest.fixture
def page(show, project) -> Any:
    return show(report(project))


def shown(page: Any) -> list[str]:
    """The files and rules of the findings that can be seen."""
    return page.evaluate(
        "[...document.querySelectorAll('#list li[data-rule]')]"
        ".filter((x) => !x.hidden && !x.closest('.file').hidden)"
        ".map((x) => x.closest('.file').dataset.path + ' ' + x.dataset.rule)"
    )


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_fits_its_window_and_keeps_axes_rules(show, project, width, scheme) -> None:
    page = show(report(project), width, scheme)
    page.evaluate("document.querySelectorAll('details').forEach((x) => { x.open = true; })")
    assert overflow(page) == 0
    assert violations(page) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_long_names_of_folders_and_devices_fit_as_well(show, project, width) -> None:
    name = "a_name_without_a_blank_" * 5
    select = f"import torch\n\n{name} = torch.device('cuda')\nx = torch.zeros(2).to({name})\n"
    files = {f"{name}/{name}1/{name}.py": select, f"{name}/{name}2/b.py": select}
    page = show(report(project, files), width)
    page.evaluate("document.querySelectorAll('details').forEach((x) => { x.open = true; })")
    page.evaluate("document.querySelectorAll('.level').forEach((x) => { x.hidden = false; })")
    page.click(f"#chart button[data-open='{name}/{name}1/']")
    assert overflow(page) == 0


def test_a_clean_project_has_a_page_as_well(show, project) -> None:
    page = show(report(project, {"a.py": "import torch\n"}))
    assert "nothing was found" in page.inner_text(".answer")
    assert violations(page) == []


def test_nothing_of_the_users_code_runs_in_the_page(page) -> None:
    assert page.locator("#list img").count() == 0
    assert "onerror=alert(1)" in page.inner_text("#list")


def test_a_folder_opens_and_the_list_follows_it(page) -> None:
    everything = shown(page)
    page.click("#chart button[data-open='models/deep/']")
    assert page.locator("#chart .level:visible").get_attribute("data-level") == "models/deep/"
    assert shown(page) == [row for row in everything if row.startswith("models/deep/")]
    assert page.inner_text("#area-name") == "models/deep/"
    page.click("#chart .level:visible button[data-open='']")
    assert shown(page) == everything


def test_a_file_of_the_chart_leads_to_its_findings(page) -> None:
    page.click("#chart button[data-file='train.py']")
    assert {row.split()[0] for row in shown(page)} == {"train.py"}
    assert page.evaluate("document.activeElement.id") == "findings"


def test_the_chart_is_walked_by_keyboard(page) -> None:
    page.focus("#chart button[data-open='models/deep/']")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.dataset.open") == ""
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert len({row.split()[0] for row in shown(page)}) == 1


def test_severities_are_switched_off_and_on(page) -> None:
    everything = shown(page)
    page.uncheck("input[value='breaks']")
    left = shown(page)
    assert 0 < len(left) < len(everything)
    assert page.locator("#list li:visible .chip.breaks").count() == 0
    page.check("input[value='breaks']")
    assert shown(page) == everything


def test_the_number_of_findings_shown_is_announced(page) -> None:
    total = len(shown(page))
    page.select_option("select[name='rule']", "MPS201")
    status = page.locator("#shown")
    assert status.get_attribute("aria-live") == "polite"
    assert status.inner_text() == f"{len(shown(page))} of {total} findings"
    assert {row.split()[1] for row in shown(page)} == {"MPS201"}


def test_every_word_of_the_search_must_be_there(page) -> None:
    page.fill("input[name='text']", "EIG net.py")
    assert shown(page) == ["models/deep/net.py MPS501"]
    page.fill("input[name='text']", "no such words")
    assert shown(page) == []
    assert page.locator("#none").is_visible()
    page.click("button[type='reset']")
    page.wait_for_function("document.querySelector('#none').hidden")


def test_who_settles_a_finding_filters_the_list(page) -> None:
    page.click("button[data-set-remedy='safe']")
    remedies = page.evaluate(
        "[...document.querySelectorAll('#list li[data-rule]')]"
        ".filter((x) => !x.hidden).map((x) => x.dataset.remedy)"
    )
    assert set(remedies) == {"safe"}
    assert page.input_value("select[name='remedy']") == "safe"


def test_a_rule_leads_to_its_findings(page) -> None:
    page.click("#rules ~ .card button[data-set-rule='MPS102']")
    assert {row.split()[1] for row in shown(page)} == {"MPS102"}


def test_a_cause_opens_and_leads_to_a_finding_that_the_filter_had_hidden(page) -> None:
    page.select_option("select[name='rule']", "MPS201")
    page.locator(".causes summary").first.click()
    link = page.locator(".causes details[open] a").first
    target = link.get_attribute("href")
    link.click()
    assert page.locator(target).is_visible()
    assert page.evaluate("location.hash") == target


def test_many_causes_are_folded_away_until_they_are_asked_for(show, project) -> None:
    text = "import torch\n\nx = torch.zeros(2).cuda()\ny = torch.zeros(2).cuda()\n"
    page = show(report(project, {f"m{n}.py": text for n in range(11)}))
    assert page.locator(".causes > li:visible").count() == 8
    page.click("#more-causes")
    assert page.locator(".causes > li:visible").count() == 11
    assert page.locator("#more-causes").count() == 0


def test_without_scripts_all_findings_are_there(browser, project, tmp_path) -> None:
    path = tmp_path / "page.html"
    path.write_text(report(project), encoding="utf-8")
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(path.as_uri())
    total = page.locator("#list li[data-rule]").count()
    assert page.locator("#list li[data-rule]:visible").count() == total > 0
    context.close()


def test_the_first_stop_of_the_keyboard_skips_to_the_content(page) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_the_timeline_of_a_trace_is_part_of_the_report(page) -> None:
    assert page.locator("#runs ~ .gap svg[role='img']").count() == 1
    assert page.locator("#runs ~ article .verdict.fail").count() == 2
