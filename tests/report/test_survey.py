"""What a survey counts: who settles the findings, operators by release, areas, the answer."""

from __future__ import annotations

import pytest

from mpslint.report.areas import Area, areas
from mpslint.report.summary import answer, does, hazards
from mpslint.verify.report import Report, Run

SAFE = "import torch\n\ntorch.cuda.synchronize()\n"
UNSAFE = "import torch\n\nvalues = torch.linalg.eigvals(torch.zeros(2, 2).cuda())\n"


def flat(area: Area) -> dict[str, tuple[int, int]]:
    found = {area.path: (area.total, area.files)}
    for child in area.children:
        found |= flat(child)
    return found


def test_a_finding_is_settled_by_the_fix_that_takes_it_away(surveyed) -> None:
    survey = surveyed(
        {
            "safe.py": SAFE,
            "person.py": "import torch\n\nif not torch.cuda.is_available():\n"
            '    raise RuntimeError("no GPU")\nx = torch.zeros(2).cuda()\n',
        }
    )
    by_file = {issue.place.path: issue.remedy for issue in survey.issues}
    assert by_file["safe.py"] == "safe"
    assert by_file["person.py"] in ("unsafe", "person")
    assert survey.number(remedy="safe") == 1


def test_what_the_fixes_settle_is_what_fix_settles(surveyed, cli, project) -> None:
    survey = surveyed({"a.py": SAFE, "b.py": UNSAFE, "c/d.py": SAFE.replace("()", "(0)")})
    unsafe = survey.number(remedy="unsafe")
    person = survey.number(remedy="person")
    out = cli("fix", ".", "--no-verify", "--isolated", "--output-format", "json").out
    assert out.count('"code"') == unsafe + person
    out = cli("fix", ".", "--no-verify", "--unsafe-fixes", "--isolated", "--output-format", "json")
    assert out.out.count('"code"') == person


def test_nothing_is_written_when_the_fixes_are_tried(surveyed, project) -> None:
    surveyed({"a.py": SAFE})
    assert (project / "a.py").read_text() == SAFE
    assert [path.name for path in project.iterdir()] == ["a.py"]


def test_operators_are_told_for_all_releases_whatever_the_project_supports(surveyed) -> None:
    survey = surveyed(
        {
            "a.py": "import torch\n\n\ndef f(x):\n    y = torch.linalg.eig(x)\n"
            "    return torch.cummax(x, 0), y, torch.linalg.qr(x)[0] + 1\n"
        }
    )
    assert [issue.finding.code for issue in survey.issues] == ["MPS501"]
    assert [(op.name, op.since) for op in survey.ops] == [
        ("torch.linalg.eig", None),
        ("torch.linalg.qr", "2.12"),
        ("torch.cummax", "2.8"),
    ]
    assert [place.shown for place in survey.ops[1].places] == ["a.py:6"]


def test_an_operator_on_the_cpu_is_none_to_tell_of(surveyed) -> None:
    survey = surveyed({"a.py": "import torch\n\ny = torch.linalg.eig(torch.zeros(2, 2))\n"})
    assert survey.ops == ()


def test_areas_add_up_and_lone_folders_are_told_as_one(surveyed) -> None:
    survey = surveyed(
        {
            "train.py": SAFE,
            "src/pkg/models/a.py": SAFE,
            "src/pkg/models/b.py": SAFE + "torch.cuda.synchronize()\n",
            "src/pkg/utils/c.py": SAFE,
            "src/pkg/utils/clean.py": "import torch\n",
            "docs/none.py": "x = 1\n",
        }
    )
    assert flat(areas(survey)) == {
        "": (5, 5),
        "train.py": (1, 1),
        "src/pkg/": (4, 4),
        "src/pkg/models/": (3, 2),
        "src/pkg/models/a.py": (1, 1),
        "src/pkg/models/b.py": (2, 1),
        "src/pkg/utils/": (1, 2),
        "src/pkg/utils/c.py": (1, 1),
    }


def test_where_all_lies_in_one_folder_the_chart_begins_inside(surveyed) -> None:
    survey = surveyed({"src/pkg/a.py": SAFE, "src/pkg/b/c.py": SAFE})
    tree = areas(survey)
    assert tree.name == "project: src/pkg/"
    assert [child.name for child in tree.children] == ["a.py", "b/"]


def test_an_area_below_the_root_of_the_disk_keeps_its_path(surveyed, project) -> None:
    from mpslint.folders.discovery import targets
    from mpslint.report.survey import survey as survey_of
    from mpslint.running.runner import check_all
    from mpslint.settings.file import SettingsFinder

    surveyed({"a/b.py": SAFE})
    found = list(targets([str(project)], SettingsFinder({}, isolated=True), print))
    made = survey_of([str(project)], found, check_all(found, cache=False, with_fixes=True))
    assert str(project / "a" / "b.py") in flat(areas(made))


