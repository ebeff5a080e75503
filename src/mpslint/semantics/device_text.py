"""The text of a device as torch spells it.

Source: `torch.device` and `c10/core/DeviceType.cpp`, which lists the types.
"""

from __future__ import annotations

import re

LITERAL = re.compile(r"(cuda|mps)(?::(\d+))?\Z")
PREFIX = re.compile(r"(cuda|mps):\Z")
FORMAT = re.compile(r"(cuda|mps):(\{.*\}|%[sd])\Z")
TYPED = re.compile(r"(cuda|mps|cpu|xpu|npu|meta|hpu|xla|mlu|musa|privateuseone)(:.*)?\Z", re.DOTALL)
"""Any device: its type, and what may stand behind it."""
