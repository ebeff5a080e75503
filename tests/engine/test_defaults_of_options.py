"""A device is chosen where it is needed, and the default of an option where that is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.fixing.fixer import fix_source
from mpslint.project.project import Project
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

HEAD = "import argparse\n\nimport torch\nfrom torch import nn\n\n\n"
MAIN = """\
def main():
    print("starting")
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=2)
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    device = torch.device(args.device)
    print(nn.Linear(args.size, 2).to(device))


"""
CHOSEN = 'torch.device("cuda" if torch.cuda.is_available() and args.device == "cuda" else "cpu")'
RUN = 'if __name__ == "__main__":\n    main()\n'
TWICE = "for _ in range(2):\n    main()\n"


def fixed(folder: Path, text: str) -> str:
    path = folder / "train.py"
    path.write_text(text)
    settings = Settings()
    source = SourceFile(str(path), path.read_bytes())
    return fix_source(source, settings, elsewhere=Project(settings)).text


def test_it_is_chosen_in_front_of_the_parser_of_the_function_that_alone_needs_it(
    tmp_path: Path,
) -> None:
    text = fixed(tmp_path, HEAD + MAIN + RUN)
    before, _, after = text.partition("    parser = argparse.ArgumentParser()\n")
    assert before.startswith(HEAD + 'def main():\n    print("starting")\n    if torch.')
    assert before.endswith('    else:\n        default_device = "cpu"\n')
    assert 'parser.add_argument("--device", default=default_device)' in after


@pytest.mark.parametrize("run", [TWICE, "def again():\n    main()\n\n\nmain()\n"])
def test_what_may_run_again_is_told_by_the_module(tmp_path: Path, run: str) -> None:
    text = fixed(tmp_path, HEAD + MAIN + run)
    assert text.index("is_available()") < text.index("def main()")


def test_a_move_in_that_function_gets_a_device_and_no_text(tmp_path: Path) -> None:
    main = "def main():\n    print(nn.Linear(2, 2).cuda()(torch.ones(1, 2).cuda()))\n\n\n"
    text = fixed(tmp_path, HEAD + main + RUN)
    chosen, _, rest = text.removeprefix(HEAD + "def main():\n").partition("    print(")
    assert chosen.endswith('    else:\n        device = torch.device("cpu")\n')
    assert rest.count(".to(device)") == 2


def test_a_default_that_chooses_nothing_but_cuda_stays(tmp_path: Path) -> None:
    text = HEAD + MAIN.replace("torch.device(args.device)", CHOSEN) + RUN
    found = lint(SourceFile("train.py", text.encode()), Settings(select=("MPS101", "MPS103")))
    assert [told.code for told in found] == ["MPS103"]  # It is the choice that leaves a Mac out.
    assert 'default="cuda")' in fixed(tmp_path, text)


TRIAL = (
    HEAD
    + """\
class Net(nn.Module):
    def forward(self, x):
        return x


if __name__ == "__main__":
    net = Net().cuda()
    net(torch.ones(1, 2).cuda()).sum().backward()
    torch.optim.SGD(net.parameters(), 0.1).step()
"""
)


def test_a_trial_below_the_classes_of_a_module_asks_for_its_own_device(tmp_path: Path) -> None:
    (tmp_path / "other.py").write_text("from train import Net\n")
    _, _, trial = fixed(tmp_path, TRIAL).partition('if __name__ == "__main__":\n')
    assert trial.startswith("    if torch.")
    assert trial.count(".to(device)") == 2


def test_what_the_classes_need_as_well_is_not_chosen_in_the_trial(tmp_path: Path) -> None:
    text = fixed(tmp_path, TRIAL.replace("return x", "return torch.ones(2).cuda()"))
    assert text.index("is_available()") < text.index("class Net")


def test_a_move_that_is_taken_for_a_test_is_nobodys_choice_of_a_device(tmp_path: Path) -> None:
    text = TRIAL.replace("return x", "return x if self.cuda() else None")
    assert "self.cuda()" in fixed(tmp_path, text)


@pytest.mark.parametrize("size", [88, 96])
def test_one_project_gets_one_layout_of_a_choice_however_long_its_lines_are(
    tmp_path: Path, size: int
) -> None:
    chosen = "    device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
    text = f"import torch\n{'#' * size}\n\n\ndef main():\n    if True:\n    {chosen}"
    text += "        return torch.zeros(3, device=device)\n"
    (tmp_path / "README.md").write_text("Tested with PyTorch 1.4\n")
    assert (
        "        if torch.cuda.is_available():\n"
        "            device = torch.device('cuda')\n"
        "        elif torch.backends.mps.is_available():\n"
    ) in fixed(tmp_path, text)


NAMES_CUDA = 'def on_cuda(device):\n    return "cuda" in device\n\n\n'


def below_its_test(lines: str) -> str:
    return 'if __name__ == "__main__":\n' + lines


def test_an_option_of_a_files_own_trial_has_its_default_below_the_test_of_its_name(
    tmp_path: Path,
) -> None:
    trial = below_its_test(MAIN.partition("\n")[2].strip("\n") + "\n")
    before, _, after = fixed(tmp_path, HEAD + NAMES_CUDA + trial).partition("__main__")
    assert "is_available" not in before
    assert 'parser.add_argument("--device", default=default_device)' in after


def test_a_files_own_trial_asks_the_helper_below_the_test_of_its_name(tmp_path: Path) -> None:
    helper = (
        "def get_device():\n"
        "    if torch.cuda.is_available():\n"
        '        return torch.device("cuda")\n'
        "    mps = torch.backends.mps.is_available()\n"
        '    return torch.device("mps" if mps else "cpu")\n\n\n'
    )
    trial = below_its_test(
        "    print(nn.Linear(2, 2).cuda()(torch.ones(1, 2).cuda()))\n    torch.save(1, 'x.pt')\n"
    )
    before, _, after = fixed(tmp_path, HEAD + helper + trial).partition("__main__")
    assert before.count("get_device()") == 1
    assert "    device = get_device()\n    print(nn.Linear(2, 2).to(device)" in after
