"""Where data may go, and whether a device can be asked for its type."""

from __future__ import annotations

import ast

import pytest

from mpslint.semantics.context import Context
from mpslint.semantics.destinations.destinations import (
    is_device_of_tensor,
    may_be_mps,
    type_may_be_mps,
)
from mpslint.semantics.destinations.sure_devices import surely_device
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PORTABLE = "'mps' if torch.backends.mps.is_available() else 'cpu'"


def ask(text: str) -> tuple[Context, ast.expr]:
    source = SourceFile.from_text("import torch\n" + text)
    tree = source.parse()
    block = tree.body
    while isinstance(block[-1], ast.FunctionDef):
        block = block[-1].body
    last = block[-1]
    assert isinstance(last, ast.Expr)
    return Context(source, tree, Settings()), last.value


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'mps'", True),
        ("'cuda'", False),
        ("'cpu'", False),
        (PORTABLE, True),
        ("'cuda' if torch.cuda.is_available() else 'cpu'", False),
        ("def f(device):\n    device", True),
        ("def f(x: torch.Tensor):\n    x.device", True),
        ("torch.zeros(3).device", False),
        ("def f(args):\n    args.device", True),
        ("def f(args):\n    args.size", False),
        ("0", False),
    ],
)
def test_a_device_may_be_mps_unless_it_is_known_to_be_another(text: str, expected: bool) -> None:
    context, node = ask(text)
    assert may_be_mps(context, node) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("torch.device('mps')", True),
        (f"device = torch.device({PORTABLE})\ndevice", True),
        (f"device = {PORTABLE}\ndevice", False),
        ("def f(device):\n    device", False),
        ("def f(x: torch.Tensor):\n    x.device", True),
        ("def f(args):\n    args.device", False),
    ],
)
def test_only_what_was_made_as_a_device_has_a_type(text: str, expected: bool) -> None:
    context, node = ask(text)
    assert surely_device(context, node) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("torch.zeros(3).device", True),
        ("def f(model):\n    next(model.parameters()).device", True),
        ("def f(model):\n    model.weight.device", True),
        ("def f(model):\n    model.device", False),
        ("def f(config):\n    config.device", False),
        ("def f(x):\n    y = x.unsqueeze(0)\n    x.device", True),
        ("def f(x):\n    x.device", False),
    ],
)
def test_the_device_of_a_tensor_is_told_from_a_setting(text: str, expected: bool) -> None:
    context, node = ask(text)
    assert is_device_of_tensor(context, node) is expected


def test_the_type_of_a_device_is_followed_through_a_name() -> None:
    context, node = ask("def f(device):\n    kind = device.type\n    kind")
    assert type_may_be_mps(context, node)
    context, node = ask("kind = torch.device('cuda').type\nkind")
    assert not type_may_be_mps(context, node)
