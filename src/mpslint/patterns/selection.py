"""The device selection: the expression, the statement, its place and its name.

One selection per file, under a name that is free, after the imports. A device the file already
selects wins (`Devices.at_hand`).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.model import Applicability, Edit
from mpslint.patterns import in_function, styles, switched
from mpslint.patterns.asking_order import asking_order
from mpslint.patterns.availability import cuda_available, mps_available, opening_level
from mpslint.patterns.in_use import follows_machine, is_of_module, named_in_use, type_in_use, typed
from mpslint.patterns.kept_device import (
    device_of_asked,
    device_of_trained,
    is_cuda_by_default,
)
from mpslint.patterns.local_names import free_name, torch_name
from mpslint.patterns.model_device import model_device
from mpslint.patterns.named_gpus import changes_gpu
from mpslint.patterns.numbered import about_to_be_selected, of_another_gpu
from mpslint.patterns.place import (
    Place,
    comes_before,
    device_places,
    find_place,
    is_stdlib,
    place_of_function,
    settles_somewhere,
)
from mpslint.patterns.place import settles_too_early as settles_too_early
from mpslint.patterns.references import Reference
from mpslint.patterns.text import indent_unit, insert, missing_gap, quote
from mpslint.semantics.destinations.handed_devices import handed_device
from mpslint.semantics.gpus.ranks import is_ranked
from mpslint.semantics.operands.brought_back import brought_back
from mpslint.semantics.operands.companions import companion
from mpslint.semantics.operands.partners import partner
from mpslint.semantics.syntax.expressions import only_defines
from mpslint.semantics.syntax.index import LOOPS

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.devices.devices_at_hand import DeviceName
    from mpslint.sources.source import SourceFile

_CUDA_TEXT = "how the file names its GPU"
_STRANGER = "nothing of the file needs torch yet: what reads it may have none"


def chain(
    context: Context,
    torch: str,
    mark: str,
    cuda: str | None = None,
    order: tuple[str, ...] | None = None,
) -> str:
    """The selection as one conditional expression of strings.

    `cuda` is the text of the CUDA arm where it is not a plain string (`f"cuda:{rank}"`).
    """
    text = ""
    tests = _tests(context, torch)
    for backend in order or asking_order(context):
        arm = cuda if backend == "cuda" and cuda else f"{mark}{backend}{mark}"
        if backend in tests:
            text += f"{arm} if {tests[backend]} else "
    return f"{text}{mark}cpu{mark}"


def _tests(context: Context, torch: str) -> dict[str, str]:
    return {"cuda": cuda_available(torch), "mps": mps_available(context, torch)}


def statement(
    context: Context, torch: str, name: str, indent: str, cuda: str = "cuda", switch: str = ""
) -> str:
    """The selection as an `if` statement that binds `name` to a `torch.device`."""
    asked = f"{switch} and " if switch else ""
    unit, newline = indent_unit(context.source), context.source.newline
    mark = quote(context.source)
    lines: list[str] = []
    tests = _tests(context, torch)
    for backend in asking_order(context):
        if backend in tests:
            word = "elif" if lines else "if"
            lines.append(f"{indent}{word} {asked}{tests[backend]}:")
            target = cuda if backend == "cuda" else backend
            lines.append(f"{indent}{unit}{name} = {torch}.device({mark}{target}{mark})")
    lines.append(f"{indent}else:")
    lines.append(f"{indent}{unit}{name} = {torch}.device({mark}cpu{mark})")
    return newline.join(lines)


def reference(
    context: Context, node: ast.AST, index: int | None = None, *, type_only: bool = False
) -> Reference | None:
    """The device for code at `node`, with the edits that bring it there; None: no way.

    `index` is that of the CUDA device that it takes the place of, None for the current one; with
    `type_only` no index counts.
    """
    at_hand = context.devices.at_hand(node)
    fits = at_hand is not None and (type_only or _same_gpu(context, at_hand.indexed, index))
    used = named_in_use(context, node, torch_name(context, node), type_only=type_only)
    if at_hand is not None and fits and _keeps_choice(context, at_hand):
        # A module's selection says what is there, an object on what its tensors are.
        if used is None or not type_only or not is_of_module(context, at_hand):
            text = typed(context, at_hand, torch_name(context, node)) if type_only else at_hand.text
            other = "" if type_only else of_another_gpu(context, at_hand)
            level = Applicability.UNSAFE if other else Applicability.SAFE
            return Reference(text, at_hand.is_string, (), level, reason=other)
    if used is not None and used[2] is Applicability.SAFE:
        return Reference(used[0], used[1], ())
    sent = type_in_use(context, node, torch_name(context, node)) if type_only else None
    if sent is not None:
        return Reference(sent, False, ())
    beside = partner(context, node) if not type_only else None
    if beside is None and used is None and not type_only:
        beside = companion(context, node) or brought_back(context, node)
    if beside is not None:
        return Reference(f"{beside}.device", False, ())
    if used is not None:
        return Reference(used[0], used[1], (), used[2], reason=other_device(used[0]))
    handed = handed_device(context, node) if index is None and not type_only else None
    if handed is not None:
        return Reference(handed[0], handed[1], ())
    of_model = model_device(context, node) if not type_only else None
    if of_model is not None:
        return Reference(of_model, False, ())
    asked = device_of_asked(context, node) if index is None and not type_only else None
    if asked is not None:
        return Reference(asked, False, (), Applicability.UNSAFE, reason=other_device(asked))
    if at_hand is not None and fits and not type_only and is_cuda_by_default(context, at_hand):
        return Reference(at_hand.text, at_hand.is_string, ())
    trained = device_of_trained(context, node) if index is None and not type_only else None
    if trained is not None:
        return Reference(trained, False, ())
    added = _added(context, node, index, type_only=type_only)
    if added is None and at_hand is not None and fits:
        reason = other_device(at_hand.text)
        return Reference(at_hand.text, at_hand.is_string, (), Applicability.UNSAFE, reason=reason)
    return added


def reference_level(context: Context, node: ast.AST) -> Applicability | None:
    """The level of what `reference` finds, as far as that costs little; None: no way."""
    used = named_in_use(context, node, torch_name(context, node), type_only=False)
    if used is None and settles_somewhere(context):
        found = reference(context, node)
        return found.level if found is not None else None
    if used is None or used[2] is Applicability.SAFE or partner(context, node) is not None:
        return Applicability.SAFE
    at_hand = context.devices.at_hand(node)
    fits = at_hand is not None and _same_gpu(context, at_hand.indexed, None)
    if at_hand is not None and fits and _keeps_choice(context, at_hand):
        other = of_another_gpu(context, at_hand)
        return Applicability.UNSAFE if other else Applicability.SAFE
    return used[2]


def other_device(name: str) -> str:
    return f"where there is CUDA, {name} may still be another device"


def _keeps_choice(context: Context, device: DeviceName) -> bool:
    """Whether it is CUDA wherever that is, or wherever the switch of the file lets things go."""
    return follows_machine(context, device) or switched.keeps_switch(context, device)


def _same_gpu(context: Context, indexed: bool, index: int | None) -> bool:
    """Whether `cuda` and `cuda:0` are one: the file makes no other GPU the current one."""
    if indexed == (index is not None):
        return True
    return not changes_gpu(context)


def _added(
    context: Context, node: ast.AST, index: int | None, *, type_only: bool = False
) -> Reference | None:
    """A selection of its own, after the imports; none yet where the function is about to get
    the device of its process."""
    if is_ranked(context, node):
        return None
    numbered = about_to_be_selected(context, node, type_only=type_only)
    if numbered is not None:
        return numbered
    place, cuda = find_place(context, node), _cuda_text(context)
    if place is None:
        late = place_of_function(context, node)
        return _late(context, node, late, cuda) if late is not None else None
    name = free_name(context, node)
    if name is None:
        return None
    named = cuda.partition(":")[2]
    is_other = int(named or 0) != (index or 0)  # Not the first, by whichever name.
    if is_other or not _same_gpu(context, bool(named), index):
        cuda = "cuda" if index is None else f"cuda:{index}"
    source = context.source
    newline = source.newline
    styled = None
    if place.scope is context.tree:
        styled = styles.selection(context, place.torch, place.offset, cuda)
    behind = switched.place_behind(context, node, place)
    if behind is not None:
        return _by_switch(context, name, *behind, cuda, styled)
    deferred = _deferred(context, node, place, cuda, has_helper=styled is not None)
    if styled is not None and not comes_before(context, place._replace(offset=styled.offset), node):
        styled = None
    inline = context.settings.style == "inline"
    if deferred is not None and (styled is None or inline):
        return deferred
    if styled is not None and styled.is_call and inline and _is_only_need(context, node):
        added = (insert(styled.offset, with_gaps(context, styled)),) if styled.before else ()
        return Reference(styled.expression, styled.is_string, added, _own_level(context, styled))
    if styled is not None and name != context.settings.device_name and styled.is_call:
        # Beside a `device` of somebody's own there is no other name for the same thing.
        if all(in_function.is_apart(context, one) for one in (node, *device_places(context))):
            return _by_function(context, node, place, cuda)
    if styled is not None:
        return _styled(context, name, place, styled)
    body = statement(context, place.torch, name, place.indent, cuda)
    prefix = f"import torch{newline}" if place.needs_import else ""
    if place.stranger and is_stdlib(place.after):
        prefix = newline + prefix
    at_end = place.offset == len(source.text) and not source.text.endswith(("\n", "\r"))
    lead = newline if at_end else ""
    edit = insert(place.offset, f"{lead}{prefix}{newline}{body}{newline}{_gap(source, place)}")
    # What a file without torch says may well be read by something that has none.
    level = Applicability.UNSAFE if place.stranger else opening_level(context)
    return Reference(name, False, (edit,), level, reason=_STRANGER if place.stranger else "")


def _by_switch(
    context: Context,
    name: str,
    switch: switched.Switch,
    place: Place,
    cuda: str,
    styled: styles.Selection | None,
) -> Reference:
    """A selection that keeps the script's own switch, behind its options."""
    newline, level = context.source.newline, opening_level(context)
    if styled is None:
        body = statement(context, place.torch, name, "", cuda, switch=switch.text)
        edit = insert(place.offset, f"{newline}{body}{newline}{_gap(context.source, place)}")
        return Reference(name, False, (edit,), level)
    before = (insert(styled.offset, with_gaps(context, styled)),) if styled.before else ()
    line = f"{name} = {switched.in_style(context, switch, place.torch, styled)}{newline}"
    return Reference(name, styled.is_string, (*before, insert(place.offset, line)), level)


