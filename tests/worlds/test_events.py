"""What a file does, as events with the worlds in which it happens."""

# ruff: noqa: E501 - programs stand on one line, that tables of them can be read

from __future__ import annotations

import pytest

from mpslint.semantics.worlds.events import Kind

from .conftest import ASKED, EVERYWHERE, NVIDIA, Program, by_machine, found, told

# placing and moving


@pytest.mark.parametrize(
    "use",
    [
        'x = torch.zeros(3, device="cuda")',
        'x = torch.zeros(3).to("cuda")',
        'x = torch.zeros(3).to(device="cuda")',
        'x = torch.zeros(3).to(torch.device("cuda"))',
        'model = torch.nn.Linear(3, 3, device="cuda")',
        'model = torch.nn.Linear(3, 3).to("cuda")',
        'x = torch.zeros(3).new_ones(3, device="cuda")',
        'generator = torch.Generator("cuda")',
        'generator = torch.Generator(device="cuda")',
        'torch.set_default_device("cuda")',
        'x = make(device="cuda")',
        'x = make("cuda")',
        'x = torch.tensor([1.0], device="cuda:0")',
        'x = torch.zeros(3, device=f"cuda:{rank}")',
    ],
)
def test_a_device_places_something(use: str) -> None:
    events = Program(use + "\n").events(Kind.PLACED)
    assert [by_machine(event.value) for event in events] == ["cuda cuda cuda cuda cuda"]
    assert all(event.on_mac for event in events)


@pytest.mark.parametrize(
    "use",
    [
        'print("cuda")',
        'ok = name == "cuda"',
        'ok = "cuda" in name',
        'device = torch.device("cuda:1")\nprint(device)',
        'names = {"cuda": 1}',
        'raise RuntimeError("cuda")',
        'x = torch.zeros(3, device="cpu")',
        'logger.info("cuda")',
    ],
)
def test_a_device_that_is_only_looked_at_places_nothing(use: str) -> None:
    events = Program(use + "\n").events(Kind.PLACED)
    assert not any("cuda" in by_machine(event.value) for event in events)


def test_a_device_of_a_helper_is_placed_where_the_helper_uses_it() -> None:
    text = """
        def place(x, device):
            return x.to(device)

        place(torch.zeros(3), "cuda")
    """
    assert told(text, Kind.PLACED) == [f"return x.to(device): {EVERYWHERE}"]
    assert found(text, "MPS101") == ['MPS101 place(torch.zeros(3), "cuda")']


def test_a_default_counts_only_where_some_caller_leaves_it_out() -> None:
    text = """
        def place(x, device="cuda"):
            return x.to(device)

        place(torch.zeros(3), "cpu")
    """
    assert found(text, "MPS101") == []
    more = "        place(torch.ones(3))\n"
    assert found(text.rstrip(" ") + more, "MPS101") == ['MPS101 def place(x, device="cuda"):']


def test_a_move_happens_where_control_comes() -> None:
    text = "x = torch.zeros(3)\nif torch.cuda.is_available():\n    x = x.cuda()\n"
    assert told(text, Kind.MOVED) == [f"x = x.cuda(): {ASKED}"]


@pytest.mark.parametrize(
    "not_a_move",
    ["torch.cuda", "config.cuda", "cuda()", "def cuda(self): pass", 'numba.cuda.jit("f")'],
)
def test_other_things_called_cuda_move_nothing(not_a_move: str) -> None:
    assert Program(f"import numba\n{not_a_move}\n").events(Kind.MOVED) == []


def test_what_a_try_deals_with_is_caught() -> None:
    text = """
        x = torch.zeros(3)
        try:
            x = x.cuda()
        except AssertionError:
            pass
        x = x.cuda()
    """
    assert [event.caught for event in Program(text).events(Kind.MOVED)] == [True, False]


