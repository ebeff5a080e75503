"""An arm below a switch that is off by default runs where somebody turns it on, not elsewhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_FUNCTION = """
import torch


def fit(net, batch, precise=False):
    if precise:
        batch = batch + torch.ones(2, dtype=torch.float64, device="mps")
    return net(batch)
"""
_CLASS = """
import torch


class Layer(torch.nn.Module):
    def __init__(self, width, looped=False):
        super().__init__()
        self.width = width
        self.looped = looped

    def forward(self, links):
        if {test}:
            links = links + torch.eye(links.size(0)).to(links.device)
        return links * self.width
"""


def _codes(cli: Cli, project: Path, model: str, **calls: str) -> list[str]:
    (project / "model.py").write_text(model)
    (project / "README.md").write_text("# A program\n")
    for name, call in calls.items():
        (project / f"{name}.py").write_text(f"import model\n\nresult = {call}\nprint(result)\n")
    ran = cli("check", "--output-format", "json", "model.py")
    return [finding["code"] for finding in json.loads(ran.out)]


def test_an_arm_that_no_call_opens_is_not_told(cli: Cli, project: Path) -> None:
    assert _codes(cli, project, _FUNCTION, run="model.fit(1, 2)") == []


@pytest.mark.parametrize(
    "call",
    [
        "model.fit(1, 2, True)",
        "model.fit(1, 2, precise=True)",
        "model.fit(*range(3))",
        "model.fit(1, **dict(precise=True))",
        "[model.fit]",
    ],
)
def test_an_arm_that_a_call_may_open_is_told(cli: Cli, project: Path, call: str) -> None:
    assert _codes(cli, project, _FUNCTION, run="model.fit(1, 2)", other_run=call) == ["MPS401"]


def test_an_arm_of_what_nobody_calls_yet_is_told(cli: Cli, project: Path) -> None:
    assert _codes(cli, project, _FUNCTION) == ["MPS401"]


@pytest.mark.parametrize("test", ["self.looped", "self.looped and len(links)"])
def test_what_a_constructor_keeps_of_a_switch_is_that_switch(
    cli: Cli, project: Path, test: str
) -> None:
    assert _codes(cli, project, _CLASS.format(test=test), run="model.Layer(1)") == []


@pytest.mark.parametrize("test", ["self.looped or len(links)", "not self.looped"])
def test_an_arm_that_opens_without_the_switch_is_told(cli: Cli, project: Path, test: str) -> None:
    found = _codes(cli, project, _CLASS.format(test=test), run="model.Layer(1)")
    assert found == ["MPS310"]


@pytest.mark.parametrize(
    ("test", "call", "codes"),
    [
        ("self.looped", "model.Layer(1, looped=False)", []),
        ("self.looped", "model.Layer(1, looped=None)", []),
        ("self.looped is not None", "model.Layer(1, looped=None)", []),
        ("self.looped == 'on'", "model.Layer(1, 'off')", []),
        ("self.looped == 'on'", "model.Layer(1)", ["MPS310"]),
        ("self.looped != 'on'", "model.Layer(1, 'off')", ["MPS310"]),
        ("self.looped", "model.Layer(1, looped=model)", ["MPS310"]),
    ],
)
def test_an_arm_that_each_call_refuses_in_its_own_words_is_not_told(
    cli: Cli, project: Path, test: str, call: str, codes: list[str]
) -> None:
    assert _codes(cli, project, _CLASS.format(test=test), run=call) == codes


@pytest.mark.parametrize(("given", "codes"), [("False", []), ("True", ["MPS310"])])
def test_who_hands_a_parameter_on_gives_what_he_is_given(
    cli: Cli, project: Path, given: str, codes: list[str]
) -> None:
    maker = f"""make(1, {given})


def make(width, looped):
    return model.Layer(width, looped)
