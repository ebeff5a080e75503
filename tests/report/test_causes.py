"""Which places stand behind findings, and where the device is used that one selects."""

from __future__ import annotations

from mpslint.report import markdown
from mpslint.report.model import Cause, Survey

SWITCH = "import torch\n\nuse_cuda = torch.cuda.is_available()\n"
MOVES = """\
import torch
from utils.device import use_cuda

model = torch.nn.Linear(2, 2)
if use_cuda:
    model = model.cuda()
x = torch.zeros(2)
if use_cuda:
    x = x.cuda()
"""
SELECTION = 'import torch\n\ndevice = torch.device("cuda")\n'


def causes(survey: Survey, kind: str) -> list[Cause]:
    return [cause for cause in survey.causes if cause.kind == kind]


def findings(survey: Survey, cause: Cause) -> list[str]:
    return [survey.issues[index].place.shown for index in cause.issues]


def test_a_switch_of_another_file_accounts_for_the_moves_of_all(surveyed) -> None:
    survey = surveyed({"utils/device.py": SWITCH, "a.py": MOVES, "b.py": MOVES})
    (cause,) = causes(survey, "switch")
    assert cause.place.shown == "utils/device.py:3"
    assert cause.place.text == "use_cuda = torch.cuda.is_available()"
    assert findings(survey, cause) == ["a.py:6", "a.py:9", "b.py:6", "b.py:9"]


def test_a_switch_is_known_under_another_name(surveyed) -> None:
    renamed = MOVES.replace("import use_cuda", "import use_cuda as cuda").replace(
        "if use_cuda", "if cuda"
    )
    survey = surveyed({"utils/device.py": SWITCH, "a.py": renamed})
    (cause,) = causes(survey, "switch")
    assert cause.place.shown == "utils/device.py:3"


def test_two_switches_of_the_same_name_are_two_causes(surveyed) -> None:
    local = MOVES.replace("from utils.device import use_cuda\n", SWITCH.split("\n\n")[1])
    survey = surveyed({"a.py": local, "b.py": local})
    places = [cause.place.shown for cause in causes(survey, "switch")]
    assert sorted(places) == ["a.py:2", "b.py:2"]


def test_an_option_that_decides_is_shown_where_it_is_declared(surveyed) -> None:
    survey = surveyed(
        {
            "train.py": """\
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--no-cuda", action="store_true")
args = parser.parse_args()
args.cuda = not args.no_cuda and torch.cuda.is_available()
model = torch.nn.Linear(2, 2)
x = torch.zeros(2)
if not args.no_cuda and torch.cuda.is_available():
    model.cuda()
if not args.no_cuda and torch.cuda.is_available():
    x = x.cuda()
"""
        }
    )
    (cause,) = causes(survey, "switch")
    assert (cause.title, cause.place.row) == ("`--no-cuda` decides where the GPU is used", 5)


def test_a_default_of_an_option_is_told_with_what_reads_the_option(surveyed) -> None:
    survey = surveyed(
        {
            "train.py": "import argparse\nimport torch\n\nparser = argparse.ArgumentParser()\n"
            'parser.add_argument("--train-device", default="cuda")\n'
            "args = parser.parse_args()\nmodel = torch.nn.Linear(2, 2).to(args.train_device)\n"
            "x = torch.zeros(2).to(args.train_device)\n"
        }
    )
    (cause,) = causes(survey, "selection")
    assert cause.title == "`--train-device` selects the device"
    assert [use.row for use in cause.uses] == [7, 8]


def test_a_selection_is_told_with_the_uses_in_files_that_import_it(surveyed) -> None:
    survey = surveyed(
        {
            "utils/device.py": SELECTION,
            "a.py": "from utils.device import device\n\nx.to(device)\ny.to(device)\n",
            "b.py": "import utils.device as d\n\nx.to(d.device)\n",
            "c.py": "from utils.other import device\n\nx.to(device)\n",
            "utils/other.py": 'device = "somewhere"\n',
        }
    )
    (cause,) = causes(survey, "selection")
    assert cause.place.shown == "utils/device.py:3"
    assert [use.shown for use in cause.uses] == ["a.py:3", "a.py:4", "b.py:3"]


