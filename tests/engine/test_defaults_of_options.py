"""The default of an option is chosen where the option is told, and only where it chooses."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.fixer import fix_source
from mpslint.linter import lint
from mpslint.model import Applicability
from mpslint.project import Project
from mpslint.settings import Settings
from mpslint.source import SourceFile

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
    assert before.startswith(HEAD + 'def main():\n    print("starting")\n    default_device = (')
    assert 'parser.add_argument("--device", default=default_device)' in after


@pytest.mark.parametrize("run", [TWICE, "def again():\n    main()\n\n\nmain()\n"])
def test_what_may_run_again_is_told_by_the_module(tmp_path: Path, run: str) -> None:
    text = fixed(tmp_path, HEAD + MAIN + run)
    assert text.index("is_available()") < text.index("def main()")


def test_a_move_in_that_function_gets_a_device_and_no_text(tmp_path: Path) -> None:
    main = "def main():\n    print(nn.Linear(2, 2).cuda()(torch.ones(1, 2).cuda()))\n\n\n"
    text = fixed(tmp_path, HEAD + main + RUN)
    assert text.startswith(HEAD + "def main():\n    device = torch.device(\n")


def test_a_default_that_chooses_nothing_but_cuda_stays(tmp_path: Path) -> None:
    text = HEAD + MAIN.replace("torch.device(args.device)", CHOSEN) + RUN
    (told,) = lint(SourceFile("train.py", text.encode()), Settings(select=("MPS101",)))
    assert told.applicability is Applicability.UNSAFE
    assert 'default="cuda")' in fixed(tmp_path, text)
