"""Trainers of Lightning's that are given a number of GPUs, by which they mean those of CUDA.

`Trainer(gpus=1)` raises where there is no CUDA in each version that has the argument, and in each
later one since it has none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING

from mpslint.facts.machines import LIGHTNING
from mpslint.semantics.purpose.test_code import only_tests_run
from mpslint.semantics.syntax.expressions import keyword
from mpslint.semantics.worlds.machines import MAC

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

# Fact: Lightning 1.9, `accelerator_connector.py` and `device_parser.parse_gpu_ids`:
# MisconfigurationException; 2.0 took `gpus` away: TypeError.
_TRAINER = "Trainer"


def trainers_of_gpus(context: Context) -> Iterator[ast.expr]:
    """What trainers are given for `gpus`, where that asks for some, whatever machine there is."""
    for call in context.index.calls.get(_TRAINER, ()):
        given = keyword(call, "gpus")
        if given is None or not _asks_for_some(context, given):
            continue
        name = context.resolve(call.func) or ""
        if not name.startswith(LIGHTNING) or name.rpartition(".")[2] != _TRAINER:
            continue
        if context.worlds.reach(call) & MAC and not only_tests_run(context, call):
            yield given


def _asks_for_some(context: Context, given: ast.expr) -> bool:
    """A number but 0, or a list of them, that is written out, here or where a name is given it."""
    if isinstance(given, ast.List | ast.Tuple):
        return bool(given.elts)
    if isinstance(given, ast.Constant | ast.UnaryOp):
        return _is_some(given)
    if isinstance(given, ast.Name):
        made = [binding.value for binding in context.flow.reaching(given)]
        return bool(made) and all(
            one is not None and not isinstance(one, ast.Name) and _asks_for_some(context, one)
            for one in made
        )
    return False


def _is_some(node: ast.expr) -> bool:
    while isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and node.value not in (None, 0, "0", "", False)
