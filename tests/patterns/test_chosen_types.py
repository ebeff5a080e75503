"""`Tensor = torch.cuda.FloatTensor if cuda else torch.FloatTensor` goes away only where all that
reads the name is seen, and what stands in its way is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Cli

_CHOSEN = "torch.cuda.{0}Tensor if cuda else torch.{0}Tensor"
_HEAD = f"import torch\n\ncuda = torch.cuda.is_available()\nTensor = {_CHOSEN.format('Float')}\n"


def _why_not(cli: Cli, text: str, path: Path) -> list[str]:
    path.write_text(text)
    found = cli("check", "--select", "MPS111", "--output-format", "json", path.name)
    return [row["no_fix"] for row in json.loads(found.out)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            f"{_HEAD}def run(x):\n    return Tensor(x)\nprint(run([1.0]))\n",
            "whether `Tensor(x)` at line 6 is given the data or the sizes is not seen",
        ),
        (
            f"{_HEAD}print(isinstance(torch.ones(2), Tensor))\n",
            "what `Tensor` is for at line 5 was not understood",
        ),
        (
            f"{_HEAD}print(Tensor([1.0]))\n"
            f"Tensor = {_CHOSEN.format('Half')}\nprint(Tensor([1.0]))\n",
            "`Tensor` is not the same wherever it is bound",
        ),
        (
            f"{_HEAD}cuda = False\nTensor = {_CHOSEN.format('Float')}\nprint(Tensor([1.0]))\n",
            "`Tensor` is not the same wherever it is bound",
        ),
        (
            f"{_HEAD.replace('Float', 'Double')}print(Tensor([1.0]))\n",
            "MPS has no float64, which this type is for",
        ),
        (
            f"{_HEAD}print(Tensor([1.0]), globals()['Tensor'])\n",
            "`Tensor` is read in another file, by a text, or as an attribute of a class",
        ),
    ],
)
def test_what_is_in_the_way_of_a_type_is_said(
    cli: Cli, project: Path, text: str, said: str
) -> None:
    reasons = _why_not(cli, text, project / "a.py")
    assert set(reasons) == {said}


def test_a_type_that_another_file_imports_stays(cli: Cli, project: Path) -> None:
    (project / "types_.py").write_text(f"{_HEAD}zero = Tensor([0.0])\n")
    (project / "main.py").write_text("from types_ import Tensor\nprint(Tensor([1.0]))\n")
    cli("fix", "--no-verify", ".")
    assert (project / "types_.py").read_text().startswith(_HEAD)


def test_a_type_that_is_an_attribute_of_a_class_stays(cli: Cli, project: Path) -> None:
    text = (
        "import torch\n\ncuda = torch.cuda.is_available()\n\n\nclass Net:\n"
        f"    Tensor = {_CHOSEN.format('Float')}\n    zero = Tensor([0.0])\n\n"
        "    def one(self):\n        return self.Tensor([1.0])\n\n\nprint(Net().one())\n"
    )
    (project / "a.py").write_text(text)
    cli("fix", "--no-verify", ".")
    assert (project / "a.py").read_text() == text
