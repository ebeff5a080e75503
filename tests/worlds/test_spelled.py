"""What the text of a file rules out, a run of it does not find either."""

from __future__ import annotations

import random

import pytest
from conftest import FIXTURES

from mpslint.errors import BadSource
from mpslint.semantics.context import Context
from mpslint.semantics.worlds.events import Event, Kind
from mpslint.semantics.worlds.spelled import may_be_wide, may_call, may_move, may_name_gpu
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

FILES = sorted(FIXTURES.glob("rules/**/*.py"))
SAMPLE = random.Random(3).sample(FILES, min(150, len(FILES)))
MOVES = (Kind.MOVED, Kind.TYPED)


def context_of(text: str) -> Context:
    source = SourceFile.from_text(text)
    return Context(source, source.parse(), Settings())


def without(text: str, *words: str) -> str:
    """The text with words that nobody knows in the place of these."""
    for word in words:
        text = text.replace(word, "unknown")
    return text


def events(context: Context, *kinds: Kind) -> list[Event]:
    return [event for event in context.worlds.run.log if event.kind in kinds]


def test_what_is_ruled_out_is_not_found_in_the_fixtures_nor_in_what_is_left_of_them() -> None:
    ruled_out = 0
    for path in SAMPLE:
        whole = path.read_text(encoding="utf-8", errors="replace")
        for text in (whole, without(whole, "cuda", "mps"), without(whole, "float64", "double")):
            try:
                context = context_of(text)
            except BadSource:
                continue
            index, data = context.index, context.source.data
            if not may_name_gpu(index, data, None):
                ruled_out += 1
                assert not events(context, Kind.WIDE, Kind.MIXED), path
            if not may_be_wide(index, data, None):
                ruled_out += 1
                wide = events(context, Kind.WIDE, Kind.SENT)
                assert all(event.value.v == "complex128" for event in wide), path  # type: ignore[union-attr]
            if not may_move(index, data, None):
                ruled_out += 1
                assert not events(context, *MOVES), path
            for event in events(context, Kind.CALLED):
                assert may_call(index, data, event.name), (path, event.name)
    assert ruled_out > len(SAMPLE)


@pytest.mark.parametrize(
    "text",
    [
        "x.to(0)",
        "torch.device(0)",
        "from torch import device as d\nd(0)",
        "d = 'mps'",
        "x.cuda()",
        "torch.accelerator.current_accelerator()",
    ],
)
def test_a_gpu_is_named_by_a_word_a_number_or_an_import(text: str) -> None:
    context = context_of(f"import torch\n{text}\n")
    assert may_name_gpu(context.index, context.source.data, None)


@pytest.mark.parametrize(
    ("text", "wide"),
    [
        ("x.to(dtype=float)", True),
        ("d = float", True),
        ("import numpy as np\ntorch.tensor(np.zeros(3))", True),
        ("from torch import as_tensor as t\nimport numpy\nt(numpy.zeros(3))", True),
        ("def f(x: float) -> float: ...", False),
        ("isinstance(x, (int, float))", False),
        ("parser.add_argument('--lr', type=float)", False),
        ("import numpy as np\nnp.zeros(3)", False),
        ("y: float = float(x)", False),
    ],
)
def test_float64_is_named_by_a_dtype_or_made_of_an_array(text: str, wide: bool) -> None:
    context = context_of(f"import torch\n{text}\n")
    assert may_be_wide(context.index, context.source.data, None) is wide


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("torch.accelerator.synchronize()", True),
        ("import torch as t\nt.accelerator.synchronize()", True),
        ("from torch.accelerator import synchronize as s\ns()", True),
        ("from torch import accelerator as a\na.synchronize()", True),
        ("torch.get_device_module('mps').synchronize()", True),
        ("getattr(torch, 'accelerator').synchronize()", True),
        ("self.accelerator.synchronize()", False),
        ("torch.accelerator.is_available()", False),
    ],
)
def test_a_function_is_called_where_its_module_and_its_name_stand(text: str, called: bool) -> None:
    context = context_of(f"import torch\n{text}\n")
    name = "torch.accelerator.synchronize"
    assert may_call(context.index, context.source.data, name) is called
