"""Fixed seeds for scripts that set none, so that two runs of one program can be compared."""

from __future__ import annotations

import itertools
import os
import random
import sys
from typing import Any

SEED_KEY = "MPSLINT_SEED"


def _seed() -> int | None:
    text = os.environ.get(SEED_KEY, "")
    return int(text) if text.isdigit() else None


def install_early() -> None:
    """Seed Python's generators, if the launching process asks for it: before the script's first
    line, and those that the script makes without a seed.
    """
    seed = _seed()
    if seed is None:
        return
    random.seed(seed)
    numbers = itertools.count(seed + 1)
    make: Any = random.Random.__init__

    def init(self: random.Random, x: Any = None) -> None:
        # What asks the system for its numbers takes no seed.
        known = x if x is not None or isinstance(self, random.SystemRandom) else next(numbers)
        make(self, known)

    random.Random.__init__ = init  # type: ignore[method-assign]


def install() -> None:
    """The same for NumPy and torch. Call it right after torch was imported, which imports NumPy.

    A script that seeds for itself is not affected.
    """
    seed = _seed()
    if seed is None:
        return
    import torch

    random.seed(seed)
    if "numpy" in sys.modules:
        _seed_numpy(seed)
    torch.manual_seed(seed)


def _seed_numpy(seed: int) -> None:
    import numpy

    numpy.random.seed(seed)
    # All generators that are made without a seed ask this function of their module's for one.
    source: Any = sys.modules.get("numpy.random.bit_generator")
    if hasattr(source, "randbits"):
        drawn = random.Random(seed)
        source.randbits = drawn.getrandbits
