"""What fixes of a rule bring to a Mac, by the rule's code alone: whoever only shows what an earlier
run found asks this, and needs nothing of the analysis for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.model import Applicability, Severity

if TYPE_CHECKING:
    from mpslint.model import Finding

OPENING = "MPS1"
"""Codes of the rules about where tensors and modules go."""
_NARROWING = frozenset(
    {"MPS104", "MPS105", "MPS106", "MPS107", "MPS108", "MPS109", "MPS113", "MPS116", "MPS117"}
)
"""Those of them whose fixes ask more before MPS is used, or ask a tensor where it is."""
_ON_EVERY_MACHINE = frozenset({"MPS414", "MPS415", "MPS416"})
"""Codes of what raises with CUDA, too: to mend that is worth something whatever else raises."""
DTYPES = frozenset({"MPS401", "MPS402", "MPS404", "MPS417"})
"""Codes of the rules about types that MPS lacks: they raise only once a tensor is there."""
_ASKING = DTYPES - {"MPS402", "MPS417"}
"""Those of them whose fixes ask for the device: what arrays become is mostly a cast that comes
before the move, right wherever that goes, and a caller may choose MPS."""
_KERNELS = "MPS5"
"""Codes of the rules about operators that MPS has no kernel for."""
_SILENCING = frozenset({"MPS608"})
"""Codes of what only warns where it does not raise."""


def brings(code: str) -> bool:
    """Whether fixes of a rule may bring tensors to MPS that were elsewhere."""
    return code.startswith(OPENING) and not narrows(code)


def narrows(code: str) -> bool:
    """Whether fixes of a rule let no tensor come to MPS that did not go there before."""
    return code in _NARROWING


def silences(code: str) -> bool:
    """Whether fixes of a rule do nothing for a program that ends, before or after, for want of
    CUDA: where it goes on it would warn."""
    return code in _SILENCING


def ran(code: str, severity: Severity) -> bool:
    """Whether a Mac got past such a finding, with its tensors on the CPU, and its fix is there for
    MPS alone."""
    return severity < Severity.BREAKS or code in _ASKING or code.startswith(_KERNELS)


def is_aid(code: str, severity: Severity) -> bool:
    """Whether fixes of a finding bring no tensor to MPS, and do something for a program that comes
    there, or that goes on without CUDA."""
    return severity >= Severity.IGNORES and not (
        brings(code) or narrows(code) or code in _ON_EVERY_MACHINE
    )


def hangs_on_others(finding: Finding) -> bool:
    """Whether its fix is safe as far as its file shows, and worth something only where nothing else
    is in the way."""
    is_for_port = (
        brings(finding.code) or silences(finding.code) or is_aid(finding.code, finding.severity)
    )
    return is_for_port and finding.applicability is Applicability.SAFE
