"""What is found in a file does not hang on the folder that the check is started in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_COMMON = 'import torch\n\n\ndef start():\n    torch.distributed.init_process_group("nccl")\n'
_TRAIN = "import torch\nfrom common.setup_run import start\n\nstart()\ntorch.cuda.synchronize()\n"


@pytest.mark.parametrize("started", [".", "scripts", "..", "../elsewhere"])
def test_modules_of_the_files_own_project_are_found_from_anywhere(
    cli: Cli, project: Path, monkeypatch: pytest.MonkeyPatch, started: str
) -> None:
    (project.parent / "elsewhere").mkdir()
    (project / ".git").mkdir()
    for name, text in (("common/setup_run.py", _COMMON), ("scripts/train.py", _TRAIN)):
        (project / name).parent.mkdir()
        (project / name).write_text(text)
    monkeypatch.chdir(project / started)

    result = cli("check", "--no-cache", "--output-format", "json", project / "scripts" / "train.py")

    assert [item["code"] for item in json.loads(result.out)] == []
