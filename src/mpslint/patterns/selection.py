"""The device selection: the expression, the statement, its place and its name.

One selection per file, under a name that is free, after the imports. A device the file already
selects wins (`Devices.at_hand`).
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from mpslint.model import Edit
from mpslint.patterns.text import indent_unit, insert, line_limit, quote

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_TESTS = {
    "cuda": "{torch}.cuda.is_available()",
    "mps": "{torch}.backends.mps.is_available()",
}
_SPARE_NAMES = ("device", "torch_device", "default_device", "selected_device", "mpslint_device")


class Reference(NamedTuple):
    """How to name the selected device at a place."""

    text: str
    is_string: bool
    edits: tuple[Edit, ...]
    """What must be added to the file for it; empty where the device is there already."""

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
    for backend in order or context.settings.device_order:
        arm = cuda if backend == "cuda" and cuda else f"{mark}{backend}{mark}"
        if backend in _TESTS:
            text += f"{arm} if {_TESTS[backend].format(torch=torch)} else "
    return f"{text}{mark}cpu{mark}"


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
    for backend in context.settings.device_order:
        if backend in _TESTS:
            word = "elif" if lines else "if"
            lines.append(f"{indent}{word} {_TESTS[backend].format(torch=torch)}:")
            target = cuda if backend == "cuda" else backend
            lines.append(f"{indent}{unit}{name} = {torch}.device({mark}{target}{mark})")
    lines.append(f"{indent}else:")
    lines.append(f"{indent}{unit}{name} = {torch}.device({mark}cpu{mark})")
    return newline.join(lines)


def reference(context: Context, node: ast.AST) -> Reference | None:
    """The device for code at `node`, with the edits that bring it there; None: no safe way."""
    at_hand = context.devices.at_hand(node)
    if at_hand is not None:
        return Reference(at_hand.text, at_hand.is_string, ())
    place = find_place(context, node)
    if place is None:
        return None
    name = free_name(context, node)
    if name is None:
        return None
    source = context.source
    newline = source.newline
    body = statement(context, place.torch, name, place.indent, _cuda_text(context))
    prefix = f"import torch{newline}" if place.needs_import else ""
    at_end = place.offset == len(source.text) and not source.text.endswith(("\n", "\r"))
    lead = newline if at_end else ""
    gap = newline if place.indent == "" else ""
    return Reference(name, False, (insert(place.offset, f"{lead}{prefix}{gap}{body}{newline}"),))


def _cuda_text(context: Context) -> str:
    """`cuda:0` where that is the only way the file names its GPU, else `cuda`."""
    literals = [
        x for x in context.devices.literals if x.backend == "cuda" and context.devices.slot(x.node)
    ]
    indices = {literal.index for literal in literals}
    only = indices.pop() if len(indices) == 1 else None
    if only is None or context.index.calls.get("cuda"):
        return "cuda"
    return f"cuda:{only}"


def find_place(context: Context, node: ast.AST) -> Place | None:
    """After the imports of the module, or of the function where only it imports torch."""
    place = _in_block(context, context.tree.body, context.tree, "")
    if place is not None and _comes_before(context, place, node):
        return place
    function = context.index.function(node)
    while function is not None:
        place = _in_block(context, function.body, function, None)
        if place is not None and _comes_before(context, place, node):
            return place
        function = context.index.function(function)
    return None


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
    if any(literal_in(context, item)):
        return False
    return True


def literal_in(context: Context, item: ast.stmt) -> list[bool]:
    """One True if `item` itself needs the device, so that the selection must come before it."""
    needs = any(context.index.within(x.node, item) for x in context.devices.literals)
    moves = any(context.index.within(call, item) for call in context.index.calls.get("cuda", ()))
    return [True] if needs or moves else []


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
    """A module-level name for the selection that is free, and is seen at `node`.

    Parameters of the same name may stay: they shadow it where they are meant.
    """
    names = context.names
    for name in dict.fromkeys((context.settings.device_name, *_SPARE_NAMES)):
        kinds = {binding.kind for bound, binding in names.every_binding() if bound == name}
        if kinds - {"parameter"}:
            continue
        if any(names.owner(name, use) is None for use in context.index.names.get(name, ())):
            continue
        if names.owner(name, node) is None:
            return name
    return None
