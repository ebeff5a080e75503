"""Registers feature functions and runs them on one device; the values are compared between devices.

Each function returns plain data that must be the same on every device.
"""

from __future__ import annotations

import json
import sys
import traceback
import warnings

import torch

DEVICE = (
    "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
)
FEATURES = {}


def feature(function):
    """Add a function to the table under its own name."""
    FEATURES[function.__name__] = function
    return function


def numbers(*shape):
    """The same normal numbers on every device."""
    generator = torch.Generator("cpu").manual_seed(sum(shape) + 11)
    return torch.randn(*shape, generator=generator, device="cpu").to(DEVICE)


def plain(value):
    """Tensors to nested lists, everything else unchanged."""
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().tolist()
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def run_all():
    """Print one JSON object: name to {"value": …} or {"error": …}."""
    results = {}
    for name, function in FEATURES.items():
        torch.manual_seed(7)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                results[name] = {"value": plain(function())}
            except Exception as error:
                traceback.print_exc(file=sys.stderr)
                results[name] = {"error": f"{type(error).__name__}: {error}"}
    print("RESULTS " + json.dumps(results))
