"""Which machines come to a line by a device: matches, comparisons, what only CUDA has."""

from __future__ import annotations

import textwrap

import pytest

from .conftest import ASKED, EVERYWHERE, MACS, NOT_NVIDIA, NOWHERE, NVIDIA, REFUSED, comes

# match


MATCHED = """
    match device.type:
        case "cuda":
            {cuda}
        case "mps":
            {mps}
        case _:
            {other}
"""


@pytest.mark.parametrize(
    ("arm", "machines"), [("cuda", NVIDIA), ("mps", "PORTED"), ("other", REFUSED)]
)
def test_a_match_of_the_device_parts_the_machines_by_it(arm: str, machines: str) -> None:
    chosen = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
    body = {"cuda": "pass", "mps": "pass", "other": "pass", arm: "work()  # here"}
    assert comes(chosen + textwrap.dedent(MATCHED.format(**body))) == machines


def test_a_match_of_an_answer_is_an_if() -> None:
    text = """
        match torch.cuda.is_available():
            case True:
                work()  # here
            case _:
                pass
    """
    assert comes(text) == ASKED


def test_the_rest_of_a_match_of_an_answer_is_the_else() -> None:
    text = """
        match torch.cuda.is_available():
            case True:
                pass
            case False:
                work()  # here
    """
    assert comes(text) == REFUSED


def test_a_guard_of_a_case_lets_in_as_an_if_does() -> None:
    text = """
        match unknown():
            case x if torch.cuda.is_available():
                work()  # here
            case _:
                pass
    """
    assert comes(text) == ASKED


def test_several_patterns_of_one_case_let_in_all_that_they_match() -> None:
    text = """
        device = "cuda" if torch.cuda.is_available() else "cpu"
        match device:
            case "cuda" | "mps":
                work()  # here
            case _:
                pass
    """
    assert comes(text) == ASKED


# comparisons of devices


DEVICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'


@pytest.mark.parametrize(
    "question",
    [
        'device.type == "cuda"',
        '"cuda" == device.type',
        '"cuda" in str(device)',
        'str(device).startswith("cuda")',
        'device.type.startswith("cuda")',
        'device.type in ("cuda",)',
        'device.type not in ("mps", "cpu")',
        'device != torch.device("cpu") and device.type != "mps"',
        "torch.zeros(1, device=device).is_cuda",
        'torch.zeros(1).to(device).device.type == "cuda"',
    ],
)
def test_a_test_that_names_cuda_keeps_out_the_mac_even_once_ported(question: str) -> None:
    assert comes(f"{DEVICE}if {question}:\n    work()  # here\n") == NVIDIA


@pytest.mark.parametrize(
    "question", ['device.type != "cpu"', 'device.type == "cuda" or device.type == "mps"',
                 'device.type in ("cuda", "mps")', 'not device.type == "cpu"']
)  # fmt: skip
def test_a_test_that_names_the_cpu_or_both_lets_in_the_ported_mac(question: str) -> None:
    assert comes(f"{DEVICE}if {question}:\n    work()  # here\n") == ASKED


def test_a_device_that_somebody_else_chose_is_cuda_on_cuda_alone() -> None:
    text = """
        def run(device):
            if device.type == "cuda":
                torch.zeros(3)  # here
    """
    assert comes(text) == NVIDIA


def test_a_device_that_somebody_else_chose_is_the_cpu_anywhere_but_once_ported() -> None:
    text = """
        def run(device):
            if device.type == "cpu":
                torch.zeros(3)  # here
    """
    assert comes(text) == "CUDA|GPUS|MAC|CPU"


def test_a_device_that_is_cuda_is_not_also_mps() -> None:
    text = """
        def run(device):
            if device.type == "mps":
                torch.zeros(3)  # here
    """
    assert comes(text) == MACS


def test_a_test_of_the_device_of_an_unknown_tensor_is_for_cuda() -> None:
    text = "def run(x):\n    if x.is_cuda:\n        torch.zeros(3)  # here\n"
    assert comes(text) == NVIDIA
    text = "def run(x):\n    if not x.is_cuda:\n        torch.zeros(3)  # here\n"
    assert comes(text) == EVERYWHERE


# what only CUDA has


@pytest.mark.parametrize(
    "own",
    [
        'torch.distributed.init_process_group("nccl")',
        'torch.distributed.init_process_group(backend="nccl")',
        "graph = torch.cuda.CUDAGraph()",
    ],
)
def test_what_follows_nccl_or_a_cuda_graph_is_for_cuda(own: str) -> None:
    assert comes(f"{own}\nwork()  # here\n") == NVIDIA


def test_a_group_of_another_backend_keeps_nobody_away() -> None:
    assert comes('torch.distributed.init_process_group("gloo")\nwork()  # here\n') == EVERYWHERE


def test_a_machine_that_nobody_is_is_nowhere() -> None:
    text = """
        if torch.cuda.is_available():
            pass
        elif torch.cuda.device_count() > 1:
            work()  # here
    """
    assert comes(text) == NOWHERE


def test_not_nvidia_is_all_the_rest() -> None:
    text = f'{DEVICE}if device.type != "cuda":\n    work()  # here\n'
    assert comes(text) == NOT_NVIDIA


# types of old torch


@pytest.mark.parametrize(
    "test",
    [
        'x.type() == "torch.cuda.HalfTensor"',
        'x.type() in ("torch.cuda.HalfTensor", "torch.cuda.FloatTensor")',
        "type(x) == torch.cuda.FloatTensor",
    ],
)
def test_no_mac_has_a_tensor_of_a_cuda_type(test: str) -> None:
    assert comes(f"def run(x):\n    if {test}:\n        work()  # here\n") == NVIDIA
    assert comes(f"def run(x):\n    if not {test}:\n        work()  # here\n") == EVERYWHERE


def test_a_tensor_of_another_type_may_be_anywhere() -> None:
    text = 'def run(x):\n    if x.type() == "torch.HalfTensor":\n        work()  # here\n'
    assert comes(text) == EVERYWHERE