def _deferred(
    context: Context, node: ast.AST, place: Place, cuda: str, *, has_helper: bool
) -> Reference | None:
    """A function that selects, for a module that others import: to ask for CUDA while they do
    would settle which GPUs the process sees before they have said so. A program asks in the
    function that alone needs it, where that runs once. None where the module asks for CUDA at its
    top anyway."""
    elsewhere = context.elsewhere
    if elsewhere is None or place.scope is not context.tree:
        return None
    if place.needs_import:
        torch = torch_name(context, node)  # as a trial below the test of `__name__` imports it
        return _imported_for_trial(context, node, place, cuda, torch) if torch else None
    needing = device_places(context)
    mark = quote(context.source)
    text = chain(context, place.torch, mark, f"{mark}{cuda}{mark}")
    tried = _for_trial(context, node, place, text, cuda)
    if tried is not None:
        return tried
    if any(context.index.function(item) is None for item in (node, *needing)):
        return None
    is_default = isinstance(context.index.parents[node], ast.arguments)
    is_module = (is_default or not has_helper) and does_nothing_itself(context)
    imported = elsewhere.is_imported(context.source.path, is_module=is_module)
    if not imported and not in_function.runs_once(context, node):
        return None
    owners = {in_function.outermost(context, item) for item in needing}
    if len(owners) == 1 and not styles.has_helper(context, place.offset):
        own = in_function.selection(context, node, needing, place.torch, text)
        if own is not None:
            return Reference(own.name, own.is_string, (own.edit,), opening_level(context))
    return _by_function(context, node, place, cuda) if imported else None


