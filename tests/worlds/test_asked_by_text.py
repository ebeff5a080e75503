"""Questions for something that a text names, or a helper that the file does not bind."""

from __future__ import annotations

import pytest

from tests.conftest import Cli

from .conftest import ASKED, EVERYWHERE, NVIDIA, comes, told_in_project

_EXTENSIONS = """
_extensions = {}


def register_extension(extension):
    _extensions[extension.name] = extension


def is_extension_available(extension_type):
    return extension_type in _extensions
"""
_TEST = """
import pytest
import torch

from ours import is_extension_available


@pytest.mark.skipif(
    not is_extension_available({text}) or torch.cuda.get_device_capability()[0] < 8,
    reason="CUDA >= sm80 not available",
)
def test_marlin():
    torch.rand(2, device="cuda")
"""


@pytest.mark.usefixtures("project")
def test_what_is_cudas_by_its_name_is_there_with_cuda(cli: Cli) -> None:
    files = {"ours.py": _EXTENSIONS, "test_marlin.py": _TEST.format(text='"ours_cuda"')}
    assert told_in_project(cli, files) == []


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("text", ['"ours_cpp"', '"ours_metal"', "NAME"])
def test_what_may_be_there_on_a_mac_is_asked_about_there(cli: Cli, text: str) -> None:
    files = {"ours.py": _EXTENSIONS, "test_marlin.py": _TEST.format(text=text)}
    told = [code for _, _, code in told_in_project(cli, files)]
    assert told == ["MPS206", "MPS101"]


@pytest.mark.parametrize(
    ("question", "machines"),
    [
        ('is_package_available("flash_attn")', NVIDIA),
        ('is_backend_available("cuda")', ASKED),
        ('is_package_available("numpy")', EVERYWHERE),
        ('load_package("ours_cuda")', EVERYWHERE),
        ('is_package_available("ours_cuda", version)', EVERYWHERE),
    ],
)
def test_a_question_of_another_package_says_what_its_text_names(
    question: str, machines: str
) -> None:
    name = question.partition("(")[0]
    text = f"from elsewhere.utils import {name}\nif {question}:\n    work()  # here\n"
    assert comes(text) == machines


_ENABLE = """
def enable({given}):
    if not is_xformers_available():
        raise ImportError
    torch.cuda.synchronize()  # here
"""


def test_a_helper_that_a_file_does_not_bind_is_known_by_its_name() -> None:
    assert comes(_ENABLE.format(given="")) == NVIDIA
    assert comes(_ENABLE.format(given="is_xformers_available")) == EVERYWHERE
    unknown = _ENABLE.format(given="").replace("xformers", "anything")
    assert comes(unknown) == EVERYWHERE
