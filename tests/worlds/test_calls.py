"""What a call gives back, by world: helpers, constants as arguments, classes, attributes."""

# ruff: noqa: E501 - programs stand on one line, that tables of them can be read

from __future__ import annotations

import pytest

from .conftest import ASKED, EVERYWHERE, comes, found, on

CHOSEN = "cuda cuda cpu mps cpu"
"""`"cuda" if torch.cuda.is_available() else "cpu"`."""
FULL = "cuda cuda mps mps cpu"
"""The same with MPS in it."""


@pytest.mark.parametrize(
    "text",
    [
        'device = "cuda" if torch.cuda.is_available() else "cpu"',
        'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")',
        'device = torch.device("cuda") if torch.cuda.is_available() else torch.device("cpu")',
        'device = "cpu" if not torch.cuda.is_available() else "cuda:0"',
        'device = "cpu"\nif torch.cuda.is_available():\n    device = "cuda"',
        'if torch.cuda.is_available():\n    device = "cuda"\nelse:\n    device = "cpu"',
        'device = torch.cuda.is_available() and "cuda" or "cpu"',
        'device = ["cpu", "cuda"][torch.cuda.is_available()]',
        'device = ("cpu", "cuda")[int(torch.cuda.is_available())]',
        'device = {True: "cuda", False: "cpu"}[torch.cuda.is_available()]',
        'name, device = "x", "cuda" if torch.cuda.is_available() else "cpu"',
        'options = {"device": "cuda" if torch.cuda.is_available() else "cpu"}\ndevice = options["device"]',
        'device = torch.device(type="cuda" if torch.cuda.is_available() else "cpu", index=0)',
        'ok = torch.cuda.is_available()\ndevice = f"cuda:{0}" if ok else "cpu"',
        'match torch.cuda.is_available():\n    case True:\n        device = "cuda"\n    case _:\n        device = "cpu"',
        'try:\n    assert torch.cuda.is_available()\n    device = "cuda"\nexcept AssertionError:\n    device = "cpu"',
    ],
)  # fmt: skip
def test_a_choice_of_a_device_is_one_in_any_form(text: str) -> None:
    assert on("device", text) == CHOSEN


@pytest.mark.parametrize(
    "last",
    [
        "    return device, 0",
        "    return (device, 1)",
        "    return [device, len(sys.argv)]",
        "    answer = device, 2\n    return answer",
    ],
)
@pytest.mark.parametrize(
    "use", ["device, rank = pick()", "device = pick()[0]", "device, *rest = pick()"]
)
def test_a_device_that_several_returns_give_beside_something_else_is_followed(
    last: str, use: str
) -> None:
    choice = 'torch.device("cuda:0" if torch.cuda.is_available() else "cpu")'
    text = (
        "import os, sys\n\ndef pick():\n"
        f'    if "RANK" not in os.environ:\n        return {choice}, 0\n'
        f"    device = {choice}\n{last}\n\n{use}"
    )
    assert on("device", text) == CHOSEN


@pytest.mark.parametrize(
    ("given", "machines"),
    [
        ('not args.plain and device.type == "cuda"', "CUDA|GPUS"),
        ("args.amp", "CUDA?|GPUS?|MAC?|PORTED?|CPU?"),
    ],
)
def test_a_flag_that_one_caller_sets_is_as_it_is_by_default_for_the_others(
    given: str, machines: str
) -> None:
    program = (
        "def run(x, train, amp=False):\n    if amp:\n        torch.cuda.synchronize()  # here\n\n"
        "def main(args):\n"
        '    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
        f"    amp = {given}\n"
        "    run(1, True, amp=amp)\n    run(1, False)\n"
    )
    assert comes(program) == machines


