"""A module goes on without a package that only CUDA has, and others ask it whether it has one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_CAUGHT = "try:\n    from {module} import fast\nexcept ImportError:\n    fast = None\n"
_FLAG = "try:\n    import {module}\n\n    FAST = True\nexcept ImportError:\n    FAST = False\n"
_FOUND = "import importlib.util\n\nFAST = importlib.util.find_spec('{module}') is not None\n"
_ASKED = (
    "import importlib.util\n\n\ndef has_fast():\n"
    "    return importlib.util.find_spec('{module}') is not None\n"
)
_USER = (
    "import torch\nfrom optional import {name}\n\n\n"
    "def run(x):\n    if {test}:\n        return x.cuda()\n    return x\n"
)
_WAYS = {
    "the function": (_CAUGHT, "fast", "fast is not None"),
    "the function as a flag": (_CAUGHT, "fast", "fast"),
    "a flag": (_FLAG, "FAST", "FAST"),
    "a flag that looks for it": (_FOUND, "FAST", "FAST"),
    "a function that looks for it": (_ASKED, "has_fast", "has_fast()"),
}


def _codes(cli: Cli, project: Path, optional: str, name: str, test: str) -> list[str]:
    (project / "optional.py").write_text(optional)
    (project / "user.py").write_text(_USER.format(name=name, test=test))
    ran = cli("check", "--output-format", "json", ".")
    return [finding["code"] for finding in json.loads(ran.out)]


@pytest.mark.parametrize(("optional", "name", "test"), _WAYS.values(), ids=_WAYS)
def test_what_is_done_with_a_package_of_cuda_is_for_cuda(
    cli: Cli, project: Path, optional: str, name: str, test: str
) -> None:
    assert _codes(cli, project, optional.format(module="flash_attn"), name, test) == []


@pytest.mark.parametrize(("optional", "name", "test"), _WAYS.values(), ids=_WAYS)
def test_what_is_done_with_a_package_that_macs_have_is_for_all(
    cli: Cli, project: Path, optional: str, name: str, test: str
) -> None:
    assert _codes(cli, project, optional.format(module="einops"), name, test) == ["MPS102"]


@pytest.mark.parametrize("needs", ["triton", "einops"])
def test_a_module_of_the_project_that_may_be_missing_is_as_its_packages(
    cli: Cli, project: Path, needs: str
) -> None:
    (project / "kernels.py").write_text(f"import {needs}\n\n\ndef fast(x):\n    return x\n")
    told = _codes(cli, project, _CAUGHT.format(module="kernels"), "fast", "fast is not None")
    assert told == ([] if needs == "triton" else ["MPS102"])


_STREAM = """
import torch
from optional import FAST


class Loader:
    def __init__(self):
        self.stream = torch.cuda.Stream() if FAST else None

    def load(self, x):
        if self.stream is None:
            return x
        return x.cuda(non_blocking=True)
{more}"""
_MORE = "\n    def start(self):\n        self.stream = torch.Stream()\n"


@pytest.mark.parametrize("more", ["", _MORE], ids=["set once", "set later as well"])
def test_an_attribute_that_is_only_filled_where_there_is_cuda_is_none_elsewhere(
    cli: Cli, project: Path, more: str
) -> None:
    (project / "optional.py").write_text("import torch\n\nFAST = torch.cuda.is_available()\n")
    (project / "user.py").write_text(_STREAM.format(more=more))
    ran = cli("check", "--output-format", "json", "user.py")
    told = [finding["code"] for finding in json.loads(ran.out)]
    assert ("MPS102" in told) == bool(more)


_PROBED = (
    "from probing import probe\n\n_fast, _version = probe('{module}')\n\n\n"
    "def is_{module}_available():\n    return _fast\n"
)


def test_a_function_that_hands_on_a_flag_says_what_its_name_says(cli: Cli, project: Path) -> None:
    optional = _PROBED.format(module="xformers")
    (project / "optional.py").write_text(optional)
    (project / "user.py").write_text(
        "import torch\nfrom optional import is_xformers_available\n\n\ndef use(x):\n"
        "    if not is_xformers_available():\n        raise ModuleNotFoundError('xformers')\n"
        "    elif not torch.cuda.is_available():\n        raise ValueError('no GPU')\n"
        "    return x.cuda()\n"
    )
    ran = cli("check", "--output-format", "json", ".")
    assert [finding["code"] for finding in json.loads(ran.out)] == []
