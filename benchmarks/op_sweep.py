"""Every operator of torch's own test database, on the simulated devices against the CPU.

    python benchmarks/op_sweep.py                      # both devices, first float32 sample each
    python benchmarks/op_sweep.py --device mps --every 10

For each operator the first sample is run forward and, where it has one, backward. It agrees when
all numbers are those of the CPU (for random operators: shapes and dtypes), or when it raises the
error that the operator table or a rule of the device foretells. Everything else is listed.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import types
import unittest
import warnings
from collections import Counter
from typing import Any

SECONDS_PER_OPERATOR = 40
RANDOM = {
    "bernoulli", "cauchy", "empty", "empty_like", "empty_permuted", "empty_strided", "exponential",
    "geometric", "log_normal", "multinomial", "new_empty", "new_empty_strided", "normal",
    "nn.functional.alpha_dropout", "nn.functional.dropout", "nn.functional.dropout2d",
    "nn.functional.dropout3d", "nn.functional.feature_alpha_dropout",
    "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d",
    "nn.functional.rrelu", "pca_lowrank", "rand_like", "randint", "randint_like", "randn",
    "randn_like", "svd_lowrank", "uniform",
}  # fmt: skip
FORETOLD = (
    ("not currently implemented for the MPS device", "no MPS kernel"),
    ("MPS framework doesn't support float64", "float64 on mps"),
    ("to the MPS backend but it does not have support for that dtype", "dtype not on mps"),
    ("Adaptive pool MPS: input sizes must be divisible", "shape rule of mps"),
    ("MPS supports tensors with dimensions <= 16", "shape rule of mps"),
    ("MPS device does not support", "dtype rule of mps"),
    ("Could not run 'aten::", "no CUDA kernel"),
)

Row = tuple[str, str]


class OutOfTime(BaseException):
    pass


def _on_alarm(*args: Any) -> None:
    raise OutOfTime


def _operator_database() -> list[Any]:
    try:
        import expecttest  # noqa: F401
    except ImportError:
        # Only the class is needed, to import the module that holds the database.
        stand_in = types.ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase  # type: ignore[attr-defined]
        stand_in.assert_expected_inline = None  # type: ignore[attr-defined]
        sys.modules["expecttest"] = stand_in
    from torch.testing._internal.common_methods_invocations import op_db

    return list(op_db)


def _tensors(value: Any) -> list[Any]:
    import torch
    from torch.utils._pytree import tree_leaves

    return [leaf for leaf in tree_leaves(value) if isinstance(leaf, torch.Tensor)]


def _copied(value: Any, device: str) -> Any:
    import torch
    from torch.utils._pytree import tree_map

    def one(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            moved = leaf.detach().to(device, copy=True)
            return moved.requires_grad_() if leaf.requires_grad else moved
        if isinstance(leaf, torch.device) or (isinstance(leaf, str) and leaf == "cpu"):
            return type(leaf)(device)
        return leaf

    return tree_map(one, value)


def _run(operator: Any, sample: Any, device: str) -> tuple[list[Any], list[Any]]:
    """Outputs, and gradients of their sum."""
    import torch

    torch.manual_seed(0)
    inputs = _copied([sample.input, sample.args, sample.kwargs], device)
    output = operator(inputs[0], *inputs[1], **inputs[2])
    shown = sample.output_process_fn_grad(output) if sample.output_process_fn_grad else output
    ends = [
        tensor
        for tensor in _tensors(shown)
        if tensor.requires_grad and (tensor.is_floating_point() or tensor.is_complex())
    ]
    leaves = [tensor for tensor in _tensors(inputs) if tensor.requires_grad]
    gradients: list[Any] = []
    if ends and leaves:
        total = sum((end.abs() if end.is_complex() else end).sum() for end in ends)
        found = torch.autograd.grad(total, leaves, allow_unused=True)
        gradients = [gradient for gradient in found if gradient is not None]
    return _tensors(output), gradients


def _compare(expected: list[Any], found: list[Any], random: bool) -> str | None:
    import torch

    if len(expected) != len(found):
        return f"{len(found)} tensors, not {len(expected)}"
    for first, second in zip(expected, found, strict=False):
        first, second = first.detach(), second.detach().cpu()
        if first.layout is not torch.strided:
            continue
        if first.shape != second.shape or first.dtype != second.dtype:
            return f"{second.dtype} {tuple(second.shape)}, not {first.dtype} {tuple(first.shape)}"
        close = random or torch.allclose(first, second, rtol=1e-3, atol=1e-4, equal_nan=True)
        if not close:
            return "other numbers"
    return None


def _foretold(error: BaseException) -> str | None:
    text = str(error)
    for mark, meaning in FORETOLD:
        if mark in text:
            return meaning
    return None


def judge(operator: Any, device: str) -> Row:
    """(status, detail); the statuses that count as agreement are "equal" and "foretold"."""
    import torch

    from mpslint.verify.harness.simulator.state import SimulatorLimit

    dtypes = [d for d in (torch.float32, torch.int64, torch.bool) if d in operator.dtypes]
    if not dtypes:
        return "skipped", "has no float32, int64 or bool samples"
    needs_grad = operator.supports_autograd and dtypes[0].is_floating_point
    sample = next(iter(operator.sample_inputs("cpu", dtypes[0], requires_grad=needs_grad)), None)
    if sample is None:
        return "skipped", "has no samples"
    try:
        expected = _run(operator, sample, "cpu")
    except Exception as error:
        return "skipped", f"fails on the CPU: {type(error).__name__}: {str(error)[:80]}"
    try:
        found = _run(operator, sample, device)
    except SimulatorLimit as error:
        return "limit", str(error)[:160]
    except Exception as error:
        meaning = _foretold(error)
        if meaning is not None:
            return "foretold", meaning
        return "error", f"{type(error).__name__}: {str(error)[:160]}"
    random = operator.name in RANDOM
    for first, second, part in (
        (expected[0], found[0], "forward"),
        (expected[1], found[1], "backward"),
    ):
        difference = _compare(first, second, random)
        if difference is not None:
            return "different", f"{part}: {difference}"
    return "equal", ""


def sweep(device: str, every: int, offset: int) -> dict[str, Row]:
    """Judge every ``every``-th operator; installs the simulated device into this process."""
    import torch

    warnings.simplefilter("ignore")
    operators = _operator_database()
    from mpslint.verify.harness import absent, simulator

    absent.without_names(torch._C)
    simulator.install(device, None, False)
    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, _on_alarm)
    rows: dict[str, Row] = {}
    for operator in operators[offset::every]:
        name = operator.name
        if operator.variant_test_name:
            name += f" ({operator.variant_test_name})"
        signal.alarm(SECONDS_PER_OPERATOR)
        try:
            rows[name] = judge(operator, device)
        except OutOfTime:
            rows[name] = ("time", f"more than {SECONDS_PER_OPERATOR} s")
        except Exception as error:
            rows[name] = ("error", f"{type(error).__name__}: {str(error)[:160]}")
        finally:
            signal.alarm(0)
    return rows


def show(device: str, rows: dict[str, Row]) -> float:
    """Print the table; returns the share of judged operators that agree."""
    counts = Counter(status for status, _ in rows.values())
    judged = len(rows) - counts["skipped"]
    agreed = counts["equal"] + counts["foretold"]
    share = agreed / judged if judged else 0.0
    print(f"{device}: {agreed} of {judged} operators agree ({share:.1%}): {dict(counts)}")
    for name, (status, detail) in sorted(rows.items(), key=lambda row: (row[1], row[0])):
        if status != "equal":
            print(f"  {status:9} {name}: {detail}")
    return share


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["mps", "cuda"])
    parser.add_argument("--every", type=int, default=1, help="take every N-th operator")
    parser.add_argument("--offset", type=int, default=0, help="start with this one")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    options = parser.parse_args()
    if options.device is None:
        for device in ("mps", "cuda"):
            command = [sys.executable, __file__, "--device", device, "--every", str(options.every)]
            subprocess.run([*command, "--offset", str(options.offset)], check=True)
        return 0
    rows = sweep(options.device, options.every, options.offset)
    if options.json:
        print("RESULTS " + json.dumps(rows))
    else:
        show(options.device, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