"""
    assert _codes(cli, project, _CLASS.format(test="self.looped"), run=maker) == codes


def test_a_kept_switch_is_off_where_one_of_its_parts_is(cli: Cli, project: Path) -> None:
    text = _CLASS.format(test="self.looped").replace(
        "= looped", "= looped and torch.cuda.is_available()"
    )
    assert _codes(cli, project, text, run="model.Layer(1, False)") == []


def test_what_only_such_an_arm_calls_is_not_told_either(cli: Cli, project: Path) -> None:
    text = _CLASS.format(test="self.looped").replace(
        "links = links + torch.eye(links.size(0)).to(links.device)",
        "links = self.closed(links)",
    )
    text += """
    def closed(self, links):
        return links + torch.ones(2, dtype=torch.float64, device="mps")
"""
    assert _codes(cli, project, text, run="model.Layer(1)") == []
    assert _codes(cli, project, text, run="model.Layer(1, True)") == ["MPS401"]


def test_a_switch_that_somebody_sets_on_the_object_is_open(cli: Cli, project: Path) -> None:
    calls = {"run": "model.Layer(1)\nresult.looped = True"}
    assert _codes(cli, project, _CLASS.format(test="self.looped"), **calls) == ["MPS310"]


_HANDED_ON = """make(1, {given})


def make(width, **more):
    return model.Layer(width, **more)
"""


@pytest.mark.parametrize(
    ("given", "codes"),
    [
        ("depth=1", []),
        ("looped=True", ["MPS310"]),
        ("**{'looped': True}", ["MPS310"]),
        ("**read('--looped')", ["MPS310"]),
        ("**read('model.looped=1')", ["MPS310"]),
        ("**read('is the layer looped')", []),
    ],
)
def test_what_is_handed_on_by_name_is_what_somebody_names(
    cli: Cli, project: Path, given: str, codes: list[str]
) -> None:
    maker = _HANDED_ON.format(given=given)
    assert _codes(cli, project, _CLASS.format(test="self.looped"), run=maker) == codes


def test_a_settings_file_may_name_what_is_handed_on(cli: Cli, project: Path) -> None:
    (project / "settings.yaml").write_text("looped: true\n")
    maker = _HANDED_ON.format(given="depth=1")
    assert _codes(cli, project, _CLASS.format(test="self.looped"), run=maker) == ["MPS310"]


@pytest.mark.parametrize(
    ("base", "codes"), [("object", []), ("model.Layer", ["MPS310"]), ("torch.nn.Module", [])]
)
def test_what_another_class_keeps_under_the_same_name_is_its_own(
    cli: Cli, project: Path, base: str, codes: list[str]
) -> None:
    other = f"import model\nimport torch\n\n\nclass Other({base}):\n"
    other += "    def start(self):\n        self.looped = True\n"
    (project / "other.py").write_text(other)
    assert _codes(cli, project, _CLASS.format(test="self.looped"), run="model.Layer(1)") == codes


_CLOSED = _CLASS.replace("self.looped = looped", "self.looped = False").format(test="self.looped")


def test_an_arm_below_an_attribute_that_is_false_for_ever_is_not_told(
    cli: Cli, project: Path
) -> None:
    assert _codes(cli, project, _CLOSED, run="model.Layer(1)") == []


@pytest.mark.parametrize(
    "call",
    [
        "model.Layer(1)\nresult.looped = True",
        "model.Layer(1)\nsetattr(result, 'looped', True)",
        "model.Layer(1)\nvars(result).update(looped=True)",
    ],
)
def test_an_arm_below_an_attribute_that_somebody_sets_is_told(
    cli: Cli, project: Path, call: str
) -> None:
    assert _codes(cli, project, _CLOSED, run=call) == ["MPS310"]


def test_an_arm_below_an_attribute_of_which_a_page_tells_is_told(cli: Cli, project: Path) -> None:
    (project / "usage.md").write_text("Set `layer.looped = True` for links to itself.\n")
    assert _codes(cli, project, _CLOSED, run="model.Layer(1)") == ["MPS310"]


def test_an_arm_below_an_attribute_that_a_library_sets_is_told(cli: Cli, project: Path) -> None:
    closed = _CLOSED.replace("looped", "gradient_checkpointing")
    assert _codes(cli, project, closed, run="model.Layer(1)") == ["MPS310"]


def test_an_arm_below_an_attribute_that_any_text_may_name_is_told(cli: Cli, project: Path) -> None:
    text = _CLOSED + "\n    def fill(self, **more):\n        self.__dict__.update(more)\n"
    assert _codes(cli, project, text, run="model.Layer(1)") == ["MPS310"]


_USER = """
import model


