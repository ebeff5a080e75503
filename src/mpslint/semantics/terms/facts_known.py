"""The words for facts, and what calls, names and device names say in them.

Facts are short words:

- `cuda`, `mps`, `accelerator`: that backend is available (or the device at hand is of that type);
- `no-cuda`, `no-mps`, `no-accelerator`: it is known to be absent (or the device is another);
- `cpu`: the device at hand is the CPU; `darwin`: the system is macOS; `not-darwin`;
- `mps-built`: the wheel knows MPS, which says nothing of the machine; `mps-attribute`:
  `torch.mps` or `torch.backends.mps` exists;
- `caught`: an exception raised here is caught in this function;
- `asked-cuda`, `asked-mps`: a switch of the user's whose name says so (`--cuda`), no more;
- `nccl`: the process group talks through NCCL, which only CUDA has (said beside `cuda`);
- `cuda-used`: something before, on every way here, raises where there is no CUDA (`.cuda()`): not
  that this is right, but that what comes later does not come to pass on a Mac.
"""

from __future__ import annotations

import ast

from mpslint.facts import priors

Facts = frozenset[str]
NONE: Facts = frozenset()
NOBODY = "nobody"
"""No file beside uses what is asked about, which is no fact about a place."""
IMPOSSIBLE: Facts = frozenset(
    {
        "cuda",
        "no-cuda",
        "mps",
        "no-mps",
        "accelerator",
        "no-accelerator",
        "cpu",
        "darwin",
        "not-darwin",
        "mps-built",
        "mps-attribute",
        "asked-cuda",
        "asked-mps",
        "nccl",
        "cuda-used",
        "impossible",
    }
)
"""Everything follows from a test that cannot succeed."""
DEVICE_FACTS = IMPOSSIBLE - {"impossible", "asked-cuda", "asked-mps", "cuda-used"}
CUDA_SETTLED: Facts = frozenset({"cuda", "asked-cuda", "no-mps", "caught"})
"""Facts under which a CUDA call does not run on a Mac, or its failure is dealt with."""

CALLS: dict[str, tuple[Facts, Facts]] = {
    "torch.cuda.is_available": (frozenset({"cuda"}), frozenset({"no-cuda"})),
    "torch.cuda.device_count": (frozenset({"cuda"}), frozenset({"no-cuda"})),
    "torch.cuda.is_initialized": (frozenset({"cuda"}), NONE),
    "torch.cuda.is_bf16_supported": (frozenset({"cuda"}), NONE),
    "torch.distributed.is_nccl_available": (frozenset({"cuda"}), NONE),
    "torch.backends.cuda.is_built": (NONE, frozenset({"no-cuda"})),
    "torch.backends.cudnn.is_available": (frozenset({"cuda"}), NONE),
    "torch.backends.mps.is_available": (frozenset({"mps"}), frozenset({"no-mps"})),
    "torch.mps.is_available": (frozenset({"mps"}), frozenset({"no-mps"})),
    "torch.mps.device_count": (frozenset({"mps"}), frozenset({"no-mps"})),
    "torch.backends.mps.is_built": (frozenset({"mps-built"}), frozenset({"no-mps"})),
    "torch.accelerator.is_available": (
        frozenset({"accelerator"}),
        frozenset({"no-accelerator", "no-cuda", "no-mps"}),
    ),
    "torch.accelerator.current_accelerator": (frozenset({"accelerator"}), NONE),
    "torch.xpu.is_available": (frozenset({"xpu", "no-cuda", "no-mps"}), NONE),
    "torch.npu.is_available": (frozenset({"npu", "no-cuda", "no-mps"}), NONE),
}
BACKENDS = ("cuda", "mps", "cpu", "xpu", "npu")
OTHER_DEVICES = ("lazy", "meta", "xla", "tpu", "hpu", "ipu", "mtia", "vulkan")
"""Device types that are words of other things too; where a device is compared, they are not."""


def common(parts: list[Facts]) -> Facts:
    if not parts:
        return NONE
    common = parts[0]
    for part in parts[1:]:
        common &= part
    return common


def is_backend(backend: str, outcome: bool) -> Facts:
    if outcome:
        others = {f"no-{other}" for other in ("cuda", "mps") if other != backend}
        return frozenset({backend, *others})
    return frozenset({f"no-{backend}"})


def backend_word(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        word = node.value.split(":")[0]
        return word if word in BACKENDS else None
    return None


def by_helper_name(name: str, outcome: bool) -> Facts | None:
    """Helpers of well-known libraries, by their last name alone; None for any other function."""
    question = priors.asks("helpers", name)
    return CALLS[question][0 if outcome else 1] if question is not None else None


def by_constant_name(name: str, outcome: bool) -> Facts:
    """Imported flags such as `HAS_CUDA`, `TEST_CUDA`, `IS_MPS_AVAILABLE`."""
    question = priors.asks("flags", name.upper())
    if question is None:
        return NONE
    return is_backend("mps" if "mps" in question else "cuda", outcome)


def last_name(node: ast.AST) -> str | None:
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call):
        return last_name(node.func)
    return None


def names_device(node: ast.expr) -> bool:
    """Whether what is compared is a device by its name: `args.device`, `device.type`."""
    if isinstance(node, ast.Attribute) and node.attr == "type":
        node = node.value
    return priors.names_device(last_name(node))
