"""One function of the file in place of many copies of the choice between memory counters."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.patterns.own_device import tests_at
from mpslint.patterns.place import behind_imports, comes_before
from mpslint.patterns.shared_dispatch import (
    FEW,
    MANY,
    as_function,
    below_the_device,
    is_taken,
    shared_tests,
)
from mpslint.patterns.text import insert, replace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.model import Edit
    from mpslint.patterns.own_device import Tests
    from mpslint.semantics.context import Context


def shared_counter(
    context: Context, call: ast.Call, calls: Sequence[ast.Call], name: str, mps: str
) -> tuple[tuple[Edit, ...], Tests] | None:
    """`max_memory_allocated()` for `torch.cuda.max_memory_allocated()`: a function that `calls`,
    all of the file that ask this counter, are worth, and what it asks. None: in place."""
    alike = [one for one in calls if not one.args and not one.keywords]
    if len(alike) < FEW or call not in alike or context.settings.style == "accelerator":
        return None
    place = behind_imports(context)
    function = next((f for f in (name, f"device_{name}") if not is_taken(context, f)), None)
    if place is None or function is None:
        return None
    if not all(comes_before(context, place, one) and _is_exact(context, one) for one in alike):
        return None
    tests = shared_tests(context, place.torch, alike)
    own = (tests_at(context, one, place.torch)[:2] for one in alike)
    if len(alike) < MANY and any(one != tests[:2] for one in own):
        return None
    if tests.device:
        place = below_the_device(context, place, tests.device, alike)
    lines = [
        f"if {tests.cuda}:",
        f"\treturn {place.torch}.cuda.{name}()",
        f"if {tests.mps}:",
        f"\treturn {mps}",
        "return 0",
    ]
    text = as_function(context, function, place, lines)
    return (insert(place.offset, text), replace(context.source, call, f"{function}()")), tests


def _is_exact(context: Context, call: ast.Call) -> bool:
    """Whether a call is where its position says: in f-strings not always before Python 3.12."""
    return context.source.segment(call) == ast.unparse(call)
