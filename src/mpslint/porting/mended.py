"""The rows of a file in which what may be float64 is moved, and is cast first once its fixes, or
those of another file, bring tensors to MPS: `check` makes none of them, and says what `fix` would.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability
from mpslint.patterns.late_casts import rows_cast_first
from mpslint.porting.bringing import brings
from mpslint.porting.foreseen import is_mended, stays_beside_wide, wide_moves
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.harm import harms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mpslint.model import Finding
    from mpslint.semantics.context import Context

_ARRAYS = "MPS402"
"""The code that tells of such casts beside a port."""
_WIDE = "MPS401"
"""That of what says itself that it is float64, and is moved."""


def mended_rows(context: Context, findings: Iterable[Finding]) -> frozenset[int]:
    """Those of a file with these findings."""
    found: set[int] = set()
    settings = context.settings
    opens = any(brings(one.code) and one.applicability is Applicability.SAFE for one in findings)
    told = _ARRAYS in settings.enabled(context.source.path) and settings.may_fix(_ARRAYS)
    if opens or told:
        found |= rows_cast_first(context)
    if opens and context.worlds.is_asked:
        for harm in harms(context.worlds, (Kind.WIDE,)):
            if harm.only_once_ported and is_mended(context, harm):
                assert isinstance(harm.node, ast.Call)
                found.add(harm.node.lineno)
    if opens and _WIDE in settings.enabled(context.source.path) and settings.may_fix(_WIDE):
        found |= {one.lineno for one in wide_moves(context) if not stays_beside_wide(context, one)}
    return frozenset(found)
