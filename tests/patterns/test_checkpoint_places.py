"""A checkpoint that is copied into modules is loaded to them, or where it does not matter."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli

_MODEL = """import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(2, 2).to(device)
"""


def test_what_else_it_holds_goes_to_the_device_at_hand(cli: Cli, project: Path) -> None:
    text = _fixed(
        cli,
        project,
        'state = torch.load("a.pt")\nnet.load_state_dict(state["net"])\n'
        'print(net.weight - state["mean"])\n',
    )

    assert 'torch.load("a.pt", map_location=device)' in text


@pytest.mark.parametrize(
    "rest",
    [
        'batches = torch.load("a.pt")\nfor x in batches:\n    net(x)\n',
        'state = torch.load("a.pt")\nnet.load_state_dict(state["net"])\n'
        'torch.set_rng_state(state["rng_state"])\n',
    ],
    ids=["data", "random numbers"],
)
def test_data_and_states_of_random_numbers_stay_where_they_were_saved(
    cli: Cli, project: Path, rest: str
) -> None:
    text = _fixed(cli, project, rest)

    assert "map_location=device" not in text


def test_a_part_that_nobody_reads_is_in_no_way(cli: Cli, project: Path) -> None:
    load = 'checkpoint = torch.load("a.pt")\nweights = checkpoint["model"]\n'

    text = _fixed(cli, project, load + 'net.load_state_dict(checkpoint["model"])\n')

    assert "map_location='cpu'" in text or 'map_location="cpu"' in text


def test_a_part_that_is_read_is(cli: Cli, project: Path) -> None:
    load = 'checkpoint = torch.load("a.pt")\nmean = checkpoint["mean"]\n'

    text = _fixed(
        cli, project, load + 'net.load_state_dict(checkpoint["model"])\nprint(net.weight - mean)\n'
    )

    assert 'map_location="cpu"' not in text


def _fixed(cli: Cli, project: Path, text: str) -> str:
    script = project / "run.py"
    script.write_text(_MODEL + text)
    ran = cli("fix", "--no-verify", "--no-cache", "run.py")
    assert ran.code in (0, 1), ran.err
    return script.read_text()


def test_a_long_line_is_broken_in_the_call_that_is_given_the_checkpoint(
    cli: Cli, project: Path
) -> None:
    text = _fixed(
        cli,
        project,
        "def make_the_model(kept, load_the_state):\n    return net\n\n\n"
        'model = make_the_model(torch.load("kept_here.pt")["m"], load_the_state=True).to(device)\n',
    )
    assert max(map(len, text.splitlines())) <= 120
    assert "\n).to(device)\n" in text
