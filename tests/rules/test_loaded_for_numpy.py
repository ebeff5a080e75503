"""What NumPy takes as it was loaded lies on the CPU: no `map_location` is needed for it."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

SETTINGS = Settings(select=("MPS413",))
PROGRAM = """
import numpy as np
import torch

model = torch.nn.Linear(4, 2).to("cuda")
torch.save(model.state_dict(), "weights.pth")
{read}
"""


@pytest.mark.parametrize(
    "read",
    [
        'checkpoint = torch.load("model_loss.pth")\nplot(checkpoint[0].numpy())',
        'checkpoint = torch.load("model_loss.pth")\n'
        'checkpoint = checkpoint["loss"].view(4, -1)[:, :2].numpy()\nprint(np.log(checkpoint))',
        'weights = torch.load("model.pth")\nprint(weights.shape)\nnp.mean(weights)',
        'checkpoint = torch.load("model.pth")\nkernel = checkpoint["conv"]\nshow(kernel.T.numpy())',
        'show(torch.load("model.pth").detach().numpy())',
    ],
)
def test_what_numpy_takes_as_it_lies_was_saved_from_the_cpu(read: str) -> None:
    assert not lint(SourceFile("program.py", PROGRAM.format(read=read).encode()), SETTINGS)


@pytest.mark.parametrize(
    "read",
    [
        'checkpoint = torch.load("model_loss.pth")\nplot(checkpoint[0].cpu().numpy())',
        'checkpoint = torch.load("model.pth")\nshow(checkpoint["conv"].numpy(force=True))',
        'checkpoint = torch.load("model.pth")\nshow(checkpoint["loss"].numpy())\n'
        'model.load_state_dict(checkpoint["model"])',
        'checkpoint = torch.load("model.pth")\nprint(checkpoint.shape)',
    ],
)
def test_what_is_copied_to_the_host_or_goes_elsewhere_may_be_of_cuda(read: str) -> None:
    assert lint(SourceFile("program.py", PROGRAM.format(read=read).encode()), SETTINGS)
