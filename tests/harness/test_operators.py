"""A sample of torch's own operator database; the whole of it is in benchmarks/op_sweep.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import SOURCE, TIMEOUT

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "op_sweep.py"
EVERY = 9
# The derivative of an operator that runs on the CPU by fallback is not recorded: as on a Mac.
KNOWN = {
    "svd",
    "linalg.svd",
    "tensor_split",
    "to_sparse",
    "sparse.mm (reduce)",
    "sparse.sampled_addmm",
}


@pytest.mark.parametrize("device", ["mps", "cuda"])
def test_operators_give_the_numbers_of_the_cpu_or_the_error_foretold(device: str) -> None:
    command = [sys.executable, str(BENCHMARK), "--device", device, "--every", str(EVERY), "--json"]
    done = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=2 * TIMEOUT,
    )
    (line,) = [text for text in done.stdout.splitlines() if text.startswith("RESULTS ")]
    rows = json.loads(line[len("RESULTS ") :])
    judged = {name: row for name, row in rows.items() if row[0] != "skipped"}
    assert len(judged) > 60
    wrong = {
        n: r for n, r in judged.items() if r[0] not in ("equal", "foretold") and n not in KNOWN
    }
    assert wrong == {}
    assert sum(status == "equal" for status, _ in judged.values()) > 0.8 * len(judged)
