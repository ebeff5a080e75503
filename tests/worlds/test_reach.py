"""Which machines come to a line: questions to the machine, branches, loops."""

# ruff: noqa: E501 - programs stand on one line, that tables of them can be read

from __future__ import annotations

import pytest

from .conftest import ASKED, EVERYWHERE, MACS, NOWHERE, NVIDIA, REFUSED, comes, comes_to_call

# questions


@pytest.mark.parametrize(
    ("question", "machines"),
    [
        ("torch.cuda.is_available()", ASKED),
        ("not torch.cuda.is_available()", REFUSED),
        ("not not torch.cuda.is_available()", ASKED),
        ("bool(torch.cuda.is_available())", ASKED),
        ("torch.cuda.is_available() is True", ASKED),
        ("torch.cuda.is_available() == False", REFUSED),
        ("torch.cuda.is_available() != True", REFUSED),
        ("torch.cuda.device_count()", ASKED),
        ("torch.cuda.device_count() > 0", ASKED),
        ("torch.cuda.device_count() >= 1", ASKED),
        ("0 < torch.cuda.device_count()", ASKED),
        ("torch.cuda.device_count() == 0", REFUSED),
        ("torch.cuda.device_count() < 1", REFUSED),
        ("torch.cuda.device_count() > 1", "GPUS"),
        ("torch.cuda.device_count() >= 2", "GPUS"),
        ("1 < torch.cuda.device_count()", "GPUS"),
        ("torch.cuda.device_count() <= 1", "CUDA|MAC|PORTED|CPU"),
        ("torch.cuda.device_count() != 0", ASKED),
        ("torch.version.cuda is not None", ASKED),
        ("torch.version.cuda", ASKED),
        ("torch.version.hip is not None", "CUDA|GPUS|CPU"),
        ("torch.backends.mps.is_available()", MACS),
        ("torch.mps.is_available()", MACS),
        ("torch.accelerator.is_available()", "CUDA|GPUS|MAC|PORTED"),
        ("torch.cuda.is_available() or torch.backends.mps.is_available()", "CUDA|GPUS|MAC|PORTED"),
        ("torch.cuda.is_available() and unknown()", ASKED),
        ("not (torch.cuda.is_available() and unknown())", EVERYWHERE),
        ("torch.cuda.is_available() or unknown()", EVERYWHERE),
        ("not torch.cuda.is_available() and not torch.backends.mps.is_available()", "CPU"),
        ("any([torch.cuda.is_available(), torch.backends.mps.is_available()])", "CUDA|GPUS|MAC|PORTED"),
        ("all([torch.cuda.is_available(), torch.cuda.device_count() > 1])", "GPUS"),
        ("torch.distributed.is_nccl_available()", NVIDIA),
        ("unknown()", EVERYWHERE),
        ("True", EVERYWHERE),
        ("None", NOWHERE),
        ("0 < torch.cuda.device_count() < 2", "CUDA|PORTED"),
    ],
)  # fmt: skip
def test_a_question_lets_in_the_machines_that_answer_yes(question: str, machines: str) -> None:
    assert comes(f"if {question}:\n    work()  # here\n") == machines


@pytest.mark.parametrize(
    ("question", "machines"),
    [
        ('sys.platform == "darwin"', MACS),
        ('sys.platform != "darwin"', f"{NVIDIA}|CPU"),
        ('platform.system() == "Linux"', f"{NVIDIA}|CPU"),
        ('platform.system() == "Darwin"', MACS),
        ('sys.platform.startswith("darwin")', MACS),
        ('sys.platform in ("darwin", "win32")', EVERYWHERE),
        ('os.name == "nt"', f"{NVIDIA}|CPU"),
    ],
)
def test_a_question_to_the_system_lets_in_the_machines_that_have_it(
    question: str, machines: str
) -> None:
    text = f"import os\nimport platform\nimport sys\n\nif {question}:\n    work()  # here\n"
    assert comes(text) == machines


@pytest.mark.parametrize(
    "bound",
    [
        "from torch import cuda\nok = cuda.is_available()",
        "from torch.cuda import is_available\nok = is_available()",
        "from torch.cuda import is_available as has_gpu\nok = has_gpu()",
        "import torch as th\nok = th.cuda.is_available()",
        "import torch.cuda\nok = torch.cuda.is_available()",
        "ask = torch.cuda.is_available\nok = ask()",
        "ok = False\nif torch.cuda.is_available():\n    ok = True",
        "ok = True if torch.cuda.is_available() else False",
        "ok: bool = torch.cuda.is_available()",
        "flags = {'gpu': torch.cuda.is_available()}\nok = flags['gpu']",
        "ok, name = torch.cuda.is_available(), 'x'",
        "ok = a = torch.cuda.is_available()",
        "ask = lambda: torch.cuda.is_available()\nok = ask()",
        "def ask():\n    return torch.cuda.is_available()\n\nok = ask()",
        "class Machine:\n    gpu = torch.cuda.is_available()\n\nok = Machine.gpu",
        "count = torch.cuda.device_count()\nok = count > 0",
        "ok = unknown()\nok = ok and torch.cuda.is_available()",
        "ok = unknown()\nok &= torch.cuda.is_available()",
        "ok = getattr(torch.cuda, 'is_available')()",
        "import functools\nask = functools.partial(torch.cuda.is_available)\nok = ask()",
    ],
)
def test_a_question_is_known_by_any_name(bound: str) -> None:
    assert comes(f"{bound}\nif ok:\n    work()  # here\n") == ASKED


