"""Findings that nobody on a Mac ever meets, by what the file is there for.

Tests of a project's code for CUDA run where CUDA is, and its other tests elsewhere.
DGL's graphs lie on the CPU or on CUDA, and a model goes where its graphs are. Without CUDA that is
the CPU: nothing waits there, nothing is queued, and a choice of the CPU is right. What raises on a
Mac raises there all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.model import Severity
from mpslint.semantics.cuda_packages import computes_without_mps
from mpslint.semantics.paths import is_test_of_cuda

if TYPE_CHECKING:
    from mpslint.model import Finding
    from mpslint.semantics.context import Context

_ON_ANY_DEVICE = "MPS8"
"""Rules about what goes wrong on every GPU, be it CUDA's."""


def is_moot(context: Context, finding: Finding) -> bool:
    """Whether a finding stands in a test of CUDA; or is of what only happens on MPS, in a module
    that cannot do without data that have no way there. Whoever names MPS in it means MPS as well.
    """
    if b"mps" in context.source.data:
        return False
    if is_test_of_cuda(context.source.path):
        return True
    if finding.severity >= Severity.BREAKS or finding.code.startswith(_ON_ANY_DEVICE):
        return False
    known = context.memo.get("without a way to MPS")
    if known is None:
        known = context.memo["without a way to MPS"] = computes_without_mps(context.tree)
    return bool(known)
