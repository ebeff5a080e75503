"""The data files hold what they say, and the rules can find it."""

from __future__ import annotations

import importlib
import re

import pytest

from mpslint.facts.ops import NEVER, NEWEST, release, release_text, support
from mpslint.facts.runtime import accelerator_on_mps, cuda_names
from mpslint.rules.registry import all_rules

RULES = {rule.code: rule for rule in all_rules()}


def test_a_release_reads_and_prints_the_same() -> None:
    assert release("2.14") == (2, 14)
    assert release_text(release("2.9")) == "2.9"
    assert release(None) == NEVER


@pytest.mark.parametrize("field", support()._fields)
def test_every_release_is_one_that_exists(field: str) -> None:
    table = getattr(support(), field)
    assert table
    for name, since in table.items():
        assert since == NEVER or (2, 0) <= since <= NEWEST, name


def test_ops_that_every_project_uses_are_not_in_the_table() -> None:
    for name in ("torch.zeros", "torch.matmul", "torch.nn.Linear", "torch.nn.functional.softmax"):
        assert name not in support().native_since


def test_linalg_becomes_native_when_the_wheels_say_so() -> None:
    table = support()
    assert table.native_since["torch.linalg.eig"] == NEVER
    assert table.native_since["torch.linalg.eigh"] == (2, 14)
    assert table.native_since["torch.linalg.solve"] == (2, 7)
    assert table.backward_native_since["torch.linalg.solve"] == (2, 10)
    assert table.fallback_until["torch.linalg.svd"] == (2, 14)


@pytest.mark.parametrize("field", ["native_since", "methods_since"])
def test_a_file_that_calls_an_op_of_the_table_is_never_screened_out(field: str) -> None:
    triggers = RULES["MPS501"].triggers
    for name in getattr(support(), field):
        spelled = b"import torch\nx." + name.encode() + b"("
        assert any(word in spelled for word in triggers), name


def test_the_screen_of_the_fallback_rule_lets_its_ops_through() -> None:
    for name in support().fallback_until:
        assert any(word in name.encode() + b"(" for word in RULES["MPS503"].triggers), name


def test_what_cuda_names_do_without_cuda_is_one_of_three() -> None:
    names = cuda_names()
    assert {fact.outcome for fact in names.values()} == {"raises", "answers", "ignores"}
    assert names["synchronize"].detail == "AssertionError"
    assert names["device_count"].outcome == "answers"
    assert names["Event"].mps == "torch.mps.Event"
    assert names["Event"].mps_since == (2, 1)


@pytest.mark.parametrize("module", ["cuda_device_query", "cuda_event_stream"])
def test_a_rule_that_says_what_is_raised_knows_it_for_each_of_its_names(module: str) -> None:
    names = importlib.import_module(f"mpslint.rules.{module}")._NAMES
    for name in names:
        assert cuda_names()[name].outcome == "raises", name


def test_memory_calls_of_the_accelerator_work_from_2_13() -> None:
    table = accelerator_on_mps()
    assert table["empty_cache"] == (2, 13)
    assert table["synchronize"] == (2, 7)
    assert not any(re.search(r"is_available|device_count", name) for name in table)