def test_hazards_of_memory_and_dtypes_are_told_by_rule(surveyed) -> None:
    survey = surveyed(
        {
            "a.py": "import torch\n\n"
            'x = torch.zeros(2, dtype=torch.float64, device="mps")\n'
            "print(torch.cuda.max_memory_allocated())\n"
        }
    )
    found = {hazard.name: [rule.code for rule, _ in hazard.rows] for hazard in hazards(survey)}
    assert found == {"Memory": ["MPS203"], "Dtypes": ["MPS401"]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "No file here speaks of PyTorch, so there is nothing to say."),
        (
            "import torch\n",
            "Yes, as far as reading tells: nothing was found that keeps it from a Mac's GPU.",
        ),
        (SAFE, "Not as it stands: 1 place raises on a Mac. Safe fixes settle it."),
        (
            SAFE * 2,
            "Not as it stands: 2 places raise on a Mac. Safe fixes settle all 2 findings.",
        ),
    ],
)
def test_the_answer_is_one_that_a_lead_can_read(surveyed, text, said) -> None:
    assert answer(surveyed({"a.py": text})) == said


BROKEN = "class Net:\n    def forward(self, x):\n        print x\n"
IMPORTS = "import torch\nfrom net import Net\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Net()\n", ""),
        (
            'device = "cuda" if torch.cuda.is_available() else "cpu"\nNet().to(device)\n',
            " Besides, 1 place keeps work off the Mac's GPU or gives a wrong number. Safe fixes",
        ),
        (
            'net = torch.nn.Linear(1, 1).to("mps")\n'
            "optimizer = torch.optim.SGD(net.parameters(), lr=0.1)\n"
            'for x in torch.ones(3, 1, 1, device="mps"):\n    optimizer.zero_grad()\n'
            "    loss = net(x).sum()\n    loss.backward()\n    optimizer.step()\n"
            "    print(loss.item())\n",
            " Besides, 1 place makes it slower than it has to be.",
        ),
    ],
)
def test_a_module_that_does_not_parse_ends_the_program_on_every_machine(
    surveyed, text, said
) -> None:
    told = answer(surveyed({"net.py": BROKEN, "train.py": IMPORTS + text}))
    assert told.startswith(
        "Not as it stands: net.py does not parse, so that no machine runs train.py, which "
        f"imports it.{said}"
    )


def test_it_stands_before_what_raises_on_a_mac_alone(surveyed) -> None:
    told = answer(surveyed({"net.py": BROKEN, "train.py": IMPORTS + "Net().cuda()\n"}))
    assert "train.py, which imports it; and 1 place raises on a Mac." in told


def test_of_several_modules_that_do_not_parse_the_first_is_named(surveyed) -> None:
    importer = "import torch\nimport b.c\nimport net\n"
    files = {"a.py": importer, "b/c.py": BROKEN, "net.py": BROKEN}
    assert answer(surveyed(files)).startswith(
        "Not as it stands: 2 files that others import do not parse (b/c.py, which a.py imports, "
        "is the first), so that no machine runs these."
    )


@pytest.mark.parametrize(
    "text",
    [
        "import torch\n",
        "import torch\ntry:\n    import net\nexcept Exception:\n    net = None\n",
        "import torch\ndef old():\n    import net\n",
        "import torch\nnet = torch.nn.Linear(2, 2)\n",
    ],
    ids=["nobody", "behind a try", "in a function", "the word alone"],
)
def test_a_file_that_does_not_parse_and_that_nobody_needs_ends_nothing(surveyed, text) -> None:
    assert answer(surveyed({"net.py": BROKEN, "train.py": text})).startswith("Yes")


_SAVED = "torch.save(net.state_dict(), 'a.pt')\n"
_LOADING = (
    f"import torch\n\nnet = torch.nn.Linear(2, 2)\n{_SAVED}"
    "net.load_state_dict(torch.load('b.pt'))\n"
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (_LOADING, "It starts, but 1 place raises on a Mac if a checkpoint was saved on CUDA."),
        (
            _LOADING + "if torch.cuda.is_available():\n    net.cuda()\n",
            "It starts, but 1 place raises on a Mac if a checkpoint was saved on CUDA; "
            "1 place keeps work off its GPU or gives a wrong number.",
        ),
        (
            _LOADING + "net.cuda()\n",
            "Not as it stands: 1 place raises on a Mac, and 1 more if a checkpoint was saved on "
            "CUDA.",
        ),
    ],
    ids=["alone", "beside what runs", "beside what raises"],
)
def test_the_answer_keeps_what_a_finding_hangs_on(surveyed, text, said) -> None:
    survey = surveyed({"a.py": text})
    assert answer(survey).startswith(said)
    assert "a checkpoint was saved on CUDA" in does(survey)["breaks"]


def test_the_answer_says_what_runs_have_shown(surveyed) -> None:
    runs = (Run("cpu", "real", "pass", ""), Run("mps", "simulated", "fail", "TypeError"))
    failed = Report("/project/train.py", runs, "fail", "simulated mps: TypeError")
    passed = Report("/project/serve.py", runs[:1], "pass", "")
    survey = surveyed({"a.py": "import torch\n"})._replace(verdicts=(failed, passed))
    assert answer(survey).endswith("Run: train.py failed on simulated mps; serve.py ran on cpu.")


def test_a_file_that_cannot_be_read_is_told(surveyed) -> None:
    survey = surveyed({"a.py": "import torch\nx = torch.cuda.device(\n", "b.py": SAFE})
    assert len(survey.unread) == 1
    assert survey.unread[0].startswith("a.py:2:")
    assert len(survey.issues) == 1
    assert answer(survey).endswith("1 file could not be checked.")


def test_the_day_can_be_set_for_builds_that_are_repeated(surveyed, monkeypatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert surveyed({"a.py": SAFE}).made == "1970-01-02"
