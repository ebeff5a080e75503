"""Which machines come to a test: marks, decorators, fixtures, `setUp`, helpers that skip."""

# ruff: noqa: E501 - programs stand on one line, that tables of them can be read

from __future__ import annotations

import pytest

from .conftest import ASKED, EVERYWHERE, NVIDIA, comes

MARKED = """
import unittest
import pytest

{mark}
def test_it():
    torch.zeros(3)  # here
"""


@pytest.mark.parametrize(
    "mark",
    [
        '@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")',
        '@unittest.skipIf(not torch.cuda.is_available(), "needs CUDA")',
        '@unittest.skipUnless(torch.cuda.is_available(), "needs CUDA")',
        '@pytest.mark.skipif(torch.cuda.device_count() == 0, reason="needs CUDA")',
        'needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="x")\n\n@needs_gpu',
        "@requires_cuda",
        "@require_torch_gpu",
        "@skip_if_no_cuda",
        "@RunIf(min_cuda_gpus=1)",
    ],
)
def test_a_mark_that_asks_for_cuda_makes_the_test_cudas_own(mark: str) -> None:
    assert comes(MARKED.format(mark=mark)) == NVIDIA


@pytest.mark.parametrize(
    "mark",
    [
        '@pytest.mark.skipif("RANK" not in os.environ, reason="needs torchrun")',
        '@pytest.mark.skipif(int(os.environ.get("WORLD_SIZE", "1")) < 2, reason="needs torchrun")',
        '@unittest.skipUnless("LOCAL_RANK" in os.environ, "needs torchrun")',
        '@unittest.skipIf(os.getenv("RANK") is None or not torch.cuda.is_available(), "x")',
        'ALONE = os.environ.get("RANK") is None\n\n@pytest.mark.skipif(ALONE, reason="x")',
        '@pytest.mark.skipif(int(os.environ.get("WORLD_SIZE", 1)) != 2, reason="needs torchrun")',
        '@pytest.mark.skipif(int(os.environ.get("WORLD_SIZE", 1)) == 1, reason="needs torchrun")',
        '@pytest.mark.skipif(not 1 < int(os.environ.get("WORLD_SIZE", 1)), reason="x")',
        '@unittest.skipUnless(os.environ.get("WORLD_SIZE", "1") != "1", "needs torchrun")',
        '@pytest.mark.skipif(not os.environ.get("LOCAL_RANK"), reason="needs torchrun")',
    ],
)
def test_a_test_for_the_processes_of_a_launcher_is_for_several_gpus(mark: str) -> None:
    assert comes("import os\n" + MARKED.format(mark=mark)) == NVIDIA


@pytest.mark.parametrize(
    "mark",
    [
        '@pytest.mark.skipif("RANK" in os.environ, reason="for one process")',
        '@pytest.mark.skipif("CI" not in os.environ, reason="slow")',
        '@pytest.mark.skipif(int(os.environ.get("WORLD_SIZE", 1)) < 1, reason="x")',
        '@pytest.mark.skipif(int(os.environ.get("WORLD_SIZE", 1)) != 1, reason="one process")',
        '@unittest.skipUnless(int(os.environ.get("WORLD_SIZE", 1)) >= 1, "always")',
        '@unittest.skipUnless(int(os.environ.get("RANK", 0)) == 0, "once")',
        '@unittest.skipUnless(os.environ.get("RANK", "0"), "always")',
        '@pytest.mark.skipif("RANK" not in COLUMNS, reason="x")',
        '@pytest.mark.skipif(config.lora_rank < 0, reason="x")',
        '@pytest.mark.skipif(torch.linalg.matrix_rank(torch.eye(3)) < 0, reason="x")',
        'BACKEND = "gloo"\n\n@pytest.mark.skipif("RANK" not in os.environ, reason="x")',
    ],
)
def test_a_test_for_one_process_or_for_gloo_is_for_macs_as_well(mark: str) -> None:
    assert "MAC" in comes("import os\n" + MARKED.format(mark=mark)).split("|")


@pytest.mark.parametrize(
    "mark",
    [
        '@pytest.mark.skipif(torch.cuda.is_available(), reason="the CPU\'s path")',
        "@pytest.mark.slow",
        '@pytest.mark.parametrize("size", [1, 2])',
        "@pytest.mark.timeout(10)",
        "@require_torch_accelerator",
    ],
)
def test_other_marks_leave_the_mac_in(mark: str) -> None:
    assert "MAC" in comes(MARKED.format(mark=mark)).split("|")


@pytest.mark.parametrize(
    "mark",
    [
        'pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="x")',
        'pytestmark = [pytest.mark.slow, pytest.mark.skipif(not torch.cuda.is_available(), reason="x")]',
    ],
)  # fmt: skip
def test_a_mark_of_the_file_holds_for_all_its_tests(mark: str) -> None:
    text = f"import pytest\n\n{mark}\n\n\ndef test_it():\n    torch.zeros(3)  # here\n"
    assert comes(text) == NVIDIA


