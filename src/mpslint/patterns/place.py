"""Where a selection can stand: after the imports, before all that needs the device."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import is_main_block, keyword
from mpslint.semantics.terms.legacy_types import CUDA_TYPES

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.elsewhere.elsewhere import Definition

_PLACES = "places that name the device"
_BLOCKS = "where a selection can stand, by block"
_ALONG = "whether torch comes with what is imported"
_STAR = "whether torch comes by a star"
_VARIABLE = (b"CUDA_VISIBLE_DEVICES",)
_SETTING = "calls of functions of other files that say which GPUs are seen"
_FORKING = "whether a function that moves to CUDA runs in forks"


class Place(NamedTuple):
    """Where a selection can stand."""

    offset: int
    indent: str
    torch: str
    """The local name of torch there."""
    scope: ast.AST
    after: ast.stmt
    needs_import: bool = False
    stranger: bool = False
    """The file has never asked for torch, nor has what it imports, as far as that is seen."""


def find_place(context: Context, node: ast.AST) -> Place | None:
    """After the imports of the module, or of the function where only it imports torch."""
    place = _in_block(context, context.tree.body, context.tree, "")
    if place is not None:
        place = None if _forks(context) else _behind_visible_devices(context, place)
    if place is not None and comes_before(context, place, node):
        return place
    if place is None:
        place = _in_file_without_torch(context)
        if place is not None and comes_before(context, place, node):
            return place
    function = context.index.function(node)
    while function is not None:
        place = _in_block(context, function.body, function, None)
        if place is not None and comes_before(context, place, node):
            return None if settles_too_early(context, place.after) else place
        function = context.index.function(function)
    return None


def behind_imports(context: Context) -> Place | None:
    """Where a function of the module can stand that asks for nothing before it is called."""
    place = _in_block(context, context.tree.body, context.tree, "")
    return None if place is None or place.needs_import else place


def _in_file_without_torch(context: Context) -> Place | None:
    """Behind the imports of a file that never imports torch, which does so then."""
    source = context.source
    if any(
        (binding.qualified or "").split(".")[0] == "torch" or name == "torch"
        for name, binding in context.names.every_binding()
    ):
        return None
    if source.path.endswith(".ipynb") or _forks(context):
        return None
    imports = [item for item in context.tree.body if isinstance(item, ast.Import | ast.ImportFrom)]
    if not imports:
        return None
    last = imports[-1]
    row = last.end_lineno or last.lineno
    if row >= len(source.starts) or ";" in source.line(row):
        return None
    stranger = not comes_along(context)
    return Place(source.starts[row], "", "torch", context.tree, last, True, stranger=stranger)


def comes_along(context: Context) -> bool:
    """Whether who imports the file has torch by that: a module of the project that it imports at
    its top does so, too."""
    if _ALONG not in context.memo:
        context.memo[_ALONG] = any(
            _brings_torch(context, item)
            for item in context.tree.body
            if isinstance(item, ast.Import | ast.ImportFrom)
        )
    return bool(context.memo[_ALONG])


def _brings_torch(context: Context, item: ast.Import | ast.ImportFrom) -> bool:
    """Whether a module of the project is imported that imports torch itself, come what may: one
    that only tries to, or does so for a type checker, works without it."""
    if context.elsewhere is None:
        return False
    names = {alias.name for alias in item.names}
    if isinstance(item, ast.ImportFrom):
        local = item.names[0].asname or item.names[0].name
        bound = context.names.module.bindings.get(local, ())
        names = {(one.qualified or "").rpartition(".")[0] for one in bound if one.kind == "import"}
    path = context.source.path
    return any(context.elsewhere.brings(path, name, "torch") for name in names if name)


def _behind_visible_devices(context: Context, place: Place) -> Place | None:
    """`place`, or the place behind `os.environ["CUDA_VISIBLE_DEVICES"] = ...`.

    To ask whether CUDA is available settles which GPUs a process sees. None where a function sets
    the variable, since nobody knows when, and where the program itself does, behind which all has
    been run.
    """
    source = context.source
    if _set_elsewhere(context) or _set_by_importers(context):
        return None
    for constant in context.index.spelled("CUDA_VISIBLE_DEVICES"):
        if source.span(constant)[0] < place.offset:
            continue
        if not _is_set(context, constant):
            continue
        item: ast.stmt = context.index.statement(constant)
        while context.index.parents[item] is not context.tree:
            item = context.index.statement(context.index.parents[item])
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return None
        if is_main_block(item):
            return None
        row = item.end_lineno or item.lineno
        if row >= len(source.starts) or ";" in source.line(row):
            return None
        place = place._replace(offset=source.starts[row], after=item)
    return place


def place_of_function(context: Context, node: ast.AST) -> Place | None:
    """Where a function can stand that selects the device for `node`, in a program that says which
    GPUs it sees in a function or below its `if __name__ == "__main__":`, or in what such a program
    imports: to ask at the top would be too early, and below that nobody who imports the file would
    have it. What is asked where the move stands is asked no earlier than the move asks for CUDA.
    So does the program itself, once it has said so."""
    place = _in_block(context, context.tree.body, context.tree, "")
    if place is None or place.needs_import:
        return None
    is_deferred = context.index.function(node) is not None
    if not is_deferred and not _is_below_main(context, node):
        return None
    offset = place.offset
    setting: list[ast.AST] = [
        constant
        for constant in context.index.spelled("CUDA_VISIBLE_DEVICES")
        if _is_set(context, constant) and context.source.span(constant)[0] >= offset
    ]
    setting += _set_elsewhere(context)
    if not setting and not _set_by_importers(context):
        return None
    function = context.index.function(node)
    start = context.source.span(node)[0]
    for constant in setting:
        is_said_later = context.source.span(constant)[0] > start
        if context.index.function(constant) is None and not _is_below_main(context, constant):
            return None
        if context.index.function(constant) is function and is_said_later:
            return None
    return None if _forks(context) or not comes_before(context, place, node) else place


def _is_below_main(context: Context, node: ast.AST) -> bool:
    return context.index.function(node) is None and any(
        is_main_block(parent) for parent in context.index.ancestors(node)
    )


def settles_too_early(context: Context, node: ast.AST) -> bool:
    """Whether to ask for CUDA at `node` comes before `CUDA_VISIBLE_DEVICES` is set, as far as the
    order is known, or before the process forks: CUDA then fails in its children."""
    function, start = context.index.function(node), context.source.span(node)[0]
    if function is None and (
        _forks(context) or bool(_set_elsewhere(context)) or bool(_set_by_importers(context))
    ):
        return True
    return any(
        _is_set(context, constant)
        and context.source.span(constant)[0] > start
        and (function is None or context.index.function(constant) is function)
        for constant in context.index.spelled("CUDA_VISIBLE_DEVICES")
    )


def settles_somewhere(context: Context) -> bool:
    """Whether anything in the program makes it matter when CUDA is asked for first."""
    here = any(
        _is_set(context, constant) for constant in context.index.spelled("CUDA_VISIBLE_DEVICES")
    )
    here = here or _forks(context) or bool(_set_elsewhere(context))
    return here or bool(_set_by_importers(context))


def _set_elsewhere(context: Context) -> list[ast.Call]:
    """Calls of functions of other files of the project that say which GPUs are to be seen:
    `set_gpu(args.gpu)`."""
    if _SETTING not in context.memo:
        context.memo[_SETTING] = [
            call
            for name, calls in _called_elsewhere(context).items()
            if (found := context.definition_elsewhere(name, _VARIABLE)) is not None
            and any(_sets(found, binding.node) for binding in found.bindings)
            for call in calls
        ]
    known = context.memo[_SETTING]
    assert isinstance(known, list)
    return known


def _set_by_importers(context: Context) -> str:
    """Where a program that imports this file says which GPUs it sees, when it has done so."""
    elsewhere = context.elsewhere
    return "" if elsewhere is None else elsewhere.sees_gpus_late(context.source.path)


def _called_elsewhere(context: Context) -> dict[str, list[ast.Call]]:
    """The calls of what is imported, torch's aside, by qualified name."""
    found: dict[str, list[ast.Call]] = {}
    for call in context.index.of(ast.Call):
        name = context.resolve(call.func)
        if name and "." in name and not name.startswith("torch."):
            found.setdefault(name, []).append(call)
    return found


