"""The text of a device as torch spells it."""

from __future__ import annotations

import re

# Fact: `torch.device`; `c10/core/DeviceType.cpp` lists the types.
LITERAL = re.compile(r"(cuda|mps)(?::(\d+))?\Z")
# Fact: `torch.device`, in front of an index.
PREFIX = re.compile(r"(cuda|mps):\Z")
# Fact: `torch.device`, and Python's ways to put an index into a text.
FORMAT = re.compile(r"(cuda|mps):(\{.*\}|%[sd])\Z")
# Fact: `c10/core/DeviceType.cpp`.
TYPED = re.compile(r"(cuda|mps|cpu|xpu|npu|meta|hpu|xla|mlu|musa|privateuseone)(:.*)?\Z", re.DOTALL)
"""Any device: its type, and what may stand behind it."""
