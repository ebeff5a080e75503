"""What a model is called with goes to the device of the model, where a function is given that and
the file needs no other device."""

from __future__ import annotations

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

HEAD = "import torch\n\n\n"
OF_MODEL = "next(model.parameters()).device"


def fixed(text: str) -> str:
    source = SourceFile("run.py", f"{HEAD}{text}".encode())
    return fix_source(source, Settings(), unsafe=True).source.text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x.cuda()", f"x.to({OF_MODEL})"),
        ('x.to("cuda")', f"x.to({OF_MODEL})"),
        ("x[None].float().cuda()", f"x[None].float().to({OF_MODEL})"),
        ("x.cuda().float(), 3", f"x.float().to({OF_MODEL}), 3"),
    ],
)
@pytest.mark.parametrize("known", ["model.eval()", "print(list(model.parameters()))"])
def test_an_input_goes_where_the_model_is(before: str, after: str, known: str) -> None:
    text = f"def run(model, x):\n    {known}\n    return model({{}})\n"
    assert fixed(text.format(before)) == HEAD + text.format(after)


def test_an_annotation_tells_of_a_model() -> None:
    text = "def run(model: torch.nn.Module, x):\n    return model(x.cuda())\n"
    assert OF_MODEL in fixed(text)


def test_a_function_within_one_that_is_given_the_model_asks_it_too() -> None:
    text = "def run(model, x):\n    model.eval()\n\n    def part(y):\n        return model({})\n"
    text += "\n    return part(x)\n"
    assert fixed(text.format("y.cuda()")) == HEAD + text.format(f"y.to({OF_MODEL})")


def test_a_selection_in_another_function_is_no_other_need() -> None:
    main = 'def main(model, x):\n    device = "cuda" if torch.cuda.is_available() else "cpu"\n'
    main += "    return run(model.to(device), x)\n"
    run = "def run(model, x):\n    model.eval()\n    return model(x.cuda())\n"
    assert OF_MODEL in fixed(f"{run}\n\n{main}")


@pytest.mark.parametrize(
    "text",
    [
        "def run(model, x):\n    return model(x.cuda())\n",
        "def run(model, x, y):\n    model.eval()\n    return model(x.cuda()) - y.cuda()\n",
        "def run(x):\n    model = torch.nn.Linear(2, 2).cuda()\n    return model(x.cuda())\n",
        "def run(model, x):\n    model.eval()\n"
        "    model = model.module\n    return model(x.cuda())\n",
    ],
)
def test_else_a_device_is_selected(text: str) -> None:
    assert OF_MODEL not in fixed(text)
    assert "torch.backends.mps.is_available()" in fixed(text)