def train():
    return model.fit(1, 2)


def check():
    return model.fit(1, 2, precise=True)


print({used})
"""


@pytest.mark.parametrize(("used", "codes"), [("train()", []), ("train(), check()", ["MPS401"])])
def test_a_call_in_a_leftover_opens_nothing(
    cli: Cli, project: Path, used: str, codes: list[str]
) -> None:
    (project / "user.py").write_text(_USER.format(used=used))
    assert _codes(cli, project, _FUNCTION) == codes


_INNER = """
import torch


def pooled(x, shape):
    def pool(x, kind="mean"):
        if kind == "mean":
            return x.mean()
        elif kind == "max":
            return x + torch.ones(2, dtype=torch.float64, device="mps")

    {use}
    return pool(x)
"""


def test_an_arm_of_an_inner_function_that_no_call_of_it_opens_is_not_told(
    cli: Cli, project: Path
) -> None:
    assert _codes(cli, project, _INNER.format(use="print(pool(x, 'mean'))")) == []


@pytest.mark.parametrize(
    "use",
    ["print(pool(x, 'max'))", "print(pool(x, shape))", "print(map(pool, x))", "print(pool(*x))"],
)
def test_an_arm_of_an_inner_function_that_somebody_may_open_is_told(
    cli: Cli, project: Path, use: str
) -> None:
    assert _codes(cli, project, _INNER.format(use=use)) == ["MPS401"]


_LATER = """
import torch


class Other:
    def begin(self):
        self.training_mode = True


class Model:
    def initialize(self, path, training_mode=False):
        self.path = path
        self.training_mode = training_mode

    def start(self):
        if self.training_mode:
            return Ranking()
        return torch.ones(2)


class Ranking:
    def __init__(self):
        self.weight = torch.ones(2, dtype=torch.float64, device="mps")
"""


@pytest.mark.parametrize(("given", "codes"), [("3", []), ("3, True", ["MPS401"])])
def test_what_another_method_than_the_constructor_keeps_is_what_its_calls_give(
    cli: Cli, project: Path, given: str, codes: list[str]
) -> None:
    call = f"(lambda made: (made.initialize({given}), made.start()))(model.Model())"
    assert _codes(cli, project, _LATER, run=call) == codes


def test_what_a_class_of_the_same_line_sets_may_be_it(cli: Cli, project: Path) -> None:
    derived = _LATER.replace("class Model:", "class Model(Other):")
    call = "(lambda made: (made.initialize(3), made.start()))(model.Model())"
    assert _codes(cli, project, derived, run=call) == ["MPS401"]


_MADE = """
import torch
import model


def build(path, ranked=False):
    if ranked:
        return model.Ranking()
    return model.Plain()
"""
_RANKING = """
import torch


class Plain:
    pass


class Ranking:
    def __init__(self):
        self.weight = torch.ones(2, dtype=torch.float64, device="mps")
"""


@pytest.mark.parametrize(("given", "codes"), [("3", []), ("3, ranked=True", ["MPS401"])])
def test_a_class_that_only_a_closed_arm_of_another_file_makes_is_made_by_nobody(
    cli: Cli, project: Path, given: str, codes: list[str]
) -> None:
    (project / "making.py").write_text(_MADE)
    (project / "run.py").write_text(f"import making\n\nprint(making.build({given}))\n")
    assert _codes(cli, project, _RANKING) == codes


def test_who_asks_where_a_function_is_written_does_not_call_it(cli: Cli, project: Path) -> None:
    (project / "where.py").write_text(
        "import inspect\nimport model\n\nprint(inspect.getfile(model.fit))\n"
    )
    assert _codes(cli, project, _FUNCTION, run="model.fit(1, 2)") == []
