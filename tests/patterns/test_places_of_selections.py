"""A selection stands where it alone is needed: in the default of an option, or in a trial."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Cli

_PARSER = """import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--device", type=str, default="cuda:0")
args = parser.parse_args()
"""
_USES = """device = torch.device(args.device)
net = torch.nn.Linear(2, 2).to(device)
net(torch.zeros(1, 2).to(device))
"""
_OWN = """device = torch.device("cuda")
net = torch.nn.Linear(2, 2).to(device)
net(torch.zeros(1, 2).to("cuda"))
"""
_EARLIER = "import argparse\nimport torch\n\nshift = torch.zeros(1, device='cuda:0')\n"


def test_its_selection_stands_in_place(cli: Cli, project: Path) -> None:
    text = _fixed(cli, project, (_PARSER + _USES).replace('"', "'"))

    assert "default=(\n    'mps' if torch.backends.mps.is_available()\n" in text
    assert "torch_device" not in text


def test_one_that_would_be_taller_than_a_statement_has_a_name(cli: Cli, project: Path) -> None:
    text = _fixed(cli, project, _PARSER + _USES)

    assert "default=str(torch_device)" in text


def test_no_second_selection_stands_behind_the_imports(cli: Cli, project: Path) -> None:
    text = _fixed(cli, project, _PARSER + "torch.zeros(1).to(args.device)\n" + _OWN)

    assert "torch_device" not in text
    assert "net(torch.zeros(1, 2).to(device))" in text


def test_what_needs_one_earlier_as_well_shares_it(cli: Cli, project: Path) -> None:
    text = _fixed(cli, project, _PARSER.replace("import argparse\nimport torch\n", _EARLIER))

    assert "default=str(device)" in text
    assert "shift = torch.zeros(1, device=device)" in text


def test_two_options_share_one(cli: Cli, project: Path) -> None:
    option = 'parser.add_argument("--device", type=str, default="cuda:0")\n'
    text = _fixed(cli, project, _PARSER.replace(option, option + option.replace("--", "--other-")))

    assert text.count("default=str(device)") == 2


def _fixed(cli: Cli, project: Path, text: str) -> str:
    script = project / "run.py"
    script.write_text(text)
    ran = cli("fix", "--no-verify", "--no-cache", "run.py")
    assert ran.code in (0, 1), ran.err
    return script.read_text()


_TRIAL = """from torch import nn


class Net(nn.Linear):
    pass


if __name__ == "__main__":
    {first}
    net = Net(2, 2).cuda()
    {then}
    print(net(torch.zeros(1, 2).to("cuda")))
    torch.save(net, "net.pt")
"""


def test_a_trial_that_imports_torch_selects_for_itself(cli: Cli, project: Path) -> None:
    text = _fixed(cli, project, _TRIAL.format(first="import torch", then="print(net)"))

    assert text.count("import torch\n") == 1
    assert "    net = Net(2, 2).to(device)" in text
    assert text.index("if __name__") < text.index("is_available()")


def test_one_that_does_so_behind_its_first_need_does_not(cli: Cli, project: Path) -> None:
    text = _fixed(cli, project, _TRIAL.format(first="print(Net)", then="import torch"))

    assert text.index("is_available()") < text.index("if __name__")


def test_it_stands_above_the_comment_of_what_needs_it(cli: Cli, project: Path) -> None:
    first = "import torch\n    print(Net)\n    # A net of two layers."

    text = _fixed(cli, project, _TRIAL.format(first=first, then="print(net)"))

    assert "    # A net of two layers.\n    net = Net(2, 2).to(device)\n" in text