def _sets(found: Definition, function: ast.AST) -> bool:
    there = found.context
    return any(
        _is_set(there, constant) and there.index.function(constant) is function
        for constant in there.index.spelled("CUDA_VISIBLE_DEVICES")
    )


def _forks(context: Context) -> bool:
    """Whether a function that moves to CUDA runs in processes that may be forks of this one."""
    if _FORKING not in context.memo:
        context.memo[_FORKING] = _finds_forks(context)
    return bool(context.memo[_FORKING])


def _finds_forks(context: Context) -> bool:
    if any(x.value in ("spawn", "forkserver") for x in context.index.strings):
        return False
    for call in context.calls_of("multiprocessing.Process", "torch.multiprocessing.Process"):
        target = keyword(call, "target")
        if not isinstance(target, ast.Name):
            continue
        bound = {binding.node for binding in context.names.bindings(target.id, target)}
        if any(
            context.index.within(place, node) for node in bound for place in device_places(context)
        ):
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
    """The place behind the imports of a block: found once for all fixes that need one."""
    known = context.memo.setdefault(_BLOCKS, {})
    assert isinstance(known, dict)
    if scope not in known:
        known[scope] = _find_in_block(context, block, scope, indent)
    found: Place | None = known[scope]
    return found


def _find_in_block(
    context: Context, block: list[ast.stmt], scope: ast.AST, indent: str | None
) -> Place | None:
    torch: str | None = None
    last: ast.stmt | None = None
    from_torch = False
    imports = [number for number, item in enumerate(block) if _imports_something(item)]
    found_at: int | None = None
    for number, item in enumerate(block):
        cell = context.source.cell_of(item.lineno)
        if torch is not None and found_at is None:
            found_at = context.source.cell_of(block[number - 1].lineno)
        if found_at is not None and cell != found_at:
            break  # A notebook selects in the cell that imports torch.
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
            elif torch is None and item.names[0].name == "*" and comes_by_star(context):
                torch = "torch"
        elif torch is not None or from_torch:
            if number > imports[-1] or not _belongs_to_imports(item, context):
                break
            if _imports_something(item):
                last = item
    if last is None or not (torch or from_torch):
        return None
    last = _behind_probes(context, block, last)
    row = last.end_lineno or last.lineno
    source = context.source
    offset = source.starts[row] if row < len(source.starts) else len(source.text)
    if ";" in source.line(row):
        return None
    own = source.indentation(last.lineno) if indent is None else indent
    return Place(offset, own, torch or "torch", scope, last, needs_import=torch is None)