@pytest.mark.parametrize(
    "text",
    [
        'def pick():\n    return "cuda" if torch.cuda.is_available() else "cpu"\n\ndevice = pick()',
        'def pick():\n    if torch.cuda.is_available():\n        return "cuda"\n    return "cpu"\n\ndevice = pick()',
        'def pick(on=torch.cuda.is_available()):\n    return "cuda" if on else "cpu"\n\ndevice = pick()',
        'def pick(name):\n    return name if torch.cuda.is_available() else "cpu"\n\ndevice = pick("cuda")',
        'def pick(ok):\n    return "cuda" if ok else "cpu"\n\ndevice = pick(torch.cuda.is_available())',
        'def has():\n    return torch.cuda.is_available()\n\ndef pick():\n    return "cuda" if has() else "cpu"\n\ndevice = pick()',
        'pick = lambda: "cuda" if torch.cuda.is_available() else "cpu"\ndevice = pick()',
        'class Config:\n    device = "cuda" if torch.cuda.is_available() else "cpu"\n\ndevice = Config.device',
        'class Config:\n    device = "cuda" if torch.cuda.is_available() else "cpu"\n\ndevice = Config().device',
        'class Config:\n    def __init__(self):\n        self.device = "cuda" if torch.cuda.is_available() else "cpu"\n\ndevice = Config().device',
        'class Config:\n    @property\n    def device(self):\n        return "cuda" if torch.cuda.is_available() else "cpu"\n\ndevice = Config().device',
        'class Config:\n    @staticmethod\n    def pick():\n        return "cuda" if torch.cuda.is_available() else "cpu"\n\ndevice = Config.pick()',
        'class Config:\n    @classmethod\n    def pick(cls):\n        return "cuda" if torch.cuda.is_available() else "cpu"\n\ndevice = Config.pick()',
        'class Base:\n    def __init__(self):\n        self.device = "cuda" if torch.cuda.is_available() else "cpu"\n\nclass Config(Base):\n    pass\n\ndevice = Config().device',
        'class Base:\n    def pick(self):\n        return "cuda" if torch.cuda.is_available() else "cpu"\n\nclass Config(Base):\n    def pick(self):\n        return super().pick()\n\ndevice = Config().pick()',
        'import functools\n\ndef pick(first):\n    return first if torch.cuda.is_available() else "cpu"\n\nchoose = functools.partial(pick, "cuda")\ndevice = choose()',
        'import functools\n\n@functools.lru_cache\ndef pick():\n    return "cuda" if torch.cuda.is_available() else "cpu"\n\ndevice = pick()',
        'def pick():\n    device = "cpu"\n    if torch.cuda.is_available():\n        device = "cuda"\n    return torch.device(device)\n\ndevice = pick()',
        'def pick():\n    return ("cuda", 1) if torch.cuda.is_available() else ("cpu", 2)\n\ndevice, _ = pick()',
        'def pick():\n    return {"device": "cuda" if torch.cuda.is_available() else "cpu"}\n\ndevice = pick()["device"]',
        'from types import SimpleNamespace\nconfig = SimpleNamespace(device="cuda" if torch.cuda.is_available() else "cpu")\ndevice = config.device',
        'def outer():\n    def pick():\n        return "cuda" if torch.cuda.is_available() else "cpu"\n    return pick()\n\ndevice = outer()',
        'def pick():\n    global chosen\n    chosen = "cuda" if torch.cuda.is_available() else "cpu"\n\npick()\ndevice = chosen',
    ],
)  # fmt: skip
def test_a_choice_of_a_device_comes_back_from_any_call(text: str) -> None:
    assert on("device", text) == CHOSEN


@pytest.mark.parametrize(
    "text",
    [
        'if torch.cuda.is_available():\n    device = "cuda"\nelif torch.backends.mps.is_available():\n    device = "mps"\nelse:\n    device = "cpu"',
        'device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"',
        'device = "cpu"\nif torch.cuda.is_available():\n    device = "cuda"\nif torch.backends.mps.is_available():\n    device = "mps"',
        'def pick():\n    if torch.backends.mps.is_available():\n        return "mps"\n    if torch.cuda.is_available():\n        return "cuda"\n    return "cpu"\n\ndevice = pick()',
        'device = next(name for name, ok in [("cuda", torch.cuda.is_available()), ("mps", torch.backends.mps.is_available()), ("cpu", True)] if ok)',
        'device = torch.accelerator.current_accelerator() or torch.device("cpu")',
    ],
)  # fmt: skip
def test_a_choice_that_knows_mps_gives_it_to_a_mac(text: str) -> None:
    assert on("device", text) in (FULL, "? ? ? ? ?", "- - - - -")
    assert found(text + "\nx = torch.zeros(3, device=device)\n", "MPS101", "MPS103") == []


def test_an_argument_that_differs_by_caller_is_told_apart() -> None:
    text = """
        def pick(name):
            return torch.device(name)

        first, second = pick("cpu"), pick("cuda")
    """
    assert on("first", text) == "cpu cpu cpu cpu cpu"
    assert on("second", text) == "cuda cuda cuda cuda cuda"


def test_a_constant_argument_decides_in_the_helper() -> None:
    text = """
        def pick(gpu):
            if gpu:
                return "cuda"
            return "cpu"

        device = pick(False)
    """
    assert on("device", text) == "cpu cpu cpu cpu cpu"


def test_attributes_of_two_classes_are_two() -> None:
    text = """
        class First:
            def __init__(self):
                self.ok = torch.cuda.is_available()

        class Second:
            def __init__(self):
                self.ok = True

            def run(self):
                if self.ok:
                    torch.zeros(3)  # here
    """
    assert comes(text).replace("?", "") == EVERYWHERE


def test_an_attribute_that_a_method_sets_is_known_in_another() -> None:
    text = """
        class Trainer:
            def __init__(self):
                self.ok = torch.cuda.is_available()

            def run(self):
                if self.ok:
                    torch.zeros(3)  # here
    """
    assert comes(text) == ASKED


