"""A device is followed through functions that hand on what they are given by name, and into
functions that others are given and call."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

DEVICE = '"cuda" if torch.cuda.is_available() else "cpu"'
PLACES = """
def placed(x, device="cpu"):
    return x.to(device)

"""
SHOWS = """
def shown(x, device="none"):
    print(x, device)

"""


def told(text: str) -> list[str]:
    source = SourceFile("run.py", f"import torch\n{text}".encode())
    return [one.code for one in lint(source, Settings())]


@pytest.mark.parametrize(
    "text",
    [
        "def run(**rest):\n    return placed(**rest)\n",
        "def run(*args, **rest):\n    return placed(*args, **rest)\n",
        "def run(**rest):\n    print(rest.get('x'))\n    return placed(**rest)\n",
        "def further(**more):\n    return placed(**more)\n"
        "def run(**rest):\n    return further(**rest)\n",
    ],
)
@pytest.mark.parametrize("after", ["", "    run(x=x)\n"])
def test_what_is_spread_is_followed(text: str, after: str) -> None:
    call = f"def main(x):\n    run(x=x, device={DEVICE})\n{after}"
    assert told(PLACES + text + call) == ["MPS103"]


@pytest.mark.parametrize(
    "text",
    [
        "def run(**rest):\n    rest['device'] = 'cpu'\n    return placed(**rest)\n",
        "def run(**rest):\n    rest.pop('device')\n    return placed(**rest)\n",
        "def run(device, **rest):\n    return placed(**rest)\n",
    ],
)
def test_what_is_left_out_goes_nowhere(text: str) -> None:
    assert not told(f"{PLACES}{text}def main(x):\n    run(x=x, device={DEVICE})\n")


@pytest.mark.parametrize(
    "text",
    [
        "def run(f, x, device):\n    return f(x, device)\n",
        "def run(f, **rest):\n    return f(**rest)\n",
        "def run(f, tries=1, **rest):\n    for _ in range(tries):\n        f(**rest)\n",
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_a_function_that_is_given_to_another_is_given_what_that_calls_it_with(
    text: str, first: bool
) -> None:
    call = f"def main(x):\n    run(placed, x=x, device={DEVICE})\n"
    texts = [PLACES, text, call] if first else [text, PLACES, call]
    assert told("".join(texts)) == ["MPS103"]


def test_a_function_that_is_called_and_named_is_given_what_its_calls_give() -> None:
    calls = f"def main(x, xs):\n    return placed(x, {DEVICE}), map(placed, xs)\n"
    assert told(PLACES + calls) == ["MPS103"]


@pytest.mark.parametrize("default", ['"cuda"', '"cuda:0"', 'torch.device("cuda")'])
@pytest.mark.parametrize(
    "call",
    [
        f"placed(x, {DEVICE})",
        f"placed(x, device={DEVICE})",
        f"placed(x, {DEVICE}), map(placed, xs)",
    ],
)
def test_a_choice_is_told_beside_the_default_that_others_get(default: str, call: str) -> None:
    placed = PLACES.replace('"cpu"', default)
    assert told(f"{placed}def main(x, xs):\n    return {call}\n") == ["MPS101", "MPS103"]


def test_what_only_prints_a_device_places_nothing() -> None:
    run = "def run(f, x, device):\n    return f(x, device)\n"
    call = f"def main(x):\n    run(shown, x=x.to('cpu'), device={DEVICE})\n"
    assert not told(SHOWS + run + call)