def test_a_mark_of_a_class_holds_for_its_methods() -> None:
    text = """
        import unittest

        @unittest.skipUnless(torch.cuda.is_available(), "needs CUDA")
        class Tests(unittest.TestCase):
            def test_it(self):
                torch.zeros(3)  # here
    """
    assert comes(text) == NVIDIA


def test_a_mark_of_one_class_says_nothing_of_another() -> None:
    text = """
        import unittest

        @unittest.skipUnless(torch.cuda.is_available(), "needs CUDA")
        class OnCuda(unittest.TestCase):
            def test_it(self):
                torch.zeros(1)

        class Anywhere(unittest.TestCase):
            def test_it(self):
                torch.zeros(3)  # here
    """
    assert comes(text) == EVERYWHERE


@pytest.mark.parametrize("prepare", ["setUp", "setUpClass", "setup_method"])
def test_what_skips_before_each_test_skips_the_test(prepare: str) -> None:
    text = f"""
        import unittest

        class Tests(unittest.TestCase):
            def {prepare}(self):
                if not torch.cuda.is_available():
                    raise unittest.SkipTest("needs CUDA")

            def test_it(self):
                torch.zeros(3)  # here
    """
    assert comes(text) in (ASKED, NVIDIA)


def test_a_test_skips_itself() -> None:
    text = """
        import unittest

        class Tests(unittest.TestCase):
            def test_it(self):
                if not torch.cuda.is_available():
                    self.skipTest("needs CUDA")
                torch.zeros(3)  # here
    """
    assert comes(text) in (ASKED, NVIDIA)


FIXTURE = """
import pytest

@pytest.fixture
def gpu():
    if not torch.cuda.is_available():
        pytest.skip("needs CUDA")
    return torch.device("cuda")

def test_it({asked_for}):
    torch.zeros(3)  # here
"""


def test_a_test_runs_where_its_fixture_returns() -> None:
    assert comes(FIXTURE.format(asked_for="gpu")) in (ASKED, NVIDIA)


def test_a_fixture_says_nothing_of_tests_that_do_not_ask_for_it() -> None:
    assert comes(FIXTURE.format(asked_for="")) == EVERYWHERE


def test_a_fixture_that_others_ask_for_by_name_skips_them_too() -> None:
    text = """
        import pytest

        @pytest.fixture(autouse=True)
        def needs_gpu():
            if not torch.cuda.is_available():
                pytest.skip("needs CUDA")

        def test_it():
            torch.zeros(3)  # here
    """
    assert comes(text) in (ASKED, NVIDIA)


def test_a_file_that_skips_itself_runs_on_cuda() -> None:
    text = """
        import pytest

        if not torch.cuda.is_available():
            pytest.skip("needs CUDA", allow_module_level=True)

        def test_it():
            torch.zeros(3)  # here
    """
    assert comes(text) in (ASKED, NVIDIA)


def test_a_file_that_needs_a_package_of_kernels_runs_on_cuda() -> None:
    text = """
        import pytest

        triton = pytest.importorskip("triton")

        def test_it():
            torch.zeros(3)  # here
    """
    assert comes(text) == NVIDIA


def test_a_decorator_of_the_file_that_checks_the_machine_is_followed() -> None:
    text = """
        import functools

        def on_gpu(function):
            @functools.wraps(function)
            def wrapped(*args):
                if not torch.cuda.is_available():
                    raise RuntimeError("no GPU")
                return function(*args)
            return wrapped

        @on_gpu
        def train():
            torch.zeros(3)  # here
    """
    assert comes(text) in (ASKED, NVIDIA)


def test_a_decorator_that_does_something_else_keeps_nobody_away() -> None:
    text = "import functools\n\n@functools.lru_cache\ndef make():\n    torch.zeros(3)  # here\n"
    assert comes(text) == EVERYWHERE


def test_nested_functions_run_where_they_are_called() -> None:
    text = """
        def outer():
            def inner():
                torch.zeros(3)  # here

            if torch.cuda.is_available():
                inner()
    """
    assert comes(text) == ASKED


def test_methods_run_where_objects_of_their_class_are_made() -> None:
    text = """
        class Trainer:
            def step(self):
                torch.zeros(3)  # here

        if torch.cuda.is_available():
            Trainer().step()
    """
    assert comes(text) == ASKED


def test_methods_of_a_class_whose_constructor_refuses_run_where_it_returns() -> None:
    text = """
        class Trainer:
            def __init__(self):
                if not torch.cuda.is_available():
                    raise RuntimeError("no GPU")

            def step(self):
                torch.zeros(3)  # here
    """
    assert comes(text) == ASKED


