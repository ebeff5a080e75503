"""How a device is spelled: literals, their prefixes, and the names of variables that hold one."""

from __future__ import annotations

import re

LITERAL = re.compile(r"(cuda|mps)(?::(\d+))?\Z")
PREFIX = re.compile(r"(cuda|mps):\Z")
FORMAT = re.compile(r"(cuda|mps):(\{.*\}|%[sd])\Z")
DEVICE_NAME = re.compile(
    r"^(.*_)?(device|dev|devices?_(str|name|type|id)|infer_device|map_location)\d*$", re.I
)
