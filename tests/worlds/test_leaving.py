"""Which machines come to a line behind early exits and exceptions."""

from __future__ import annotations

import pytest

from .conftest import ASKED, EVERYWHERE, NOWHERE, NVIDIA, comes

# leaving early


@pytest.mark.parametrize(
    "leaving",
    [
        "raise SystemExit(1)",
        'raise RuntimeError("no GPU")',
        "sys.exit(1)",
        "exit()",
        "quit()",
        "os._exit(1)",
        "assert False",
        'pytest.exit("no GPU")',
    ],
)
def test_who_leaves_does_not_come_further(leaving: str) -> None:
    text = f"""
import os
import sys
import unittest
import pytest

if not torch.cuda.is_available():
    {leaving}
work()  # here
"""
    assert comes(text) == ASKED


def test_an_assertion_lets_on_those_for_whom_it_holds() -> None:
    assert comes('assert torch.cuda.is_available(), "no GPU"\nwork()  # here\n') == ASKED


def test_a_return_ends_a_function_for_those_who_take_it() -> None:
    text = """
        def train():
            if not torch.cuda.is_available():
                return None
            torch.zeros(3)  # here
    """
    assert comes(text) == ASKED


def test_a_return_of_both_arms_leaves_nobody() -> None:
    text = """
        def train():
            if torch.cuda.is_available():
                return 1
            else:
                return 2
            torch.zeros(3)  # here
    """
    assert comes(text) == NOWHERE


@pytest.mark.parametrize("first", ["torch.manual_seed(0)", "print(message)"])
def test_a_helper_that_leaves_ends_its_caller_with_or_without_a_word_of_torch(first: str) -> None:
    text = f"""
        import sys

        def die(message):
            {first}
            sys.exit(1)

        if not torch.cuda.is_available():
            die("no GPU")
        work()  # here
    """
    assert comes(text) == ASKED


def test_a_helper_that_checks_the_machine_checks_it_for_its_caller() -> None:
    text = """
        def check_gpu():
            if not torch.cuda.is_available():
                raise RuntimeError("no GPU")

        check_gpu()
        work()  # here
    """
    assert comes(text) == ASKED


CALLED_BEHIND_A_TEST = """
def train():
    torch.zeros(3)  # here

if torch.cuda.is_available():
    train()
"""


def test_a_function_that_is_only_called_behind_a_test_runs_there_alone() -> None:
    assert comes(CALLED_BEHIND_A_TEST) == ASKED


@pytest.mark.parametrize("more", ["train()", "run(train)"], ids=["called", "handed on"])
def test_a_function_that_is_used_elsewhere_too_runs_everywhere(more: str) -> None:
    assert comes(CALLED_BEHIND_A_TEST + more) == EVERYWHERE


def test_a_function_below_a_module_that_ends_without_cuda_runs_on_cuda_alone() -> None:
    text = """
        import sys

        if not torch.cuda.is_available():
            sys.exit()

        def train():
            torch.zeros(3)  # here
    """
    assert comes(text) == ASKED


def test_a_function_above_such_an_exit_runs_only_when_the_module_has_come_through() -> None:
    text = """
        import sys

        def train():
            torch.zeros(3)  # here

        if not torch.cuda.is_available():
            sys.exit()
        train()
    """
    assert comes(text) == ASKED


def test_an_exit_of_the_main_block_says_nothing_of_functions_that_others_import() -> None:
    text = """
        import sys

        def train():
            torch.zeros(3)  # here

        if __name__ == "__main__":
            if not torch.cuda.is_available():
                sys.exit()
            print("ready")
    """
    assert comes(text) == EVERYWHERE


# exceptions


ASSERTED = "try:\n    assert torch.cuda.is_available()\n"


def test_a_handler_that_goes_on_lets_everybody_on() -> None:
    handled = "except AssertionError:\n    print('slow')\n"
    assert comes(f"{ASSERTED}{handled}work()  # here") == EVERYWHERE


def test_a_handler_that_raises_again_lets_on_only_who_had_no_error() -> None:
    handled = "except AssertionError:\n    raise RuntimeError('no GPU')\n"
    assert comes(f"{ASSERTED}{handled}work()  # here") == ASKED


def test_a_handler_for_something_else_catches_nothing() -> None:
    assert comes(f"{ASSERTED}except KeyError:\n    pass\nwork()  # here") == ASKED


def test_else_of_try_is_for_those_without_an_error() -> None:
    handled = "except AssertionError:\n    pass\n"
    assert comes(f"{ASSERTED}{handled}else:\n    work()  # here") == ASKED


def test_finally_is_for_all() -> None:
    assert comes(f"{ASSERTED}finally:\n    work()  # here") == EVERYWHERE


def test_what_follows_a_suppressed_error_is_reached_by_all() -> None:
    text = """
        import contextlib

        with contextlib.suppress(AssertionError):
            assert torch.cuda.is_available()
        work()  # here
    """
    assert comes(text) == EVERYWHERE


def test_what_follows_a_package_of_cuda_kernels_is_for_cuda() -> None:
    assert comes("import flash_attn\n\nwork()  # here\n") == NVIDIA


IMPORTED = "try:\n    import flash_attn\n"


@pytest.mark.parametrize("error", ["ImportError", "ModuleNotFoundError", "Exception"])
def test_a_package_that_may_be_missing_keeps_nobody_away(error: str) -> None:
    text = f"{IMPORTED}except {error}:\n    flash_attn = None\nwork()  # here"
    assert comes(text) == EVERYWHERE


def test_a_flag_of_a_package_that_may_be_missing_says_where_it_is() -> None:
    flag = "    HAS_FLASH = True\nexcept ImportError:\n    HAS_FLASH = False\n"
    assert comes(f"{IMPORTED}{flag}if HAS_FLASH:\n    work()  # here") == NVIDIA


def test_a_missing_package_that_is_none_says_where_it_is() -> None:
    missing = "except ImportError:\n    flash_attn = None\n"
    used = "if flash_attn is not None:\n    work()  # here"
    assert comes(f"{IMPORTED}{missing}{used}") == NVIDIA


def test_a_package_whose_absence_is_raised_again_is_for_cuda() -> None:
    missing = "except ImportError as error:\n    raise ImportError('pip install') from error\n"
    assert comes(f"{IMPORTED}{missing}work()  # here") == NVIDIA