def comes_by_star(context: Context) -> bool:
    """Whether the file calls torch by that name, and has it from a module of which it takes all
    names."""
    if _STAR not in context.memo:
        uses = context.index.names.get("torch", ()) if "*" in context.names.module.bindings else ()
        context.memo[_STAR] = any(
            isinstance(use.ctx, ast.Load) and context.names.owner("torch", use) is None
            for use in uses
        )
    return bool(context.memo[_STAR])


def _behind_probes(context: Context, block: list[ast.stmt], last: ast.stmt) -> ast.stmt:
    """What follows the imports and belongs to them: `has_amp = False`, with a `try` that sets it to
    what torch has."""
    at = block.index(last)
    while at + 1 < len(block):
        ahead = block[at + 1]
        step = 1
        if isinstance(ahead, ast.Assign) and isinstance(ahead.value, ast.Constant):
            ahead, step = (block[at + 2], 2) if at + 2 < len(block) else (ahead, 1)
        if not isinstance(ahead, ast.Try) or _needs_device(context, ahead):
            break
        at += step
    return block[at]


def _belongs_to_imports(item: ast.stmt, context: Context) -> bool:
    """Statements that people put among imports: path set-up, guarded imports, settings."""
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


def comes_before(context: Context, place: Place, node: ast.AST) -> bool:
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


def device_places(context: Context) -> list[ast.AST]:
    """Whatever in the file may come to name the device: one name must do for all of it."""
    if _PLACES not in context.memo:
        found: list[ast.AST] = [
            x.node
            for x in context.devices.literals
            # `"cuda" in name` asks for none.
            if x.backend == "cuda" and context.devices.slot(x.node) is not None
        ]
        for word in ("cuda", "autocast", "GradScaler"):
            found += context.index.calls.get(word, ())
        legacy = {name for name in CUDA_TYPES if name in context.index.attributes}
        for name in legacy:
            types = context.index.attributes[name]
            found += [
                one
                for one in types
                if context.resolve(one) == f"torch.cuda.{name}"
                # What is chosen counts where it is used.
                and not isinstance(context.index.parents[one], ast.IfExp)
            ]
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


def is_stdlib(statement: ast.stmt) -> bool:
    """Whether an import is of the standard library, so that another group follows."""
    if isinstance(statement, ast.Import):
        modules = [alias.name for alias in statement.names]
    else:
        assert isinstance(statement, ast.ImportFrom)
        modules = ["" if statement.level else statement.module or ""]
    return all(module.split(".")[0] in sys.stdlib_module_names for module in modules)
