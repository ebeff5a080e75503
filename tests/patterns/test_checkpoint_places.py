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
    "use",
    [
        'print([label in state["known"] for label in labels])',
        'net.bias.data.copy_(state["table"][labels].mean(0))',
        'table = state["table"]\nprint(net(table[labels, :]))',
    ],
)
def test_what_is_asked_for_a_tensor_or_taken_by_one_goes_where_that_is(
    cli: Cli, project: Path, use: str
) -> None:
    text = _fixed(
        cli,
        project,
        'labels = torch.tensor([0, 1], device=device)\nstate = torch.load("a.pt")\n'
        f'net.load_state_dict(state["net"])\n{use}\n',
    )

    assert 'torch.load("a.pt", map_location=device)' in text


@pytest.mark.parametrize(
    "use",
    [
        'print([name in state["net"] for name, _ in net.named_parameters()])',
        'for i in range(2):\n    net.bias.data.copy_(state["rows"][i])',
        'assert "weight" in state["net"]',
    ],
)
def test_what_is_asked_for_a_key_or_taken_by_a_number_is_the_same_anywhere(
    cli: Cli, project: Path, use: str
) -> None:
    text = _fixed(
        cli,
        project,
        f'state = torch.load("a.pt")\nnet.load_state_dict(state["net"])\n{use}\n',
    )

    assert 'torch.load("a.pt", map_location="cpu")' in text


@pytest.mark.parametrize(
    "rest",
    [
        'batches = torch.load("a.pt")\nfor x in batches:\n    net(x)\n',
        'state = torch.load("a.pt")\nnet.load_state_dict(state["net"])\n'
        'torch.set_rng_state(state["rng_state"])\n',
        'state = torch.load("a.pt", weights_only=False)\nnet.load_state_dict(state["net"])\n'
        'print(state["labels"].numpy())\n',
    ],
    ids=["data", "random numbers", "an array is made of a part"],
)
def test_data_and_states_of_random_numbers_stay_where_they_were_saved(
    cli: Cli, project: Path, rest: str
) -> None:
    text = _fixed(cli, project, rest)

    assert "map_location=device" not in text


_WHOLE = """import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
ckpt = torch.load("run.pt", weights_only=False)
net = ckpt["net"]
optimizer = ckpt["optimizer"]
{use}
net = net.to(device)
optimizer.step()
print(net(torch.rand(3, 3, device=device)))
"""


@pytest.mark.parametrize(
    "use",
    [
        "pass",
        'print(ckpt["epoch"], "mean" in ckpt)',
        'epoch = ckpt["epoch"] + 1',
        'mean = ckpt["mean"].to(device)',
        'mean = ckpt.get("mean")\nmean = mean.to(device)',
        'net.load_state_dict(ckpt["averages"])',
    ],
)
def test_of_which_a_module_is_moved_goes_to_the_device_with_all_that_bears_it(
    cli: Cli, project: Path, use: str
) -> None:
    text = _fixed(cli, project, _WHOLE.format(use=use), "--extend-select=MPS413", model="")

    assert "map_location=device" in text


@pytest.mark.parametrize(
    "use",
    [
        'labels = ckpt["labels"].numpy()',
        'labels = ckpt["labels"]\nprint(labels.numpy())',
        'labels = torch.from_numpy(ckpt["labels"])',
        'print(ckpt["labels"] - torch.ones(3))',
        "look(ckpt)",
    ],
)
def test_what_else_may_have_to_be_on_the_cpu_stays_where_it_was_saved(
    cli: Cli, project: Path, use: str
) -> None:
    text = _fixed(cli, project, _WHOLE.format(use=use), "--extend-select=MPS413", model="")

    assert 'map_location=None if torch.cuda.is_available() else "cpu"' in text


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


def _fixed(cli: Cli, project: Path, text: str, *options: str, model: str = _MODEL) -> str:
    script = project / "run.py"
    script.write_text(model + text)
    ran = cli("fix", "--no-verify", "--no-cache", *options, "run.py")
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


