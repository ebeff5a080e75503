"""How fixes name the device that takes the place of CUDA at a place of the code."""

from __future__ import annotations

from mpslint.model import Applicability, Edit
from mpslint.records import NamedTuple


class Reference(NamedTuple):
    """How to name the selected device at a place."""

    text: str
    is_string: bool
    edits: tuple[Edit, ...]
    """What must be added to the file for it; empty where the device is there already."""
    level: Applicability = Applicability.SAFE
    """Unsafe where somebody else may have chosen another device than the CUDA one."""
    asks: bool = False  # `get_device()`: it asks the machine wherever it stands
    reason: str = ""
    """Why it is unsafe."""

    @property
    def type_text(self) -> str:
        """The device type as a string, for `autocast` and its like."""
        return f"{self.text}.type" if not self.is_string else self.text
