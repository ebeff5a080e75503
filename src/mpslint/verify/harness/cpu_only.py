"""``--device cpu``: this machine has no accelerator, whatever is in it."""

from __future__ import annotations

from . import absent


def install() -> None:
    """Make CUDA and MPS as absent as they are in a CPU build; raises Unavailable if that fails."""
    from .bootstrap import Unavailable

    try:
        absent.without_devices()
    except (RuntimeError, AttributeError, ValueError) as error:
        raise Unavailable(f"the devices of this torch cannot be hidden: {error}") from error
    if "cuda" in absent.BUILT_FOR:
        from .simulator import legacy_types

        legacy_types.leave_out()
