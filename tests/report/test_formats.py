"""The report as a page, as Markdown and as JSON, and the command that writes it."""

from __future__ import annotations

import builtins
import json
import re
from html.parser import HTMLParser

import pytest

from mpslint.report import document, html, markdown
from mpslint.verify.report import Report, Run

HOSTILE = '</script><script>alert("x")</script><img src=x onerror=alert(1)>'
TEXT = f"import torch\n\ntorch.cuda.synchronize()  # {HOSTILE}\n"
VERDICT = Report(
    "train.py",
    (Run("cpu", "real", "pass", "3 optimizer steps"), Run("mps", "simulated", "fail", "<b>no</b>")),
    "fail",
    "simulated mps: <b>no</b>",
)


class Tags(HTMLParser):
    """The tags of a page, and what its attributes point to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.targets: list[str] = []
        self.handlers: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.targets += [str(v) for k, v in attrs if k in ("src", "href", "action")]
        self.handlers += [k for k, _ in attrs if k.startswith("on")]


def test_what_the_users_code_holds_cannot_become_part_of_the_page(surveyed) -> None:
    survey = surveyed({"<img src=x onerror=alert(1)>.py": TEXT})._replace(verdicts=(VERDICT,))
    tags = Tags(html.render(survey))
    assert tags.tags.count("script") == 1
    assert "img" not in tags.tags
    assert tags.handlers == []


def test_the_page_needs_nothing_from_anywhere_else(surveyed) -> None:
    page = html.render(surveyed({"a.py": TEXT}))
    assert all(t.startswith(("#", "data:,")) for t in Tags(page).targets)
    assert not re.search(r"url\(|@import", page)
    assert "default-src 'none'" in page


def test_the_page_names_every_finding_once(surveyed) -> None:
    survey = surveyed({"a.py": TEXT * 3, "b/c.py": TEXT})
    page = html.render(survey)
    assert re.findall(r'<li id="f(\d+)"', page) == [str(n) for n in range(len(survey.issues))]


def test_the_page_of_a_clean_project_says_so(surveyed) -> None:
    page = html.render(surveyed({"a.py": "import torch\n"}))
    assert "Yes, as far as reading tells" in page
    assert "There is nothing to fix." in page


def test_a_rule_is_linked_only_where_its_page_is_published(surveyed, monkeypatch) -> None:
    survey = surveyed({"a.py": TEXT})
    assert "cuda-synchronize" not in " ".join(Tags(html.render(survey)).targets)
    monkeypatch.setenv("MPSLINT_DOCS_URL", "https://docs.example/mpslint/")
    assert (
        "https://docs.example/mpslint/rules/cuda-synchronize/" in Tags(html.render(survey)).targets
    )


def test_markdown_holds_nothing_of_the_users_that_is_taken_for_markup(surveyed) -> None:
    survey = surveyed({"a|b`c.py": "import torch\n\nx = torch.zeros(2).cuda()\n" * 2})
    survey = survey._replace(verdicts=(VERDICT,))
    text = markdown.render(survey)
    assert "<b>" not in text
    assert "| `` a\\|b`c.py `` | 2 |" in text


def test_markdown_has_a_section_for_each_question(surveyed) -> None:
    text = markdown.render(surveyed({"a.py": TEXT}))
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == [
        "What fixes alone would settle",
        "Where",
        "By rule",
        "Memory and dtypes",
        "What runs have shown",
    ]


def test_json_counts_what_the_survey_counts(surveyed) -> None:
    survey = surveyed({"a.py": TEXT, "b.py": "import torch\n"})
    data = json.loads(document.render(survey._replace(verdicts=(VERDICT,))))
    assert data["schema"] == 1
    assert data["files"] == {"read": 2, "with_torch": 2}
    assert data["counts"]["remedy"] == {"safe": 1, "unsafe": 0, "person": 0}
    assert data["findings"][0]["place"]["path"] == "a.py"
    assert data["verdicts"][0]["verdict"] == "fail"


def test_the_format_follows_the_name_of_the_file(cli, project) -> None:
    (project / "a.py").write_text(TEXT)
    for name, start in (("r.html", "<!doctype"), ("r.md", "# Can"), ("r.json", "{")):
        assert cli("report", "a.py", "-o", name, "--isolated", "--no-cache").code == 0
        assert (project / name).read_text().startswith(start)
    assert cli("report", "a.py", "--isolated", "--no-cache").out.startswith("# Can")


def test_a_name_that_tells_no_format_is_refused_before_anything_is_read(cli, project) -> None:
    ran = cli("report", "no-such-folder", "-o", "report.txt")
    assert ran.code == 2
    assert ran.err == "error: report.txt: name it .html, .md or .json, or say --format FORMAT\n"


def test_a_verdict_and_a_trace_are_fed_in_by_their_files(cli, project) -> None:
    (project / "a.py").write_text(TEXT)
    (project / "v.json").write_text(VERDICT.to_json())
    out = cli("report", "a.py", "--verdict", "v.json", "--isolated", "--no-cache").out
    assert "`train.py`: **fail**" in out


@pytest.mark.parametrize(
    ("option", "content", "said"),
    [
        ("--verdict", "{}", "is not what mpslint verify writes"),
        ("--verdict", "no json", "is not what mpslint verify writes"),
        ("--trace", '{"script": 1}', "is not what mpslint trace writes"),
        ("--trace", "[]", "is not what mpslint trace writes"),
    ],
)
def test_a_file_of_another_kind_is_refused_in_one_line(cli, project, option, content, said) -> None:
    (project / "a.py").write_text(TEXT)
    (project / "x.json").write_text(content)
    ran = cli("report", "a.py", option, "x.json", "--isolated")
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.startswith(f"error: x.json: {said}; make it by `mpslint ")
    assert ran.err.count("\n") == 1


def test_a_file_that_is_not_there_is_named(cli, project) -> None:
    ran = cli("report", ".", "--verdict", "gone.json", "--isolated")
    assert (ran.code, ran.err) == (
        2,
        "error: gone.json: cannot be read: no such file or directory\n",
    )


def test_without_jinja_a_page_is_refused_before_anything_is_read(cli, project, monkeypatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: object, **more: object) -> object:
        if name.partition(".")[0] == "jinja2":
            raise ImportError(name)
        return real(name, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(builtins, "__import__", without)
    ran = cli("report", "no-such-folder", "-o", "r.html")
    assert ran.code == 2
    assert ran.err == (
        "error: pages are made by Jinja2, which is not installed: pip install 'mpslint[report]'\n"
    )
    (project / "a.py").write_text(TEXT)
    assert cli("report", "a.py", "-o", "r.md", "--isolated", "--no-cache").code == 0


def test_a_report_that_cannot_be_written_is_one_line(cli, project) -> None:
    (project / "a.py").write_text(TEXT)
    ran = cli("report", "a.py", "-o", "no/such/r.html", "--isolated", "--no-cache")
    assert ran.code == 2
    assert "error: no/such/r.html: cannot be written: there is no folder no/such\n" in ran.err


def test_a_file_that_cannot_be_parsed_is_in_the_report_and_in_the_exit_code(cli, project) -> None:
    (project / "a.py").write_text("import torch\nx = torch.cuda.device(\n")
    ran = cli("report", ".", "--isolated", "--no-cache")
    assert ran.code == 2
    assert "## Not checked" in ran.out
    assert ran.err.startswith("error: a.py:2:")
