"""A gate of which both arms load one checkpoint, the one to the CPU: what is copied into modules
may be loaded to the CPU in both.

`if cuda: net.load_state_dict(torch.load(path)); net.cuda()`, and in the other arm
`net.load_state_dict(torch.load(path, map_location="cpu"))`.
"""

from __future__ import annotations

import ast
import copy
from typing import TYPE_CHECKING

from mpslint.patterns.only_copied import goes_to_state_dict
from mpslint.patterns.text import replace
from mpslint.semantics.syntax.expressions import keyword

if TYPE_CHECKING:
    from mpslint.model import Edit
    from mpslint.semantics.context import Context

_WORD = "map_location"


def as_loaded_anywhere(context: Context, statement: ast.stmt) -> ast.stmt:
    """A copy of a statement that does not say that its checkpoints go to the CPU."""
    made = copy.deepcopy(statement)
    pairs = zip(ast.walk(statement), ast.walk(made), strict=True)
    for before, after in [pair for pair in pairs if isinstance(pair[0], ast.Call)]:
        if isinstance(after, ast.Call) and _goes_to_host(context, before):
            after.keywords = [one for one in after.keywords if one.arg != _WORD]
    return made


def loads_to_host(context: Context, gate: ast.If, *, other_arm: bool) -> list[Edit]:
    """The loads of the arm that is kept, as the other arm has them."""
    arm, other = (gate.orelse, gate.body) if other_arm else (gate.body, gate.orelse)
    edits, there = [], [call for item in other for call in _loads(context, item)]
    for call in [call for item in arm for call in _loads(context, item)]:
        same = next((one for one in there if _is_same(one, call)), None)
        if same is not None and keyword(call, _WORD) is None and _goes_to_host(context, same):
            edits.append(replace(context.source, call, context.source.segment(same)))
    return edits


def is_copied(context: Context, statement: ast.stmt) -> bool:
    """Whether all that a statement loads is copied into what is there."""
    return all(goes_to_state_dict(context, call) for call in _loads(context, statement))


def _loads(context: Context, statement: ast.stmt) -> list[ast.Call]:
    calls = [node for node in ast.walk(statement) if isinstance(node, ast.Call)]
    return [call for call in calls if context.resolve(call.func) == "torch.load"]


def _is_same(one: ast.Call, two: ast.Call) -> bool:
    mine, yours = (
        [ast.dump(item) for item in (*call.args, *call.keywords) if not _says_where(item)]
        for call in (one, two)
    )
    return mine == yours


def _says_where(item: ast.AST) -> bool:
    return isinstance(item, ast.keyword) and item.arg == _WORD


def _goes_to_host(context: Context, call: ast.AST) -> bool:
    if not isinstance(call, ast.Call) or context.resolve(call.func) != "torch.load":
        return False
    given = keyword(call, _WORD)
    if isinstance(given, ast.Lambda):
        # `lambda storage, location: storage`
        first = next(iter(given.args.args), None)
        return first is not None and ast.unparse(given.body) == first.arg
    if isinstance(given, ast.Call) and context.resolve(given.func) == "torch.device":
        given = given.args[0] if len(given.args) == 1 else None
    return isinstance(given, ast.Constant) and given.value == "cpu"