def test_who_catches_another_error_than_a_mac_raises_deals_with_nothing() -> None:
    text = """
        x = torch.zeros(3)
        try:
            x = x.cuda()
        except RuntimeError:
            pass
    """
    assert [event.caught for event in Program(text).events(Kind.MOVED)] == [False]


def test_what_a_try_raises_again_is_not_caught() -> None:
    text = """
        x = torch.zeros(3)
        try:
            x = x.cuda()
        except AssertionError as error:
            raise SystemExit("no GPU") from error
    """
    assert [event.caught for event in Program(text).events(Kind.MOVED)] == [False]


@pytest.mark.parametrize("again", ["raise", "raise error", "sys.exit(1)", "os._exit(1)"])
def test_an_exception_that_ends_the_program_anyway_is_not_caught(again: str) -> None:
    text = f"""
        import os
        import sys

        x = torch.zeros(3)
        try:
            x = x.cuda()
        except AssertionError as error:
            print(error)
            {again}
    """
    assert [event.caught for event in Program(text).events(Kind.MOVED)] == [False]


@pytest.mark.parametrize(("ending", "caught"), [("sys.exit(1)", False), ("print(x)", True)])
def test_one_that_ends_it_in_a_block_of_its_own_is_not_caught_either(
    ending: str, caught: bool
) -> None:
    text = f"""
        import sys

        x = torch.zeros(3)
        try:
            x = x.cuda()
        except AssertionError:
            with open("log") as file:
                {ending}
    """
    assert [event.caught for event in Program(text).events(Kind.MOVED)] == [caught]


def test_an_exception_that_is_raised_again_on_one_way_is_not_always_caught() -> None:
    text = """
        x = torch.zeros(3)
        try:
            x = x.cuda()
        except AssertionError as error:
            if "out of memory" in str(error):
                print("skipped")
            else:
                raise
    """
    assert [event.caught for event in Program(text).events(Kind.MOVED)] == [False]


def test_suppress_catches_what_a_handler_would() -> None:
    text = """
        import contextlib

        x = torch.zeros(3)
        with contextlib.suppress({}):
            x = x.cuda()
    """
    caught = [
        Program(text.format(kind)).events(Kind.MOVED)[0].caught
        for kind in ("RuntimeError", "Exception", "AssertionError", "KeyError")
    ]
    assert caught == [False, True, True, False]


# effects and twins


EFFECTS = {
    "wait": ("torch.cuda.synchronize()", "torch.mps.synchronize()"),
    "release": ("torch.cuda.empty_cache()", "torch.mps.empty_cache()"),
    "seed": ("torch.cuda.manual_seed_all(0)", "torch.mps.manual_seed(0)"),
}


def twins(text: str) -> list[str]:
    program = Program(text)
    lines = program.text.split("\n")
    return [lines[event.node.lineno - 1].strip() for event in program.worlds.without_twin]  # type: ignore[attr-defined]


@pytest.mark.parametrize("effect", EFFECTS)
def test_an_effect_on_cuda_alone_has_no_twin(effect: str) -> None:
    cuda, _ = EFFECTS[effect]
    assert twins(f"if torch.cuda.is_available():\n    {cuda}\n") == [cuda]


@pytest.mark.parametrize("effect", EFFECTS)
@pytest.mark.parametrize(
    "form",
    [
        "if torch.cuda.is_available():\n    {cuda}\nelif torch.backends.mps.is_available():\n    {mps}\n",
        "if torch.backends.mps.is_available():\n    {mps}\nelif torch.cuda.is_available():\n    {cuda}\n",
        "if torch.backends.mps.is_available():\n    {mps}\nif torch.cuda.is_available():\n    {cuda}\n",
        "if torch.cuda.is_available():\n    {cuda}\nelse:\n    {mps}\n",
        "def tell():\n    if torch.cuda.is_available():\n        {cuda}\n        return\n    {mps}\n",
        "{mps} if torch.backends.mps.is_available() else {cuda}\n",
    ],
)  # fmt: skip
def test_an_effect_that_mps_has_too_in_any_form_has_one(effect: str, form: str) -> None:
    cuda, mps = EFFECTS[effect]
    assert twins(form.format(cuda=cuda, mps=mps)) == []


