"""The device selection: the expression, the statement, its place and its name.

One selection per file, under a name that is free, after the imports. A device the file already
selects wins (`Devices.at_hand`).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from mpslint.model import Applicability, Edit
from mpslint.patterns import styles
from mpslint.patterns.availability import cuda_available, mps_available
from mpslint.patterns.text import indent_unit, insert, line_limit, quote
from mpslint.semantics.legacy_types import CUDA_TYPES
from mpslint.semantics.ranks import is_ranked
from mpslint.semantics.selected_devices import assigned_cuda, binds_cuda

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.devices_at_hand import DeviceName

_PLACES = "places that name the device"
_SPARE_NAMES = ("device", "torch_device", "default_device", "selected_device", "mpslint_device")


class Reference(NamedTuple):
    """How to name the selected device at a place."""

    text: str
    is_string: bool
    edits: tuple[Edit, ...]
    """What must be added to the file for it; empty where the device is there already."""
    level: Applicability = Applicability.SAFE
    """Unsafe where somebody else may have chosen another device than the CUDA one."""

    @property
    def type_text(self) -> str:
        """The device type as a string, for `autocast` and its like."""
        return f"{self.text}.type" if not self.is_string else self.text


class Place(NamedTuple):
    """Where a selection can stand."""

    offset: int
    indent: str
    torch: str
    """The local name of torch there."""
    scope: ast.AST
    after: ast.stmt
    needs_import: bool = False


def torch_name(context: Context, at: ast.AST) -> str | None:
    """The name under which `at` sees torch; None where it is not imported for it."""
    names = context.names
    scope = names.scope_of(at)
    while scope is not None:
        for name, bindings in scope.bindings.items():
            if any(b.qualified == "torch" for b in bindings if b.kind == "import"):
                if names.owner(name, at) is scope:
                    return name
            elif len(bindings) == 1 and isinstance(bindings[0].value, ast.Call):
                if names.resolve(bindings[0].value) == "torch" and names.owner(name, at) is scope:
                    return name
        if scope.parent is None:
            return None
        scope = scope.parent
    return None


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
    for backend in order or context.settings.device_order:
        arm = cuda if backend == "cuda" and cuda else f"{mark}{backend}{mark}"
        if backend in tests:
            text += f"{arm} if {tests[backend]} else "
    return f"{text}{mark}cpu{mark}"


def _tests(context: Context, torch: str) -> dict[str, str]:
    return {"cuda": cuda_available(torch), "mps": mps_available(context, torch)}


def wrapped_chain(context: Context, text: str, indent: str, before: int) -> str:
    """`text`, a conditional expression, in parentheses over several lines where it is too long.

    `before` is the number of columns in front of it.
    """
    if before + len(text) <= line_limit(context.source):
        return text
    newline, unit = context.source.newline, indent_unit(context.source)
    inner = indent + unit
    lines = text.replace(" if ", f"{newline}{inner}if ").replace(" else ", f"{newline}{inner}else ")
    return f"({newline}{inner}{lines}{newline}{indent})"


def statement(context: Context, torch: str, name: str, indent: str, cuda: str = "cuda") -> str:
    """The selection as an `if` statement that binds `name` to a `torch.device`."""
    unit, newline = indent_unit(context.source), context.source.newline
    mark = quote(context.source)
    lines: list[str] = []
    tests = _tests(context, torch)
    for backend in context.settings.device_order:
        if backend in tests:
            word = "elif" if lines else "if"
            lines.append(f"{indent}{word} {tests[backend]}:")
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
    if at_hand is not None and fits and follows_machine(context, at_hand):
        return Reference(at_hand.text, at_hand.is_string, ())
    added = _added(context, node, index)
    if added is None and at_hand is not None and fits:
        return Reference(at_hand.text, at_hand.is_string, (), Applicability.UNSAFE)
    return added


def follows_machine(context: Context, device: DeviceName) -> bool:
    """Whether a device at hand is CUDA wherever CUDA is, whoever calls and whatever is asked."""
    if device.attribute is not None:
        return assigned_cuda(context, device.attribute)
    return bool(device.bindings) and all(binds_cuda(context, b) for b in device.bindings)


def _same_gpu(context: Context, indexed: bool, index: int | None) -> bool:
    """Whether `cuda` and `cuda:0` are one: the file makes no other GPU the current one."""
    if indexed == (index is not None):
        return True
    return not changes_gpu(context)


def changes_gpu(context: Context) -> bool:
    """Whether the file makes another GPU than the first the current one."""
    return next(context.calls_of("torch.cuda.set_device", "torch.cuda.device"), None) is not None


def _added(context: Context, node: ast.AST, index: int | None) -> Reference | None:
    """A selection of its own, after the imports; none yet where the function is about to get
    the device of its process."""
    if is_ranked(context, node):
        return None
    place = find_place(context, node)
    if place is None:
        return None
    name = free_name(context, node)
    cuda = _cuda_text(context)
    if name is None:
        return None
    if not _same_gpu(context, ":" in cuda, index):
        cuda = "cuda" if index is None else f"cuda:{index}"
    source = context.source
    newline = source.newline
    styled = None
    if place.scope is context.tree:
        styled = styles.selection(context, place.torch, place.offset, cuda)
    if styled is not None and _comes_before(context, place._replace(offset=styled.offset), node):
        return _styled(context, name, place, styled)
    body = statement(context, place.torch, name, place.indent, cuda)
    prefix = f"import torch{newline}" if place.needs_import else ""
    at_end = place.offset == len(source.text) and not source.text.endswith(("\n", "\r"))
    lead = newline if at_end else ""
    gap = newline if place.indent == "" else ""
    return Reference(name, False, (insert(place.offset, f"{lead}{prefix}{gap}{body}{newline}"),))


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
    if found is None or not _comes_before(context, place._replace(offset=found.offset), node):
        return None
    text = context.source.text
    unfinished = found.offset == len(text) and not text.endswith(("\n", "\r"))
    lead = context.source.newline if unfinished and found.before else ""
    tail = ""
    if "def " in found.before and text[found.offset :].lstrip(" \t")[:1] not in ("\n", "\r", ""):
        tail = context.source.newline * 2
    added = (insert(found.offset, lead + found.before + tail),) if found.before else ()
    return found, added


def _styled(context: Context, name: str, place: Place, styled: styles.Selection) -> Reference:
    """The selection as the project's style has it, bound to `name`."""
    text, newline = context.source.text, context.source.newline
    lead = newline if styled.offset == len(text) and not text.endswith(("\n", "\r")) else ""
    torch = f"import torch{newline}" if place.needs_import and styled.before else ""
    gap = newline * (2 if "def " in styled.before or styled.offset > place.offset else 1)
    line = f"{name} = {styled.expression}{newline}"
    edit = insert(styled.offset, f"{lead}{torch}{styled.before}{gap}{line}")
    return Reference(name, styled.is_string, (edit,))


