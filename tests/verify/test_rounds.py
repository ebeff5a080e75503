"""A few ports of the rounds that people wrote who had never seen the verifier: benchmarks/rounds.py
runs them all.
"""

from __future__ import annotations

import csv
from collections.abc import Callable

import pytest

from mpslint.verify import Report, Request, verify

from .conftest import FIXTURES

Script = Callable[[str, str], str]
ROUNDS = FIXTURES / "rounds"


def verified(port: str) -> Report:
    script = ROUNDS / port
    original = str(script.parent / "original.py")
    root = str(script.parent)
    return verify(Request(str(script), original=original, root=root, negative_control=False))


def test_a_clock_that_reads_too_early_on_a_mac_alone_is_found() -> None:
    report = verified("three/p09_gcn_bench/wrong_timing_no_sync.py")
    assert report.verdict == "fail", report.to_text()
    assert "reads the clock while the device still works" in report.reason


def test_a_read_in_place_of_a_wait_is_right() -> None:
    report = verified("three/p05_simclr_probe/right_item_as_sync.py")
    assert report.verdict == "pass", report.to_text()


def test_a_step_on_the_host_by_choice_is_right() -> None:
    report = verified("four/siamese_triplet_knn/right_eval_on_host.py")
    assert report.verdict == "pass", report.to_text()


@pytest.mark.parametrize(
    ("port", "said"),
    [
        ("five/triplet/wrong_port.py", "prints 1 1 5 1 where the original prints"),
        ("five/distill/wrong_port.py", "prints 0.76 where the original prints 0.94"),
    ],
)
def test_a_switch_of_the_precision_explains_no_other_evaluation(port: str, said: str) -> None:
    report = verified(port)
    assert report.verdict == "inconclusive", report.to_text()
    assert said in report.reason


MIXED = """\
import torch
torch.manual_seed(0)
model = torch.nn.Linear(8, 1).to("{device}")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    with torch.autocast("{device}", dtype=torch.bfloat16):
        loss = model(torch.randn(16, 8, device="{device}")).float().pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


def test_another_precision_on_the_original_device_is_no_rounding(script: Script) -> None:
    path = script("train.py", MIXED.format(device="cuda"))
    other = MIXED.replace("bfloat16", "float16").format(device="cuda").encode()
    request = Request(path, patched={path: other}, devices=("cuda",), negative_control=False)
    report = verify(request)
    assert report.verdict == "fail", report.to_text()
    assert "loss 1 is" in report.reason


@pytest.mark.parametrize("name", ["three", "four"])
def test_every_port_of_a_round_is_listed_with_its_fault(name: str) -> None:
    with open(ROUNDS / name / "FAULTS.tsv", encoding="utf-8") as stream:
        rows = list(csv.reader(stream, delimiter="\t"))[1:]
    here = ROUNDS / name
    found = [*here.glob("*/right_*.py"), *here.glob("*/wrong_*.py")]
    ports = [port.relative_to(here).as_posix() for port in found]
    assert sorted(row[0] for row in rows) == sorted(ports)
    assert [row[1] for row in rows].count("wrong") == 30
