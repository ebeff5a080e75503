"""How far another device's numbers may be from the original's."""

from __future__ import annotations

from typing import Any

import pytest

from mpslint.verify import contents, numbers
from mpslint.verify.contents import Saved
from mpslint.verify.launch import Launch
from mpslint.verify.rounding import Margins, Rounded
from tests.verify.conftest import ended, launch

FAR = 1e-5


def running(
    losses: list[float], printed: str = "", saved: dict[str, Saved] | None = None
) -> Launch:
    run = launch("cuda", losses=losses, params_digest=[], ending=ended(stdout=printed))
    return run._replace(saved=saved or {})


CALM = running([1.0, 0.9, 0.8])
WILD = running([1.0, 0.9, 0.801])


def test_a_number_may_be_as_far_as_rounding_moves_it_times_ten() -> None:
    allowed = Margins(CALM, [WILD])
    assert allowed.beyond(running([1.0, 0.9, 0.79]), FAR) is None
    assert "loss 3" in str(allowed.beyond(running([1.0, 0.9, 0.78]), FAR))


def test_what_rounding_does_late_excuses_nothing_early() -> None:
    assert "loss 2" in str(Margins(CALM, [WILD]).beyond(running([1.0, 0.901, 0.8]), FAR))


def test_what_rounding_did_once_holds_from_then_on() -> None:
    early = running([1.001, 0.9, 0.8])
    assert Margins(CALM, [early]).beyond(running([1.0, 0.9, 0.801]), FAR) is None


def test_no_margin_is_wider_than_a_tenth() -> None:
    chaos = running([1.0, 0.1, 0.2])
    assert Margins(CALM, [chaos]).beyond(running([1.0, 0.9, 0.6]), FAR)


def test_printed_numbers_have_the_margin_of_their_column() -> None:
    one, moved = running([], "1 0.50\n2 0.40\n"), running([], "1 0.51\n2 0.40\n")
    allowed = Margins(one, [moved])
    assert allowed.beyond(running([], "1 0.50\n2 0.41\n"), FAR) is None
    assert "prints" in str(allowed.beyond(running([], "1 0.50\n3 0.40\n"), FAR))


def test_what_is_not_a_number_is_near_to_none() -> None:
    one, moved = running([], "1 0.50\n2 0.40\n"), running([], "1 0.51\n2 0.40\n")
    allowed = Margins(one, [moved])
    assert "prints" in str(allowed.beyond(running([], "1 nan\n2 0.40\n"), FAR))
    assert Margins(CALM, [WILD]).beyond(running([1.0, 0.9, float("nan")]), FAR)


def test_weights_that_are_no_numbers_are_not_the_originals() -> None:
    def trained(size: float) -> Launch:
        digests = [{"step": step, "l2": size + step, "sum": 1.0} for step in range(3)]
        return launch("cuda", losses=[], params_digest=digests, ending=ended())

    one = Margins(trained(2.0), [trained(2.001)])
    assert one.beyond(trained(2.0), FAR) is None
    assert "parameters" in str(one.beyond(trained(float("nan")), FAR))
    endless = trained(float("inf"))
    assert Margins(endless, [endless]).beyond(endless, FAR) is None


def test_lines_that_are_not_there_are_not_excused_by_rounding() -> None:
    one, moved = running([], "0.50\n0.40\n"), running([], "0.51\n0.41\n")
    assert Margins(one, [moved]).beyond(running([], "0.50\n"), FAR)


def stored(*values: float) -> dict[str, Saved]:
    import struct

    data = struct.pack(f"{len(values)}d", *values)
    return {"model.pt": {"weight": contents.part(data, "d")}}


def test_tensors_may_be_as_far_as_rounding_moves_their_norms() -> None:
    one, moved = running([], saved=stored(3, 4)), running([], saved=stored(3, 4.01))
    allowed = Margins(one, [moved])
    assert allowed.beyond(running([], saved=stored(3.02, 4)), FAR) is None
    assert "other tensors" in str(allowed.beyond(running([], saved=stored(3, 5)), FAR))
    assert "other sizes" in str(allowed.beyond(running([], saved=stored(3, 4, 0)), FAR))


def test_a_file_that_is_not_written_is_not_excused_by_rounding() -> None:
    allowed = Margins(running([], saved=stored(3, 4)), [running([], saved=stored(3, 4.01))])
    assert "does not" in str(allowed.beyond(running([]), FAR))


def using(run: Launch, device: str, *types: str) -> Launch:
    """The same numbers on another device, with these types below float32."""
    report = {**(run.report or {}), "lowered": list(types)}
    return run._replace(device=device, report=report)


class Asked:
    """Runs a program again, and remembers how."""

    def __init__(self, *runs: Launch) -> None:
        self.runs, self.options = list(runs), list[tuple[str, ...]]()

    def __call__(self, _run: Launch, options: tuple[str, ...]) -> Launch:
        self.options.append(options)
        return self.runs[min(len(self.options), len(self.runs)) - 1]


OFF, NUDGED = ("--full-precision",), ("--nudge", "1")
MIXED = using(WILD, "cuda", "bfloat16")


def test_a_port_that_does_without_autocast_is_held_against_the_original_without() -> None:
    asked = Asked(CALM)
    found = list(Rounded(asked).of(MIXED, using(CALM, "mps")))
    assert asked.options == [OFF, OFF + NUDGED]
    rounding = ", to within what rounding alone makes of them"
    assert [allowed.said for allowed in found] == [
        ", without autocast",
        f", without autocast{rounding}",
    ]


def test_a_scaler_alone_is_no_autocast() -> None:
    asked = Asked(CALM)
    scaled = using(WILD, "cuda", "GradScaler", "float16")
    assert (
        next(Rounded(asked).of(scaled, using(CALM, "mps", "GradScaler"))).beyond(CALM, FAR) is None
    )
    assert asked.options == [OFF]


def test_what_agrees_without_autocast_needs_no_further_run() -> None:
    asked = Asked(CALM)
    first = next(Rounded(asked).of(MIXED, using(CALM, "mps")))
    assert first.beyond(CALM, FAR) is None
    assert first.beyond(WILD, FAR)
    assert asked.options == [OFF]


def test_what_was_held_against_the_original_without_autocast_is_known_afterwards() -> None:
    rounded, port = Rounded(Asked(CALM)), using(CALM, "mps")
    assert not rounded.told_in_full(MIXED, port)
    next(rounded.of(MIXED, port))
    assert rounded.told_in_full(MIXED, port)
    assert not rounded.told_in_full(MIXED, using(CALM, "mps", "bfloat16"))


@pytest.mark.parametrize(
    "port", [using(CALM, "cuda"), using(CALM, "mps", "bfloat16")], ids=["same device", "as well"]
)
def test_who_has_no_reason_to_do_without_is_held_against_the_original_as_it_is(
    port: Launch,
) -> None:
    asked = Asked(CALM)
    list(Rounded(asked).of(MIXED, port))
    assert asked.options == [NUDGED]


@pytest.mark.parametrize("port", [using(CALM, "mps"), using(CALM, "mps", "bfloat16")])
def test_where_such_a_run_fails_nothing_is_learned(port: Launch) -> None:
    failed: Any = launch("cuda", outcome="error", error={"type": "E", "message": ""})
    assert not list(Rounded(Asked(failed)).of(MIXED, port))


def test_the_width_of_a_last_digit_is_a_margin_too() -> None:
    assert numbers.same(numbers.Printed(0.12, 0.01), numbers.Printed(0.13, 0.01), FAR)