def test_what_a_program_loads_that_knows_of_no_device_goes_to_the_cpu(
    cli: Cli, project: Path
) -> None:
    text = """import torch

kept = {}
state_dict = torch.load("model.pth")
for name, weight in state_dict.items():
    kept[name] = weight * (weight > 0)
torch.save({"state_dict": kept}, "pruned.pth")
"""

    fixed = _fixed(cli, project, text, "--extend-select=MPS413", model="")

    assert 'torch.load("model.pth", map_location="cpu")' in fixed


_KEPT = """import torch


class Trainer:
    def __init__(self, device):
        self.device = device{made}

    def resume(self, path, model):
        state = torch.load(path)
        model.load_state_dict(state["model"])
        self.counts = state["counts"]
        model(torch.ones(2, device=self.device))

    def save(self, path, model):
        torch.save({{"model": model.state_dict(), "counts": self.counts}}, path)
"""


def test_what_an_object_keeps_goes_where_its_class_makes_it(cli: Cli, project: Path) -> None:
    made = "\n        self.counts = torch.zeros(2, device=device)"

    text = _fixed(cli, project, _KEPT.format(made=made), model="")

    assert "torch.load(path, map_location=self.device)" in text


def test_what_an_object_keeps_of_somewhere_is_loaded_by_no_safe_fix_where_mps_may_be(
    cli: Cli, project: Path
) -> None:
    text = _KEPT.format(made="")

    assert _fixed(cli, project, text, model="") == text
    assert "None if torch.cuda" in _fixed(cli, project, text, "--unsafe-fixes", model="")


def test_another_checkpoint_of_the_same_name_is_loaded_as_before(cli: Cli, project: Path) -> None:
    kept = '        self.counts = state["counts"]\n'
    other = '        state = torch.load("other.pth")\n        print(self.counts + state["mean"])\n'

    text = _fixed(cli, project, _KEPT.format(made="").replace(kept, kept + other), model="")

    assert "state = torch.load(path)\n" in text
    assert '"other.pth", map_location=' in text


def test_a_module_is_loaded_to_where_its_inputs_go_on_every_machine(
    cli: Cli, project: Path
) -> None:
    text = _fixed(
        cli,
        project,
        'model = torch.load("model.pth")\nmodel.eval()\nmodel(torch.ones(2, 2).to(device))\n',
    )

    assert 'torch.load("model.pth", map_location=device)' in text


_BESIDE = (
    'state = torch.load("a.pt")\nmean = torch.load("mean.pt")\nnet.load_state_dict(state["net"])\n'
)


@pytest.mark.parametrize(
    "use",
    [
        'print(state["features"] - mean)',
        'features = state["features"].float()\nprint(torch.cat([features, mean["all"]]))',
        'total = state["features"]\ntotal += mean',
        'print(state["features"].sub(mean))',
    ],
)
def test_what_meets_something_else_that_is_loaded_stays_where_that_does(
    cli: Cli, project: Path, use: str
) -> None:
    text = _fixed(cli, project, f"{_BESIDE}{use}\n")

    assert "torch.cuda.is_available() else" in text.partition("a.pt")[2].partition("mean")[0]


@pytest.mark.parametrize(
    "use",
    [
        'print(state["features"], mean)',
        'print(state["features"] - 1, mean - 1)',
        'print(net.weight - state["mean"])',
    ],
)
def test_what_is_loaded_beside_something_else_goes_to_the_device_at_hand(
    cli: Cli, project: Path, use: str
) -> None:
    text = _fixed(cli, project, f'{_BESIDE}print(net.weight - state["mean"])\n{use}\n')

    assert 'torch.load("a.pt", map_location=device)' in text


def test_a_model_that_meets_another_that_is_loaded_stays_where_that_does(
    cli: Cli, project: Path
) -> None:
    text = _fixed(
        cli,
        project,
        'model = torch.load("a.pt")\nother = torch.load("b.pt")\n'
        'print((model["w"] - other["w"]).abs().sum(), net(torch.ones(2).to(device)))\n',
    )

    assert "map_location=device" not in text