def _cuda_text(context: Context) -> str:
    """`cuda:0` where that is the only way the file names its GPU, else `cuda`."""
    literals = [
        x for x in context.devices.literals if x.backend == "cuda" and context.devices.slot(x.node)
    ]
    indices = {literal.ordinal for literal in literals}
    only = indices.pop() if len(indices) == 1 else None
    if only is None or context.index.calls.get("cuda"):
        return "cuda"
    return f"cuda:{only}"


def several_gpus(context: Context) -> bool:
    """Whether the file names more than one CUDA device, so that one name cannot stand for all."""
    indices = {
        literal.ordinal or 0
        for literal in context.devices.literals
        if literal.backend == "cuda" and context.devices.slot(literal.node) is not None
    }
    for call in context.index.calls.get("cuda", ()):
        for given in call.args[:1]:
            if isinstance(given, ast.Constant) and type(given.value) is int:
                indices.add(given.value)
    return len(indices) > 1


def find_place(context: Context, node: ast.AST) -> Place | None:
    """After the imports of the module, or of the function where only it imports torch."""
    place = _in_block(context, context.tree.body, context.tree, "")
    if place is not None:
        place = None if _forks(context) else _behind_visible_devices(context, place)
    if place is not None and _comes_before(context, place, node):
        return place
    function = context.index.function(node)
    while function is not None:
        place = _in_block(context, function.body, function, None)
        if place is not None and _comes_before(context, place, node):
            return None if settles_too_early(context, place.after) else place
        function = context.index.function(function)
    return None


def _behind_visible_devices(context: Context, place: Place) -> Place | None:
    """`place`, or the place behind `os.environ["CUDA_VISIBLE_DEVICES"] = ...`.

    To ask whether CUDA is available settles which GPUs a process sees. None where a function sets
    the variable, since nobody knows when.
    """
    source = context.source
    for constant in context.index.strings:
        if constant.value != "CUDA_VISIBLE_DEVICES" or source.span(constant)[0] < place.offset:
            continue
        if not _is_set(context, constant):
            continue
        item: ast.stmt = context.index.statement(constant)
        while context.index.parents[item] is not context.tree:
            item = context.index.statement(context.index.parents[item])
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return None
        row = item.end_lineno or item.lineno
        if row >= len(source.starts) or ";" in source.line(row):
            return None
        place = place._replace(offset=source.starts[row], after=item)
    return place


def settles_too_early(context: Context, node: ast.AST) -> bool:
    """Whether to ask for CUDA at `node` comes before `CUDA_VISIBLE_DEVICES` is set, as far as the
    order is known, or before the process forks: CUDA then fails in its children."""
    function, start = context.index.function(node), context.source.span(node)[0]
    if function is None and _forks(context):
        return True
    return any(
        constant.value == "CUDA_VISIBLE_DEVICES"
        and _is_set(context, constant)
        and context.source.span(constant)[0] > start
        and (function is None or context.index.function(constant) is function)
        for constant in context.index.strings
    )


