"""What all classes below replace runs on no object, unless somebody makes one of their base."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Cli

_NETS = """
{imported}


{decorator}
class Net:
    def move(self, x):
        return x.cuda()


class Small(Net):
    def move(self, x):
        return x


print(Small().move(1))
"""


@pytest.mark.parametrize(
    ("imported", "decorator", "codes"),
    [
        ("from dataclasses import dataclass", "@dataclass", []),
        ("import dataclasses", "@dataclasses.dataclass(frozen=True)", []),
        ("from registry import register", '@register("net")', ["MPS102"]),
        ("from registry import MODELS", "@MODELS.register_module()", ["MPS102"]),
    ],
)
def test_who_registers_a_class_makes_objects_of_it(
    cli: Cli, project: Path, imported: str, decorator: str, codes: list[str]
) -> None:
    (project / "README.md").write_text("# A program\n")
    text = _NETS.format(imported=f"import torch\n{imported}", decorator=decorator)
    (project / "nets.py").write_text(text)
    ran = cli("check", "--output-format", "json", "nets.py")
    assert [finding["code"] for finding in json.loads(ran.out)] == codes
