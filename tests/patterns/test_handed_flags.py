"""A flag for CUDA that functions hand on becomes the device that it stands for, all the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

HARM = Path(__file__).parents[2] / "fixtures" / "harm"


def program(name: str) -> str:
    return (HARM / name / "main.py").read_text()


def fixed(text: str) -> str:
    return fix_source(SourceFile("main.py", text.encode()), Settings()).text


def test_a_flag_that_a_function_is_handed_becomes_the_device() -> None:
    text = fixed(program("flag_handed_on"))
    assert "def as_tensor(values, device):\n" in text
    assert "    tensor = tensor.to(device)\n    return tensor\n" in text
    assert "if use_cuda:\n        tensor" not in text
    assert "as_tensor([[1.0, 2.0]], device)" in text


def test_a_flag_is_followed_through_functions_and_by_its_name() -> None:
    text = fixed(program("flag_handed_on"))
    assert "def evaluate(model, batches, device):\n" in text
    assert "x, y = to_var(x, device), to_var(y, device=device)\n" in text
    assert "evaluate(model, batches, device))" in text


def test_what_is_returned_there_or_here_is_returned_once() -> None:
    text = fixed(program("flag_handed_on"))
    assert 'def to_var(x, device="cpu"):\n    return x.to(device)\n\n\n' in text


def test_the_selection_asks_the_user_and_stands_behind_the_flag() -> None:
    text = fixed(program("flag_handed_on"))
    flag = text.index("use_cuda = not args.no_cuda and torch.cuda.is_available()\n")
    assert text[flag:].splitlines()[1:5] == [
        "    if use_cuda:",
        '        device = torch.device("cuda")',
        "    elif not args.no_cuda and torch.backends.mps.is_available():",
        '        device = torch.device("mps")',
    ]


def test_what_objects_keep_of_a_flag_they_keep_of_the_device() -> None:
    text = fixed(program("flag_kept_by_objects"))
    assert "    def __init__(self, hidden, device):\n" in text
    assert "        self.device = device\n" in text
    assert "        h = h.to(self.device)\n        return h\n" in text
    assert "net = Net(3, device)\nnet = net.to(device)\n" in text


def test_a_default_that_is_the_flag_is_the_device_and_the_flag_goes() -> None:
    text = fixed(program("flag_kept_by_objects"))
    assert "def batch(n, device=device):\n" in text
    assert "cuda =" not in text


def test_options_that_hold_a_flag_hold_the_device_beside_it() -> None:
    text = fixed(program("flag_in_options"))
    assert "        data, target = data.to(args.device), target.to(args.device)\n" in text
    assert "    model.to(args.device)\n" in text
    assert '        args.device = torch.device("mps")\n' in text
    assert "    if args.cuda:\n        torch.cuda.manual_seed(3)\n" in text


def test_a_class_that_asks_the_machine_itself_keeps_the_device() -> None:
    text = fixed(program("flag_of_a_class"))
    assert "        elif use_cuda and torch.backends.mps.is_available():\n" in text
    assert "        x = x.to(self.device)\n" in text
    assert "        self.net.to(self.device)\n" in text


CALLER = """
import torch
from torch import nn


def as_tensor(x, use_cuda{default}):
    x = torch.tensor(x)
    {before}
    if use_cuda:
        x = x.cuda()
    return x


def main():
    use_cuda = torch.cuda.is_available()
    net = nn.Linear(2, 1)
    if use_cuda:
        net = net.cuda()
    print(net({call}))


if __name__ == "__main__":
    main()
