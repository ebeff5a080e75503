"""A file is run in the worlds only where a finding can hang on it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mpslint.project.neighbours import Neighbours
from mpslint.project.runs.imported_runs import ImportedRuns
from mpslint.rules.registry import by_code
from mpslint.semantics.context import Context
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile


def was_run(text: str, code: str) -> bool:
    """Whether this rule has the file run."""
    source = SourceFile.from_text(text)
    context = Context(source, source.parse(), Settings())
    rule = by_code(code)
    list(rule.check(context, rule))
    return "run" in vars(context.worlds)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = np.array([1, 2])\ny.cuda()", False),
        ("x = np.array(torch.ones(2))\ny.cuda()", True),
        ("def f(x):\n    return x.numpy()", False),
        ("def f(x):\n    return x.numpy(), x.cuda()", True),
    ],
)
def test_what_numpy_is_given_is_asked_of_a_run_where_it_may_be_on_a_gpu(
    text: str, expected: bool
) -> None:
    assert was_run(f"import numpy as np\nimport torch\n{text}\n", "MPS301") is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("with open('a') as buffer:\n    x = torch.load(buffer)", False),
        ("x.load_state_dict(torch.load('a'))", True),
    ],
)
def test_a_checkpoint_that_this_machine_wrote_is_asked_of_no_run(text: str, expected: bool) -> None:
    assert was_run(f"import torch\n{text}\n", "MPS413") is expected


def test_of_those_who_use_a_name_who_speaks_of_no_machine_is_asked_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    uses_on = ImportedRuns.uses_on

    def recorded(self: ImportedRuns, path: str, name: str) -> tuple[int, frozenset[str]]:
        asked.append(os.path.basename(path))
        return uses_on(self, path, name)

    monkeypatch.setattr(ImportedRuns, "uses_on", recorded)
    (tmp_path / "trainer.py").write_text("import torch\n\n\nclass Trainer:\n    pass\n")
    using = "import torch\nfrom trainer import Trainer\n\n"
    (tmp_path / "a.py").write_text(f"{using}if torch.cuda.is_available():\n    Trainer()\n")
    (tmp_path / "b.py").write_text(f"{using}Trainer()\n")
    neighbours = Neighbours(Settings(root=str(tmp_path)))
    assert not neighbours.entered(str(tmp_path / "trainer.py"), "Trainer")
    assert asked == ["b.py"]
