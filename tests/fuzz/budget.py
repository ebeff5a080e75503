"""How much is tried: the same few examples in each run of the suite, as many as asked elsewhere."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

ASKED = os.environ.get("FUZZ_EXAMPLES")
"""Examples of all tests together, new ones each time; without it 1,000, the same on every
machine."""


def tries(of_a_thousand: int) -> settings:
    """For a test that has this share of all examples."""
    return settings(
        max_examples=max(1, int(ASKED or 1000) * of_a_thousand // 1000),
        derandomize=ASKED is None,
        database=None,
        print_blob=ASKED is not None,
        deadline=None,
        suppress_health_check=[
            HealthCheck.too_slow,
            HealthCheck.data_too_large,
            HealthCheck.filter_too_much,
            HealthCheck.function_scoped_fixture,
        ],
    )
