"""Methods of a module of Lightning's that nothing calls: a trainer asks for those of certain names
alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.worlds.conftest import told_in_project

MODULE = (
    "import pytorch_lightning as pl\nimport torch\n\n\n"
    "class Net(pl.LightningModule):\n"
    "    def {name}(self):\n"
    "        torch.cuda.synchronize()\n"
)
PROGRAM = "import pytorch_lightning as pl\n\nfrom net import Net\n\npl.Trainer().fit(Net())\n"


@pytest.mark.parametrize("name", ["gpu_stats", "_show_memory", "draw_samples"])
def test_a_method_that_only_a_comment_calls_is_left_over(
    cli: Cli, project: Path, name: str
) -> None:
    files = {"net.py": MODULE.format(name=name) + f"    # self.{name}()\n", "run.py": PROGRAM}
    assert told_in_project(cli, files) == []


@pytest.mark.parametrize(
    "name", ["on_fit_end", "training_step", "configure_model", "setup", "val_dataloader", "forward"]
)
def test_a_trainer_calls_its_hooks(cli: Cli, project: Path, name: str) -> None:
    files = {"net.py": MODULE.format(name=name), "run.py": PROGRAM}
    assert told_in_project(cli, files) == [("net.py", 7, "MPS201")]


def test_what_a_hook_calls_is_in_use(cli: Cli, project: Path) -> None:
    hook = "\n    def on_fit_end(self):\n        self.gpu_stats()\n"
    files = {"net.py": MODULE.format(name="gpu_stats") + hook, "run.py": PROGRAM}
    assert told_in_project(cli, files) == [("net.py", 7, "MPS201")]