def _imported_for_trial(
    context: Context, node: ast.AST, place: Place, cuda: str, torch: str
) -> Reference | None:
    """The same where the trial imports torch itself, before it first needs a device."""
    rows = [
        binding.node.lineno
        for name, binding in context.names.every_binding()
        if name == torch and isinstance(binding.node, ast.Import | ast.ImportFrom)
    ]
    first = min(getattr(one, "lineno", 0) for one in (node, *device_places(context)))
    if not rows or max(rows) >= first or context.index.function(node) is not None:
        return None
    mark = quote(context.source)
    text = chain(context, torch, mark, f"{mark}{cuda}{mark}")
    return _for_trial(context, node, place._replace(torch=torch), text, cuda)


def _for_trial(
    context: Context, node: ast.AST, place: Place, text: str, cuda: str
) -> Reference | None:
    """What a module needs to try itself alone, below its test of `__name__`."""
    needing, helper = device_places(context), None
    if styles.has_helper(context, place.offset):
        helper = styles.function(context, place.torch, place.offset, cuda)
        if helper is None:
            return None
        asking = helper.expression.removesuffix("()")
        needing = [
            item
            for item in needing
            if getattr(in_function.outermost(context, item), "name", "") != asking
        ]
        own = in_function.in_trial(context, node, needing, "", helper.expression)
    else:
        own = in_function.in_trial(context, node, needing, f"{place.torch}.device", text)
    if own is None:
        return None
    added = (insert(helper.offset, with_gaps(context, helper)),) if helper and helper.before else ()
    is_string = helper.is_string if helper is not None else own.is_string
    return Reference(own.name, is_string, (*added, own.edit), opening_level(context))