def test_a_twin_of_another_effect_is_none() -> None:
    text = """
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        elif torch.backends.mps.is_available():
            torch.mps.empty_cache()
    """
    assert twins(text) == ["torch.cuda.synchronize()"]


def test_a_twin_in_another_function_is_none() -> None:
    text = """
        def first():
            if torch.cuda.is_available():
                torch.cuda.synchronize()

        def second():
            if torch.backends.mps.is_available():
                torch.mps.synchronize()
    """
    assert twins(text) == ["torch.cuda.synchronize()"]


def test_a_twin_behind_a_helper_is_one() -> None:
    text = """
        def wait():
            torch.mps.synchronize()

        def run():
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            elif torch.backends.mps.is_available():
                wait()
    """
    assert twins(text) == []


def test_torch_manual_seed_seeds_mps_as_well() -> None:
    assert (
        twins(
            "torch.manual_seed(0)\nif torch.cuda.is_available():\n    torch.cuda.manual_seed_all(0)\n"
        )
        == []
    )


def test_an_effect_of_several_gpus_needs_no_twin() -> None:
    assert twins("if torch.cuda.device_count() > 1:\n    x = torch.zeros(3).cuda()\n") == []


def test_an_effect_under_another_name_is_the_same() -> None:
    text = """
        from torch.cuda import synchronize as wait

        if torch.cuda.is_available():
            wait()
    """
    assert twins(text) == ["wait()"]


def test_a_function_of_torch_in_a_name_is_called_by_it() -> None:
    text = "wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None\nwait()\n"
    assert told(text, Kind.EFFECT) == [f"wait(): {ASKED}"]


# what all events have


CHOICE = 'device = "cuda" if torch.cuda.is_available() else "cpu"\n'


@pytest.mark.parametrize("kind", list(Kind))
def test_an_empty_file_does_nothing(kind: Kind) -> None:
    assert Program("\n").events(kind) == []


def test_an_event_knows_who_comes() -> None:
    text = 'if torch.cuda.is_available():\n    x = torch.zeros(3, device="cuda")\n'
    (event,) = Program(text).events(Kind.PLACED)
    assert (event.on_cuda, event.once_ported) == (True, True)
    assert (event.on_mac, event.on_cpu, event.several_alone, event.cuda_alone) == (False,) * 4


def test_an_event_of_several_gpus_is_theirs_alone() -> None:
    text = 'if torch.cuda.device_count() > 1:\n    x = torch.zeros(3, device="cuda")\n'
    (event,) = Program(text).events(Kind.PLACED)
    assert event.several_alone
    assert event.cuda_alone


def test_nvidia_is_where_a_device_is_cuda() -> None:
    text = CHOICE + 'if device == "cuda":\n    torch.cuda.synchronize()\n'
    assert told(text, Kind.EFFECT) == [f"torch.cuda.synchronize(): {NVIDIA}"]


def test_a_function_sees_what_a_name_of_the_module_is_in_the_end() -> None:
    text = """\
    def noise(shape):
        return torch.exp(Tensor(shape))

    if torch.cuda.is_available():
        torch.cuda.synchronize()
    Tensor = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor
    noise(3)
    """
    assert told(text, Kind.TYPED) == [f"return torch.exp(Tensor(shape)): {ASKED}"]


def test_floats_are_float64_where_that_is_the_default() -> None:
    text = """\
    torch.set_default_dtype({})
    net = torch.nn.Linear(2, 2).to("mps")
    """
    assert len(Program(text.format("torch.float64")).events(Kind.WIDE)) == 1
    assert Program(text.format("torch.float32")).events(Kind.WIDE) == []