def test_an_attribute_that_another_object_may_set_is_not_certain() -> None:
    text = """
        class Trainer:
            def __init__(self, ok):
                self.ok = ok

            def run(self):
                if self.ok:
                    torch.zeros(3)  # here
    """
    assert comes(text).replace("?", "") == EVERYWHERE


def test_recursion_ends() -> None:
    text = """
        def pick(n):
            if n == 0:
                return "cuda" if torch.cuda.is_available() else "cpu"
            return pick(n - 1)

        device = pick(3)
    """
    assert on("device", text).split()[0] in ("cuda", "-", "?")


def test_functions_that_call_each_other_end() -> None:
    text = """
        def even(n):
            return torch.zeros(1) if n == 0 else odd(n - 1)

        def odd(n):
            return torch.ones(1) if n == 0 else even(n - 1)

        x = even(4)
        work()  # here
    """
    assert comes(text) == EVERYWHERE


def test_a_helper_moves_what_it_is_given() -> None:
    text = """
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

        def to_device(x):
            return x.to(device)

        x = to_device(torch.zeros(3))
    """
    assert on("x", text) == CHOSEN


def test_a_helper_that_gives_back_its_argument_gives_it_as_it_was() -> None:
    text = """
        def check(x):
            torch.manual_seed(0)
            return x

        x = check(torch.zeros(3))
    """
    assert on("x", text) == "cpu cpu cpu cpu cpu"


def test_a_model_is_where_its_module_was_moved() -> None:
    text = """
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = torch.nn.Linear(3, 3).to(device)
        y = model(torch.zeros(1, 3).to(device))
    """
    assert on("model", text) == CHOSEN
    assert on("y", text) == CHOSEN


def test_a_module_moves_in_place() -> None:
    text = (
        'model = torch.nn.Linear(3, 3)\nmodel.to("cpu" if unknown() else "mps")\nmodel.to("mps")\n'
    )
    assert on("model", text).split()[2] == "mps"


def test_a_tensor_does_not_move_in_place() -> None:
    assert on("x", 'x = torch.zeros(3)\nx.to("mps")\n') == "cpu cpu cpu cpu cpu"


def test_a_tensor_made_like_another_is_beside_it() -> None:
    text = """
        x = torch.zeros(3, device="cuda" if torch.cuda.is_available() else "cpu")
        y = torch.ones_like(x)
        z = x.new_zeros(3)
        w = (x + 1).sum()
    """
    for name in "yzw":
        assert on(name, text) == CHOSEN


def test_a_tensor_that_is_copied_to_the_host_is_there() -> None:
    text = """
        x = torch.zeros(3, device="cuda" if torch.cuda.is_available() else "cpu")
        y = x.cpu()
        z = x.to("cpu")
    """
    assert on("y", text) == on("z", text) == "cpu cpu cpu cpu cpu"


def test_what_follows_a_device_that_breaks_is_judged_as_if_it_had_been_mended() -> None:
    text = 'x = torch.zeros(3, device="cuda")\ny = x + 1\n'
    assert on("y", text) == FULL


def test_a_device_of_a_tensor_is_where_the_tensor_is() -> None:
    text = """
        x = torch.zeros(3).to("cuda" if torch.cuda.is_available() else "cpu")
        device = x.device
        kind = x.device.type
    """
    assert on("device", text) == on("kind", text) == CHOSEN


def test_a_function_that_returns_no_device_where_there_is_none_returns_nothing() -> None:
    text = """
        def pick():
            if torch.cuda.is_available():
                return torch.device("cuda")

        device = pick()
    """
    assert on("device", text).split()[0] == "cuda"
    assert on("device", text).split()[2] == "-"


def test_what_one_caller_gives_is_not_given_where_only_another_comes() -> None:
    text = """
        def run(device):
            return torch.zeros(3, device=device)

        def on_cpu():
            run("cpu")

        def on_several():
            if torch.cuda.device_count() > 1:
                run("cuda")
    """
    assert found(text, "MPS101") == []
    assert found(text.replace("if torch.cuda.device_count() > 1:", "if True:"), "MPS101")


def test_a_trial_below_the_test_of_the_name_is_not_all_that_a_class_is_for() -> None:
    text = """
        class Layer:
            def place(self, x):
                return x.cuda()  # here

        if __name__ == "__main__":
            torch.distributed.init_process_group("nccl")
            Layer().place(torch.ones(2))
    """
    assert found(text.replace("Layer().place", "layer = Layer(); print"), "MPS102")


def test_mixed_precision_behind_a_refusal_is_told_of_as_well() -> None:
    text = """
        def main():
            assert torch.cuda.is_available()
            step()

        def step():
            with torch.autocast("cuda"):
                pass

        main()
    """
    assert found(text, "MPS208")
    assert not found(
        text.replace("assert torch", "if torch").replace(
            "()\n            step", "():\n                step"
        ),
        "MPS208",
    )