def does_nothing_itself(context: Context) -> bool:
    """Whether a file only defines things."""
    return not context.source.path.endswith(".ipynb") and only_defines(context.tree)


def _late(context: Context, node: ast.AST, place: Place, cuda: str) -> Reference | None:
    """What a program asks once it has said which GPUs it sees: in place, where it alone asks."""
    mark = quote(context.source)
    text = chain(context, place.torch, mark, f"{mark}{cuda}{mark}")
    tried = _for_trial(context, node, place, text, cuda)
    return tried or _by_function(context, node, place, cuda)


def _by_function(context: Context, node: ast.AST, place: Place, cuda: str) -> Reference | None:
    """A helper that selects when it is called, and what it gives kept where that is asked often."""
    needing = device_places(context)
    found = styles.function(context, place.torch, place.offset, cuda)
    if found is None:
        return None
    added = (insert(found.offset, with_gaps(context, found)),) if found.before else ()
    own = in_function.kept_by_program(context, node, needing, found.expression)
    if own is None and in_function.asks_often(context, node, needing):
        own = in_function.kept(context, node, needing, found.expression)
    if own is not None:
        level = opening_level(context)
        return Reference(own.name, found.is_string, (*added, own.edit), level)
    level = opening_level(context)
    return Reference(found.expression, found.is_string, added, level, asks=True)


def _gap(source: SourceFile, place: Place) -> str:
    """A blank line behind the selection, where the code goes on right there."""
    row = source.position(place.offset)[0]
    goes_on = place.offset < len(source.text) and source.line(row).strip()
    return source.newline if goes_on and not source.path.endswith(".ipynb") else ""


def in_style(context: Context, node: ast.AST) -> tuple[styles.Selection, tuple[Edit, ...]] | None:
    """The selection that takes the place of an expression at `node`, with what it needs; None:
    in place. Inside a function that may itself be the helper it stays in place."""
    if styles.is_inline(context):
        return None
    function = context.index.function(node)
    if function is not None and "device" in function.name.lower():
        return None
    place = find_place(context, node)
    if place is None or place.scope is not context.tree or place.needs_import:
        return None
    found = styles.selection(context, place.torch, place.offset, "cuda")
    if found is None or not comes_before(context, place._replace(offset=found.offset), node):
        return None
    added = (insert(found.offset, with_gaps(context, found)),) if found.before else ()
    return found, added


def with_gaps(context: Context, found: styles.Selection) -> str:
    """The lines that a selection needs before it, with blank lines around a function."""
    text = context.source.text
    unfinished = found.offset == len(text) and not text.endswith(("\n", "\r"))
    lead = context.source.newline if unfinished and found.before else ""
    tail = ""
    if "def " in found.before:
        tail = context.source.newline * missing_gap(text[found.offset :])
    return lead + found.before + tail


def _styled(context: Context, name: str, place: Place, styled: styles.Selection) -> Reference:
    """The selection as the project's style has it, bound to `name`."""
    text, newline = context.source.text, context.source.newline
    lead = newline if styled.offset == len(text) and not text.endswith(("\n", "\r")) else ""
    torch = f"import torch{newline}" if place.needs_import and styled.before else ""
    gap = newline * (2 if "def " in styled.before or styled.offset > place.offset else 1)
    line = f"{name} = {styled.expression}{newline}"
    edit = insert(styled.offset, f"{lead}{torch}{styled.before}{gap}{line}")
    return Reference(name, styled.is_string, (edit,), _own_level(context, styled))


def _is_only_need(context: Context, node: ast.AST) -> bool:
    """Whether the device that is written out here is all that the file needs, and not in a loop."""
    if not isinstance(node, ast.Constant) or device_places(context) != [node]:
        return False
    return not any(isinstance(parent, LOOPS) for parent in context.index.ancestors(node))


def _own_level(context: Context, styled: styles.Selection) -> Applicability:
    """The project's own helper keeps to the project's policy."""
    own = styled.is_call and "def " not in styled.before
    return Applicability.SAFE if own else opening_level(context)


def _cuda_text(context: Context) -> str:
    """`cuda:0` where that is the only way the file names its GPU, else `cuda`."""
    if _CUDA_TEXT not in context.memo:
        context.memo[_CUDA_TEXT] = _find_cuda_text(context)
    return str(context.memo[_CUDA_TEXT])


def _find_cuda_text(context: Context) -> str:
    literals = [
        x for x in context.devices.literals if x.backend == "cuda" and context.devices.slot(x.node)
    ]
    indices = {literal.ordinal for literal in literals}
    only = indices.pop() if len(indices) == 1 else None
    if only is None or context.index.calls.get("cuda"):
        return "cuda"
    return f"cuda:{only}"