def test_a_device_that_is_handed_on_is_followed_to_where_it_is_used(surveyed) -> None:
    survey = surveyed(
        {
            "utils/device.py": "import torch\n\n\ndef get_device():\n"
            '    return torch.device("cuda" if torch.cuda.is_available() else "cpu")\n',
            "a.py": "from utils.device import get_device\n\nhere = get_device()\n"
            "x.to(here)\ny.to(here)\n",
        }
    )
    (cause,) = causes(survey, "selection")
    assert cause.title == "`get_device` selects the device"
    assert [use.row for use in cause.uses] == [4, 5]


def test_a_name_that_shadows_the_device_is_no_use_of_it(surveyed) -> None:
    survey = surveyed(
        {"a.py": SELECTION + "x.to(device)\ny.to(device)\n\n\ndef f(device):\n    z.to(device)\n"}
    )
    (cause,) = causes(survey, "selection")
    assert [use.row for use in cause.uses] == [4, 5]


_AGAIN = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
first = torch.zeros(2).to(device)
more = torch.zeros(2).to(device)


def step(x):
    return x.to(device)


device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
third = step(torch.zeros(2)).to(device)
"""


def test_of_a_name_that_is_selected_again_each_selection_has_the_uses_that_may_read_it(
    surveyed,
) -> None:
    found = causes(surveyed({"a.py": _AGAIN}), "selection")
    assert {(one.place.row, tuple(use.row for use in one.uses)) for one in found} == {
        (3, (4, 5, 9)),
        (12, (9, 13)),
    }


def test_uses_of_several_selections_are_told_as_such(surveyed) -> None:
    survey = surveyed({"a.py": _AGAIN})
    assert {one.shared for one in causes(survey, "selection")} == {1}
    assert "3 uses depend on it (1 of them on another selection as well)" in markdown.render(survey)


def test_a_training_loop_accounts_for_its_waits(surveyed) -> None:
    survey = surveyed(
        {
            "train.py": """\
import torch

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
model = torch.nn.Linear(3, 1).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(4):
    loss = model(torch.randn(4, 3, device=device)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total = loss.item()
    print(loss)
"""
        }
    )
    (cause,) = causes(survey, "loop")
    assert cause.place.shown == "train.py:6"
    assert len(cause.issues) == 2


def test_a_file_without_a_device_is_one_cause_of_all_that_a_new_one_would_serve(surveyed) -> None:
    survey = surveyed(
        {
            "train.py": "import torch\n\nmodel = torch.nn.Linear(2, 2).cuda()\n"
            "x = torch.zeros(2).cuda()\ny = torch.zeros(2).cuda()\n"
        }
    )
    (cause,) = causes(survey, "unselected")
    assert findings(survey, cause) == ["train.py:3", "train.py:4", "train.py:5"]
    assert "torch.device(" in cause.place.text


def test_each_finding_belongs_to_one_cause(surveyed) -> None:
    files = {"utils/device.py": SWITCH + SELECTION.splitlines()[2] + "\n", "a.py": MOVES}
    survey = surveyed(files)
    taken = [index for cause in survey.causes for index in cause.issues]
    assert len(taken) == len(set(taken)) == survey.explained


def test_the_widest_cause_comes_first(surveyed) -> None:
    more = MOVES + "if use_cuda:\n    model.cuda()\n"
    survey = surveyed(
        {
            "utils/device.py": SWITCH,
            "a.py": more,
            "z.py": "import torch\n\nx = torch.zeros(2).cuda()\ny = torch.zeros(2).cuda()\n",
        }
    )
    widths = [len(cause.issues) for cause in survey.causes]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] == 3


def test_a_notebook_has_causes_by_cell(surveyed, project) -> None:
    import json

    cell = {
        "cell_type": "code",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "source": "import torch\nfrom utils.device import device\nx.to(device)\ny.to(device)\n",
    }
    notebook = json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    survey = surveyed({"utils/device.py": SELECTION, "play.ipynb": notebook})
    (cause,) = causes(survey, "selection")
    assert [use.shown for use in cause.uses] == ["play.ipynb:cell 1:3", "play.ipynb:cell 1:4"]
