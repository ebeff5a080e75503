"""The methods of `torch.nn.Module` that hand out its tensors (`torch/nn/modules/module.py`)."""

from __future__ import annotations

EACH = frozenset({"parameters", "buffers"})
NAMED = frozenset({"named_parameters", "named_buffers"})
"""Each tensor with its name."""
TABLE = "state_dict"
HANDING = EACH | NAMED | {TABLE}
