"""Fixed seeds for scripts that set none, so that two runs of one program can be compared."""

from __future__ import annotations

import os
import random
import sys

SEED_KEY = "MPSLINT_SEED"


def install() -> None:
    """Seed Python, NumPy (where it is loaded) and torch, if the launching process asks for it.

    A script that seeds for itself is not affected. Call it right after torch was imported.
    """
    text = os.environ.get(SEED_KEY, "")
    if not text.isdigit():
        return
    import torch

    random.seed(int(text))
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(int(text))
    torch.manual_seed(int(text))