def test_a_walrus_keeps_the_answer() -> None:
    text = "if (ok := torch.cuda.is_available()):\n    pass\nif ok:\n    work()  # here\n"
    assert comes(text) == ASKED


# branches


def test_the_else_arm_is_what_the_test_leaves() -> None:
    text = "if torch.cuda.is_available():\n    pass\nelse:\n    work()  # here\n"
    assert comes(text) == REFUSED


def test_an_elif_is_asked_of_the_machines_that_the_first_test_left() -> None:
    text = """
        if torch.cuda.is_available():
            pass
        elif torch.backends.mps.is_available():
            work()  # here
    """
    assert comes(text) == "MAC"


def test_the_else_of_a_whole_chain_is_for_machines_without_a_gpu() -> None:
    text = """
        if torch.cuda.is_available():
            pass
        elif torch.backends.mps.is_available():
            pass
        else:
            work()  # here
    """
    assert comes(text) == "CPU"


def test_what_follows_a_branch_is_reached_by_all() -> None:
    assert comes("if torch.cuda.is_available():\n    pass\nwork()  # here\n") == EVERYWHERE


def test_a_nested_test_narrows_the_outer_one() -> None:
    text = """
        if torch.cuda.is_available():
            if torch.cuda.device_count() > 1:
                work()  # here
    """
    assert comes(text) == "GPUS"


def test_the_arms_of_a_conditional_expression_are_reached_as_those_of_an_if() -> None:
    assert (
        comes_to_call("x = work() if torch.cuda.is_available() else None  # here\n") == EVERYWHERE
    )
    text = "x = (\n    None\n    if not torch.cuda.is_available()\n    else work()  # here\n)\n"
    assert comes_to_call(text) == ASKED


def test_the_right_side_of_and_is_reached_where_the_left_holds() -> None:
    text = "x = (\n    torch.cuda.is_available()\n    and work()  # here\n)\n"
    assert comes_to_call(text) == ASKED


def test_the_right_side_of_or_is_reached_where_the_left_fails() -> None:
    text = "x = (\n    torch.cuda.is_available()\n    or work()  # here\n)\n"
    assert comes_to_call(text) == REFUSED


def test_the_right_side_of_and_in_a_test_is_reached_where_the_left_holds() -> None:
    text = "if (\n    torch.cuda.is_available()\n    and work()  # here\n):\n    pass\n"
    assert comes_to_call(text) == ASKED


# loops


def test_a_loop_over_the_gpus_has_a_turn_where_there_are_some() -> None:
    text = "for i in range(torch.cuda.device_count()):\n    work(i)  # here\n"
    assert comes(text) == ASKED


def test_a_comprehension_over_the_gpus_has_a_turn_where_there_are_some() -> None:
    text = "names = [\n    work(i)  # here\n    for i in range(torch.cuda.device_count())\n]\n"
    assert comes_to_call(text) == ASKED


def test_a_condition_of_a_comprehension_lets_in_as_an_if_does() -> None:
    text = (
        "names = [\n    work(i)  # here\n    for i in items\n    if torch.cuda.is_available()\n]\n"
    )
    assert comes_to_call(text) == ASKED


def test_what_follows_a_loop_is_reached_by_all() -> None:
    text = "for i in range(torch.cuda.device_count()):\n    pass\nwork()  # here\n"
    assert comes(text) == EVERYWHERE


def test_a_continue_leaves_the_rest_of_the_turn_alone() -> None:
    text = """
        for x in batches:
            if not torch.cuda.is_available():
                continue
            work(x)  # here
    """
    assert comes(text) == ASKED


def test_what_follows_a_loop_with_continue_is_reached_by_all() -> None:
    text = """
        for x in batches:
            if not torch.cuda.is_available():
                continue
            print(x)
        work(x)  # here
    """
    assert comes(text) == EVERYWHERE


def test_a_while_asks_as_an_if_does() -> None:
    text = "while torch.cuda.is_available():\n    work()  # here\n    break\n"
    assert comes(text) == ASKED


def test_the_else_of_a_while_is_for_all_who_stop() -> None:
    text = "while unknown():\n    pass\nelse:\n    work()  # here\n"
    assert comes(text) == EVERYWHERE


def test_an_endless_loop_that_only_an_exit_leaves_is_followed_by_those_who_break() -> None:
    text = """
        import sys

        while True:
            if torch.cuda.is_available():
                break
            sys.exit("no GPU")
        work()  # here
    """
    assert comes(text) == ASKED


def test_what_a_try_names_of_a_package_for_cuda_is_not_asked_for_again_behind_it() -> None:
    chosen = "if chosen():\n    import xformers\n"
    asked = "try:\n    VERSION = xformers.__version__\nexcept:\n    pass\n"
    assert comes(f"{chosen}{asked}work()  # here\n") == comes(f"{chosen}work()  # here\n")
