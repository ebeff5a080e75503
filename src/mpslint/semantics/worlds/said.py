"""What a call says for the parameters of a function that is followed without a run of it."""

from __future__ import annotations

from typing import TypeAlias

Said: TypeAlias = tuple[tuple[str | int, object], ...]
"""What a call gives, by the name or the place of the parameter: a flag, a text, None, or `...` for
anything else; the place -1 for what may be given to any of them."""