"""
CALL = "as_tensor([1.0, 2.0], use_cuda)"


def called(call: str = CALL, before: str = "x = x + 1", default: str = "") -> str:
    return CALLER.format(call=call, before=before, default=default)


def test_a_flag_of_such_a_function_is_handed_on_as_a_device() -> None:
    assert "as_tensor([1.0, 2.0], device)" in fixed(called())


def test_who_always_wants_cuda_gives_the_device() -> None:
    assert "as_tensor([1.0, 2.0], device)" in fixed(called("as_tensor([1.0, 2.0], True)"))


@pytest.mark.parametrize(
    ("call", "before", "default"),
    [
        pytest.param(CALL, "count = 2 if use_cuda else 1", "", id="it decides something else"),
        pytest.param(CALL, "device = x.device", "", id="the name is taken"),
        pytest.param(CALL, "register(as_tensor)", "", id="the function is handed out"),
        pytest.param("as_tensor(*given())", "x = x + 1", "", id="the call says nothing"),
        pytest.param("as_tensor([1.0, 2.0], False)", "x = x + 1", "", id="never"),
        pytest.param("as_tensor([1.0, 2.0])", "x = x + 1", "=True", id="left to a default"),
        pytest.param(CALL, "send(x, use_cuda)", "", id="a function of elsewhere gets it"),
    ],
)
def test_a_flag_that_cannot_be_followed_stays(call: str, before: str, default: str) -> None:
    text = called(call, before, default)
    after = fixed(text)
    assert "def as_tensor(x, use_cuda" in after
    assert "x = x.to(device)\n    return x" not in after


def test_a_function_whose_text_speaks_of_the_flag_keeps_it() -> None:
    text = called(before='"""As a tensor; on the GPU with use_cuda."""').replace(
        "    x = torch.tensor(x)\n", "", 1
    )
    assert "def as_tensor(x, use_cuda" in fixed(text)


def test_options_that_are_written_down_get_no_device() -> None:
    text = program("flag_in_options").replace("def main", "print(vars)\n\n\ndef main")
    text = text.replace("print(vars)", "def save(args):\n    print(vars(args))")
    assert "args.device" not in fixed(text)


def test_options_that_have_a_device_keep_theirs() -> None:
    text = program("flag_in_options").replace(
        '"--steps"', '"--device")\n    parser.add_argument("--steps"'
    )
    assert "args.device =" not in fixed(text)


def test_a_class_that_has_a_device_keeps_its_own() -> None:
    text = program("flag_of_a_class").replace(
        "    def step", "    @property\n    def device(self):\n        return 0\n\n    def step"
    )
    assert "self.device = " not in fixed(text)


def test_a_flag_that_a_text_names_stays_where_it_is() -> None:
    text = program("flag_kept_by_objects")
    assert "self.device" in fixed(text)
    assert "self.device" not in fixed(f'{text}print(getattr(net, "use_cuda"))\n')


def test_an_annotated_flag_is_an_annotated_device() -> None:
    text = program("flag_handed_on").replace("use_gpu=False", "use_gpu: bool = False")
    assert 'def to_var(x, device: torch.device = torch.device("cpu")):\n' in fixed(text)


def test_a_method_that_a_class_below_has_as_well_keeps_its_flag() -> None:
    text = """
import torch
from torch import nn


class Agent:
    def act(self, x, use_cuda):
        if use_cuda:
            x = x.cuda()
        return x

    def run(self):
        return self.act(torch.ones(2), torch.cuda.is_available())
"""
    below = """

class Other(Agent):
    def act(self, x, use_cuda):
        return x
"""
    assert "def act(self, x, device):" in fixed(text)
    assert "def act(self, x, device):" not in fixed(text + below)


def test_options_that_others_may_make_get_no_device(tmp_path: Path) -> None:
    from mpslint.project.project import Project

    path = tmp_path / "train.py"
    (tmp_path / ".git").mkdir()
    path.write_text(program("flag_in_options"))
    settings = Settings(root=str(tmp_path))
    alone = fix_source(
        SourceFile(str(path), path.read_bytes()), settings, elsewhere=Project(settings)
    )
    assert "args.device" in alone.text
    (tmp_path / "sweep.py").write_text("from train import train\n\ntrain(options(), model())\n")
    imported = fix_source(
        SourceFile(str(path), path.read_bytes()), settings, elsewhere=Project(settings)
    )
    assert "args.device" not in imported.text


def test_a_function_that_asks_the_machine_beside_its_flag_selects_at_its_top() -> None:
    lines = fixed(program("flag_with_default")).splitlines()
    top = lines.index("def train(net, steps, use_cuda=True):")
    assert lines[top + 2 : top + 6] == [
        "    if use_cuda and torch.cuda.is_available():",
        '        device = torch.device("cuda")',
        "    elif use_cuda and torch.backends.mps.is_available():",
        '        device = torch.device("mps")',
    ]
    assert "    net.to(device)" in lines
    assert "        x = x.to(device)" in lines


def test_a_function_that_asks_in_two_ways_gets_no_selection() -> None:
    text = program("flag_with_default")
    at = text.rindex("if use_cuda and")
    other = text[:at] + text[at:].replace("if use_cuda and", "if use_cuda and steps > 1 and", 1)
    assert "device = torch.device(" not in fixed(other)


def test_a_flag_that_is_set_from_outside_as_well_has_no_device_beside_it() -> None:
    text = program("flag_of_a_class")
    assert "self.device" in fixed(text)
    assert "self.device" not in fixed(f"{text}trainer.use_cuda = False\n")