def _forks(context: Context) -> bool:
    """Whether a function that moves to CUDA runs in processes that may be forks of this one."""
    if any(x.value in ("spawn", "forkserver") for x in context.index.strings):
        return False
    for call in context.calls_of("multiprocessing.Process", "torch.multiprocessing.Process"):
        target = next((k.value for k in call.keywords if k.arg == "target"), None)
        if not isinstance(target, ast.Name):
            continue
        bound = {binding.node for binding in context.names.bindings(target.id, target)}
        if any(context.index.within(place, node) for node in bound for place in _places(context)):
            return True
    return False


def _is_set(context: Context, constant: ast.Constant) -> bool:
    parent = context.index.parents[constant]
    if isinstance(parent, ast.Subscript):
        return isinstance(parent.ctx, ast.Store)
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute):
        return parent.func.attr in ("setdefault", "putenv")
    return isinstance(parent, ast.Dict)


def _in_block(
    context: Context, block: list[ast.stmt], scope: ast.AST, indent: str | None
) -> Place | None:
    torch: str | None = None
    last: ast.stmt | None = None
    from_torch = False
    for item in block:
        if isinstance(item, ast.Import | ast.ImportFrom):
            last = item
            if isinstance(item, ast.Import):
                for alias in item.names:
                    if alias.name == "torch" or (
                        alias.name.startswith("torch.") and not alias.asname
                    ):
                        torch = alias.asname or "torch"
            elif (item.module or "").split(".")[0] == "torch" and not item.level:
                from_torch = True
                for alias in item.names:
                    if alias.name == "torch":
                        torch = alias.asname or "torch"
        elif torch is not None or from_torch:
            if not _belongs_to_imports(item, block, context):
                break
            if _imports_something(item):
                last = item
    if last is None or not (torch or from_torch):
        return None
    row = last.end_lineno or last.lineno
    source = context.source
    offset = source.starts[row] if row < len(source.starts) else len(source.text)
    if ";" in source.line(row):
        return None
    own = source.indentation(last.lineno) if indent is None else indent
    return Place(offset, own, torch or "torch", scope, last, needs_import=torch is None)


def _belongs_to_imports(item: ast.stmt, block: list[ast.stmt], context: Context) -> bool:
    """Statements that people put among imports: path set-up, guarded imports, settings."""
    rest = block[block.index(item) :]
    if not any(_imports_something(later) for later in rest):
        return False
    if isinstance(
        item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.For | ast.While
    ):
        return False
    return not _needs_device(context, item)


def _needs_device(context: Context, item: ast.stmt) -> bool:
    """Whether `item` itself needs the device, so that the selection must come before it."""
    needs = any(context.index.within(x.node, item) for x in context.devices.literals)
    moves = any(context.index.within(call, item) for call in context.index.calls.get("cuda", ()))
    return needs or moves


def _imports_something(item: ast.stmt) -> bool:
    if isinstance(item, ast.Import | ast.ImportFrom):
        return True
    return isinstance(item, ast.If | ast.Try) and any(
        isinstance(inner, ast.Import | ast.ImportFrom) for inner in ast.walk(item)
    )


def _comes_before(context: Context, place: Place, node: ast.AST) -> bool:
    """Whether the place has run when `node` does."""
    if place.scope is context.tree:
        if context.index.function(node) is not None and not _in_signature(context, node):
            return True
    elif not context.index.within(node, place.scope):
        return False
    return context.source.span(context.index.statement(node))[0] >= place.offset


def _in_signature(context: Context, node: ast.AST) -> bool:
    """Defaults and decorators run when the module does."""
    child = node
    for parent in context.index.ancestors(node):
        if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
            if not isinstance(child, ast.stmt):
                return context.index.function(parent) is None
            return False
        child = parent
    return False


def free_name(context: Context, node: ast.AST) -> str | None:
    """A module-level name for the selection that is free, and is seen wherever it is needed.

    Parameters of the same name may stay where nothing needs it: they shadow it where they are
    meant.
    """
    names = context.names
    needed = [node, *_places(context)]
    for name in dict.fromkeys((context.settings.device_name, *_SPARE_NAMES)):
        kinds = {binding.kind for bound, binding in names.every_binding() if bound == name}
        if kinds - {"parameter"}:
            continue
        if any(names.owner(name, use) is None for use in context.index.names.get(name, ())):
            continue
        if all(names.owner(name, place) is None for place in needed):
            return name
    return None


def _places(context: Context) -> list[ast.AST]:
    """Whatever in the file may come to name the device: one name must do for all of it."""
    if _PLACES not in context.memo:
        found: list[ast.AST] = [x.node for x in context.devices.literals if x.backend == "cuda"]
        for word in ("cuda", "autocast", "GradScaler"):
            found += context.index.calls.get(word, ())
        legacy = {name for name in CUDA_TYPES if name in context.index.attributes}
        for name, binding in context.names.every_binding():
            if isinstance(binding.value, ast.IfExp) and any(
                isinstance(item, ast.Attribute) and item.attr in legacy
                for item in ast.walk(binding.value)
            ):
                found += context.index.names.get(name, ())
        context.memo[_PLACES] = found
    found_places = context.memo[_PLACES]
    assert isinstance(found_places, list)
    return found_places