def test_a_method_that_calls_a_refusing_one_goes_on_where_that_returns() -> None:
    text = """
        class Trainer:
            def check(self):
                assert torch.cuda.is_available()

            def step(self):
                self.check()
                torch.zeros(3)  # here
    """
    assert comes(text) == ASKED


# functions that are given to others


def test_a_function_that_is_given_away_runs_where_that_is_done() -> None:
    text = """
        import pytest

        def _in_each_process():
            torch.zeros(3)  # here

        @pytest.mark.skipif(torch.cuda.device_count() < 2, reason="two GPUs")
        def test_in_processes(executor):
            executor(_in_each_process, np=2)
    """
    assert comes(text) == "GPUS"


def test_a_function_that_is_called_and_given_away_runs_in_both_places() -> None:
    text = """
        def step():
            torch.zeros(3)  # here

        def start(pool):
            if torch.cuda.is_available():
                pool.submit(step)
            elif torch.backends.mps.is_available():
                step()
    """
    assert comes(text) == "CUDA|GPUS|MAC|PORTED"


def test_a_function_that_a_decorator_hands_on_may_run_anywhere() -> None:
    text = """
        @app.command()
        def step():
            torch.zeros(3)  # here

        if torch.cuda.is_available():
            later(step)
    """
    assert comes(text) == EVERYWHERE


def test_who_calls_it_counts_where_he_names_no_device_himself() -> None:
    text = """
        def step(x):
            torch.zeros(3)  # here

        def anywhere(x):
            step(x)

        def there(x):
            if torch.cuda.is_available():
                step(x)
    """
    assert comes(text) == EVERYWHERE


_SWITCHED = "CUDA?|GPUS?|MAC?|PORTED?|CPU?"
"""Whoever calls the function decides."""


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("class TestIt:\n    def test_it(self, cuda=False):", "none"),
        ("def test_it(cuda=False):", "none"),
        ("def test_it(tmp, cuda=False):", _SWITCHED),
        ("class Trainer:\n    def test_it(self, cuda=False):", _SWITCHED),
        ("class TestIt:\n    def make_it(self, cuda=False):", _SWITCHED),
    ],
)
def test_a_runner_leaves_the_parameters_of_a_test_as_their_defaults_say(
    function: str, expected: str
) -> None:
    indent = "    " * (1 + function.startswith("class"))
    body = f"{indent}if cuda:\n{indent}    torch.zeros(3)  # here\n"
    assert comes(f"import torch\n\n{function}\n{body}") == expected


@pytest.mark.parametrize(
    "skip",
    [
        'pytest.skip("needs CUDA", allow_module_level=True)',
        'raise unittest.SkipTest("needs CUDA")',
        'raise pytest.skip.Exception("needs CUDA", allow_module_level=True)',
    ],
)
def test_a_file_that_skips_itself_without_cuda_is_about_cuda(skip: str) -> None:
    text = f"""
import unittest
import pytest

if not torch.cuda.is_available():
    {skip}

def test_it():
    torch.zeros(3)  # here
"""
    assert comes(text) == NVIDIA


def test_a_file_that_skips_itself_for_want_of_any_gpu_runs_on_a_mac() -> None:
    text = """
        import pytest

        if not torch.cuda.is_available() and not torch.backends.mps.is_available():
            pytest.skip("needs a GPU", allow_module_level=True)

        def test_it():
            torch.zeros(3)  # here
    """
    assert comes(text) != NVIDIA


def test_a_test_that_skips_itself_in_its_else_is_about_cuda() -> None:
    text = """
        import unittest

        class TestIt(unittest.TestCase):
            def test_it(self):
                if torch.cuda.is_available():
                    torch.zeros(3)  # here
                else:
                    self.skipTest("needs CUDA")
    """
    assert comes(text) == NVIDIA


_SET_UP = """
        import unittest

        class TestIt(unittest.TestCase):
            def setUp(self):
                torch.zeros(3)  # here

            @unittest.skipIf(torch.cuda.device_count() <= 0, "no GPU")
            def test_it(self):
                pass
{more}
"""


def test_what_is_done_before_each_test_is_done_where_some_test_is_run() -> None:
    assert comes(_SET_UP.format(more="")) == NVIDIA


def test_what_is_done_before_each_test_is_done_for_one_without_a_mark() -> None:
    other = "\n            def test_other(self):\n                pass\n"
    assert comes(_SET_UP.format(more=other)) == EVERYWHERE


def test_what_is_done_before_each_test_is_done_for_those_of_heirs() -> None:
    heir = "\n        class TestMore(TestIt):\n            def test_other(self):\n                pass\n"
    assert comes(_SET_UP.format(more=heir)) == EVERYWHERE


def test_triton_is_on_no_mac() -> None:
    text = """
        from torch.utils._triton import has_triton

        if has_triton():
            torch.zeros(3)  # here
    """
    assert comes(text) == NVIDIA
