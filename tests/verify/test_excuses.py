"""Which differences another precision explains, and which it does not."""

from __future__ import annotations

import pytest

from mpslint.verify import excuses
from tests.verify.conftest import ended, launch

IN_DOUBLE, IN_HALF = b"y = x.double()\n", b"y = x.half()\n"


def test_float64_explains_what_float32_makes_of_it() -> None:
    near = launch("mps", losses=[0.9, 0.8008, 0.7])
    assert excuses.found(near, launch("cuda"), IN_DOUBLE, None)


def test_float64_explains_nothing_where_it_is_to_be_had() -> None:
    near = launch("cpu", losses=[0.9, 0.8008, 0.7])
    assert excuses.found(near, launch("cuda"), IN_DOUBLE, None) is None


@pytest.mark.parametrize("told", ["losses", "printed", "logged"])
def test_float64_does_not_explain_another_number(told: str) -> None:
    half = {"losses": {"losses": [0.9, 0.8, 0.35]}, "logged": {"logged": ["recall 0.4"]}}
    one = launch("cuda", ending=ended(stdout="recall 0.8\n"), logged=["recall 0.8"])
    said = "recall 0.4\n" if told == "printed" else "recall 0.8\n"
    more = {"logged": ["recall 0.8"], **half.get(told, {})}
    assert (
        excuses.found(launch("mps", ending=ended(stdout=said), **more), one, IN_DOUBLE, None)
        is None
    )


def test_a_number_next_to_zero_is_the_rest_of_a_difference() -> None:
    one, two = (
        launch(device, ending=ended(stdout=f"nll 17.99\nslope {slope}\n"))
        for device, slope in (("cuda", 0.0081), ("mps", -0.0057))
    )
    assert excuses.found(two, one, IN_DOUBLE, None)


def test_less_precision_than_float32_may_lead_a_training_elsewhere() -> None:
    far = launch("mps", losses=[0.9, 0.8, 0.35])
    assert excuses.found(far, launch("cuda"), IN_HALF, None)


@pytest.mark.parametrize("last", [70.0, float("nan"), float("inf")])
def test_no_precision_explains_a_training_that_bursts(last: float) -> None:
    burst = launch("mps", losses=[0.9, 8.0, last])
    assert excuses.found(burst, launch("cuda"), IN_HALF, None) is None


@pytest.mark.parametrize("said", ["recall 0.4\n", "recall 0.8\nrecall 0.8\n"])
def test_no_precision_explains_another_result_of_the_same_training(said: str) -> None:
    one = launch("cuda", ending=ended(stdout="recall 0.8\n"))
    two = launch("mps", ending=ended(stdout=said))
    assert excuses.found(two, one, IN_HALF, None) is None


def test_a_result_may_differ_a_little_where_less_precision_is_chosen() -> None:
    one = launch("cuda", ending=ended(stdout="recall 0.80\n"))
    two = launch("mps", ending=ended(stdout="recall 0.79\n"))
    assert excuses.found(two, one, IN_HALF, None)


@pytest.mark.parametrize("switch", ["True", "False"])
def test_what_only_a_real_gpu_has_explains_nothing_on_a_simulated_one(switch: str) -> None:
    text = f"torch.backends.cuda.matmul.allow_tf32 = {switch}\n".encode()
    far = launch("mps", losses=[0.9, 0.8, 0.69])
    assert excuses.found(far, launch("cuda"), text, None) is None


UNDER_AUTOCAST = b"with torch.autocast('cuda', dtype=torch.bfloat16):\n    y = f(x)\n"


@pytest.mark.parametrize(
    ("text", "explained"),
    [(UNDER_AUTOCAST, False), (UNDER_AUTOCAST + b"net.half()\n", True)],
    ids=["autocast alone", "half precision as well"],
)
def test_autocast_explains_nothing_where_the_original_without_it_differs_as_well(
    text: bytes, explained: bool
) -> None:
    far = launch("mps", losses=[0.9, 0.8, 0.65])
    assert excuses.found(far, launch("cuda"), text, None, in_full=False)
    assert bool(excuses.found(far, launch("cuda"), text, None, in_full=True)) is explained
