"""One function of the file in place of many copies of the same choice, or text, of a device.

`torch.device(f"cuda:{gpu_id}" if torch.cuda.is_available() and gpu_id >= 0 else "cpu")`, in the
agent and in its replay buffer, would become the same six lines twice.
"""

from __future__ import annotations

import ast
import builtins
from typing import TYPE_CHECKING

from mpslint.patterns import styles
from mpslint.patterns.place import behind_imports, comes_before, device_places
from mpslint.patterns.selection import reference, with_gaps
from mpslint.patterns.text import indent_unit, insert, replace
from mpslint.semantics.syntax.index import COMPREHENSIONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mpslint.model import Edit
    from mpslint.patterns.flat import Arm
    from mpslint.patterns.place import Place
    from mpslint.semantics.context import Context

_NAMES = ("get_device", "select_device", "choose_device")


def shared_choice(
    context: Context, node: ast.IfExp, choice: Sequence[Arm]
) -> tuple[Edit, ...] | None:
    """The call of a new function that chooses, with that function, where other functions of the
    file choose by the very same words. `choice`: the values and tests of the arms; None: in
    place."""
    whole = context.index.parents[node]
    if context.source.path.endswith(".ipynb") or not _is_device(context, whole, node):
        return None
    assert isinstance(whole, ast.Call)
    same = _same(context, whole)
    asked = _asked(context, whole)
    if len(same) < 2 or asked is None or any(_asked(context, other) != asked for other in same):
        return None
    if any("\n" in text for arm in choice for text in arm):
        return None
    place = behind_imports(context)
    name = next((name for name in _NAMES if not _is_taken(context, name)), None)
    if place is None or name is None:
        return None
    if not all(comes_before(context, place, other) for other in same):
        return None
    parameters = ", ".join(asked)
    head = context.source.segment(whole.func)
    text = _text(context, f"def {name}({parameters}) -> {head}:", head, choice, place)
    call = replace(context.source, whole, f"{name}({parameters})")
    return insert(place.offset, text), call


def shared_device(
    context: Context, node: ast.expr, selecting: Sequence[ast.AST]
) -> tuple[Edit, ...] | None:
    """The call of a function that selects in place of a device that is written out, where another
    function of the file writes out the same for itself. `selecting`: all such places; None: in
    place."""
    whole, place = context.index.parents[node], behind_imports(context)
    alike = [one for one in selecting if ast.dump(one) == ast.dump(whole)]
    if len(alike) < 2 or whole not in alike or place is None:
        return None
    if not isinstance(node, ast.Constant) or context.source.path.endswith(".ipynb"):
        return None
    found = styles.function(context, place.torch, place.offset, str(node.value))
    if found is None or found.is_string or not comes_before(context, place, node):
        return None
    added = (insert(found.offset, with_gaps(context, found)),) if found.before else ()
    if any(_selects_otherwise(context, one, added) for one in _others(context, selecting)):
        return None
    assert isinstance(whole, ast.Call)
    return (*added, replace(context.source, whole, found.expression))


def _others(context: Context, selecting: Sequence[ast.AST]) -> list[ast.AST]:
    """Whatever else of the file needs a device, and chooses none itself."""
    apart = [*selecting, *(chain.node for chain in context.chains.without_mps)]
    return [
        place
        for place in device_places(context)
        if not any(context.index.within(place, one) for one in apart)
    ]


def _selects_otherwise(context: Context, place: ast.AST, added: tuple[Edit, ...]) -> bool:
    """Whether the file would get a second selection for a place, which could serve all."""
    found = reference(context, place)
    return found is not None and bool(found.edits) and not set(added) & set(found.edits)


def _is_device(context: Context, whole: ast.AST, node: ast.IfExp) -> bool:
    return (
        isinstance(whole, ast.Call)
        and context.resolve(whole.func) == "torch.device"
        and whole.args == [node]
        and not whole.keywords
    )


def _same(context: Context, whole: ast.Call) -> list[ast.Call]:
    """The choices of the file that are written as this one is, each in a function."""
    text = context.source.segment(whole)
    found = []
    for chain in context.chains.without_mps:
        other = context.index.parents[chain.node]
        if not isinstance(chain.node, ast.IfExp) or not _is_device(context, other, chain.node):
            continue
        assert isinstance(other, ast.Call)
        if context.source.segment(other) == text and context.index.function(other) is not None:
            found.append(other)
    return found if whole in found else []


def _asked(context: Context, whole: ast.Call) -> list[str] | None:
    """The names of its function that a choice reads; None where one is no plain value."""
    found: dict[str, None] = {}
    for node in ast.walk(whole):
        if isinstance(node, (*COMPREHENSIONS, ast.Lambda, ast.NamedExpr, ast.Await)):
            return None
        if not isinstance(node, ast.Name):
            continue
        owner = context.names.owner(node.id, node)
        if owner is None and hasattr(builtins, node.id):
            continue
        if owner is None or node.id in ("self", "cls"):
            return None
        if owner is not context.names.module:
            found[node.id] = None
    return list(found)


def _text(context: Context, header: str, device: str, choice: Sequence[Arm], place: Place) -> str:
    source = context.source
    unit, newline = indent_unit(source), source.newline
    lines = [header]
    for value, test in choice:
        if test:
            lines += [f"{unit}if {test}:", f"{unit}{unit}return {device}({value})"]
        else:
            lines.append(f"{unit}return {device}({value})")
    rest = source.text[place.offset :]
    blank = next((n for n, line in enumerate(rest.splitlines()) if line.strip()), 2)
    lead = newline if place.offset == len(source.text) and not source.text.endswith("\n") else ""
    return lead + newline.join(["", "", *lines]) + newline * (1 + max(2 - blank, 0))


def _is_taken(context: Context, name: str) -> bool:
    return any(bound == name for bound, _ in context.names.every_binding()) or bool(
        context.index.names.get(name)
    )
