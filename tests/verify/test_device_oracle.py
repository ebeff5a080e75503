"""What a port may ask of a CUDA machine that its original does not, and the other way round."""

from __future__ import annotations

from typing import Any

import pytest

from mpslint.verify import device_oracle
from tests.verify.conftest import launch
from tests.verify.test_verdict import judge

MOVED = ["move", "cuda:0"]
WAIT = ["torch.cuda.synchronize", ""]


def held(original: list[list[str]], port: list[list[str]], **more: Any) -> str | None:
    one = launch("cuda", device_calls=original, clocks=more.get("before", []))
    two = launch("cuda", device_calls=port, clocks=more.get("after", []))
    return device_oracle.unlike(one, two)[0]


@pytest.mark.parametrize(
    "port",
    [
        [MOVED],
        [MOVED, MOVED, ["move", "cpu"], MOVED],
        [MOVED, ["torch.cuda.get_device_name", "cuda:0"]],
        [MOVED, ["torch.cuda.manual_seed_all", "3"]],
    ],
    ids=["fewer moves", "there and back", "a name", "a seed"],
)
def test_moves_names_and_seeds_are_a_matter_of_style(port: list[list[str]]) -> None:
    assert held([MOVED, MOVED, ["torch.cuda.get_device_name", "0"]], port) is None


def test_the_memory_of_a_gpu_need_not_be_asked_for_nor_its_peak_set_back() -> None:
    asked = ["torch.cuda.max_memory_allocated", ""]
    assert held([["torch.cuda.reset_peak_memory_stats", ""], WAIT, asked], [WAIT]) is None
    assert held([WAIT], [asked, WAIT]) is None


def test_another_gpu_is_held_against_it() -> None:
    assert "move(cuda:1)" in (held([MOVED], [MOVED, ["move", "cuda:1"]]) or "")


def test_a_gpu_that_is_used_no_more_is_held_against_it() -> None:
    assert "move(cuda:1)" in (held([MOVED, ["move", "cuda:1"]], [MOVED]) or "")


def test_the_accelerators_calls_are_those_of_cuda() -> None:
    assert held([WAIT], [["torch.accelerator.synchronize", ""]]) is None


def test_one_gpu_has_many_spellings() -> None:
    port = [["torch.cuda.set_device", "cuda:0"], ["torch.cuda.empty_cache", ""]]
    assert held([["torch.cuda.set_device", "0"], ["torch.cuda.empty_cache", ""]], port) is None
    assert held([["torch.cuda.set_device", "1"]], [["torch.cuda.set_device", "0"]])


def test_the_first_gpu_need_not_be_chosen_but_another_must() -> None:
    assert held([["torch.cuda.set_device", "0"], WAIT], [WAIT]) is None
    assert held([["torch.cuda.set_device", "1"], ["torch.cuda.set_device", "0"]], [])


def test_of_a_full_record_only_what_both_kept_is_compared() -> None:
    cleared = ["torch.cuda.empty_cache", ""]
    assert (
        held([WAIT, MOVED, *[cleared] * 3998], [WAIT, *[MOVED] * 1999, *[cleared] * 2000]) is None
    )
    assert held([WAIT, MOVED, *[cleared] * 3998], [*[MOVED] * 2000, *[cleared] * 2000])


ON_TIME = [(10, 10, True), (110, 110, True)]
BY_A_READ = [(10, 10, False), (110, 110, False)]
TOO_EARLY = [(10, 10, True), (110, 10, True)]
A_LITTLE_LEFT = [(10, 7, False), (110, 110, False)]


@pytest.mark.parametrize("port", [BY_A_READ, A_LITTLE_LEFT], ids=["a read", "next to nothing left"])
def test_a_wait_may_be_left_out_where_the_clock_reads_no_earlier(port: Any) -> None:
    assert held([WAIT, WAIT], [], before=ON_TIME, after=port) is None


def test_a_wait_may_not_be_left_out_where_the_clock_reads_early() -> None:
    assert held([WAIT, WAIT], [WAIT], before=ON_TIME, after=TOO_EARLY)


def test_clocks_may_take_the_place_of_the_devices_own_where_they_read_on_time() -> None:
    assert held([WAIT, WAIT], [WAIT], after=ON_TIME) is None
    assert held([WAIT, WAIT], [WAIT], after=TOO_EARLY)


def test_cached_memory_need_not_be_freed() -> None:
    cleared = ["torch.cuda.empty_cache", ""]
    assert held([cleared, WAIT], [WAIT]) is None
    assert held([cleared, WAIT], [])


def test_a_wait_may_not_be_left_out_where_no_clock_is_read() -> None:
    assert "synchronize" in (held([WAIT], []) or "")


def test_random_numbers_of_the_device_are_others_than_those_of_the_host() -> None:
    judged = judge(launch("cuda", drawn=20), launch("cuda", drawn=30))
    assert judged.verdict == "inconclusive"
    assert "draws 10 random numbers on the host, which the original draws" in judged.reason


def test_where_one_device_draws_less_than_another_nothing_follows() -> None:
    assert judge(launch("mps", drawn=20), launch("cuda", drawn=30)).verdict == "pass"


def test_other_numbers_are_told_before_where_they_were_drawn() -> None:
    judged = judge(launch("cuda", drawn=20, losses=[0.9, 0.8, 0.6]), launch("cuda", drawn=30))
    assert judged.verdict == "fail"


def test_a_clock_that_reads_early_on_a_mac_alone_fails() -> None:
    judged = judge(launch("mps", clocks=TOO_EARLY), launch("cuda", clocks=ON_TIME))
    assert judged.verdict == "fail"
    assert "reads the clock while the device still works (1 of 2 times)" in judged.reason


def test_a_clock_that_never_waited_is_not_held_against_a_port() -> None:
    never = [(10, 0, False), (110, 0, False)]
    assert judge(launch("mps", clocks=TOO_EARLY), launch("cuda", clocks=never)).verdict == "pass"
