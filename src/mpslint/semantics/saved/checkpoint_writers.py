"""Who writes the files that `torch.load` reads: this run, this file, the files beside it; and
whether what is saved goes to the CPU first.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, cast

from mpslint.semantics.destinations.given_the_cpu import stays_on_the_cpu
from mpslint.semantics.names.unpacked import bound_part
from mpslint.semantics.saved.best_so_far import keeps_the_best
from mpslint.semantics.saved.called_first import comes_first
from mpslint.semantics.saved.copies import copies
from mpslint.semantics.saved.file_names import pattern_of, spelling_of
from mpslint.semantics.saved.kept_numbers import is_made_of_numbers
from mpslint.semantics.saved.numbered_files import numbered_place
from mpslint.semantics.saved.used_as_modules import is_used_as_one
from mpslint.semantics.saved.written_by_helpers import only_fills_a_gap, written_by_helpers
from mpslint.semantics.syntax.expressions import argument, names_in
from mpslint.semantics.syntax.index import LOOPS
from mpslint.semantics.syntax.options import options
from mpslint.semantics.syntax.order import precedes
from mpslint.semantics.terms.value import Kind

if TYPE_CHECKING:
    from mpslint.semantics.context import Context
    from mpslint.semantics.syntax.index import FunctionNode

_MOVING = ("to", "cuda")
_INSTANCES = frozenset({"self", "cls"})
_COPIES = (
    *("shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.move"),
    *("os.rename", "os.replace"),
)


def saved_by_this_run(context: Context, call: ast.Call) -> bool:
    """Whether the same function (or the module) has just written the same place, itself or by
    a function that it has called: by `torch.save`, or as the copy of a file."""
    function = context.index.function(call)
    source = source_of(call)
    if source is not None and _best_of_fit(context, source, call):
        return True
    if source is not None and (
        _one_of_those_written(context, source, call) or _of_an_earlier_turn(context, source, call)
    ):
        return True
    numbered = numbered_place(source) if source is not None else None
    for writer, target in _writers(context):
        if (source is None or not _is_same_place(context, source, target)) and (
            (numbered or "") != numbered_place(target)
        ):
            continue
        owner = context.index.function(writer)
        steps = [writer] if owner is None else [writer, *context.index.calls.get(owner.name, ())]
        if any(
            context.index.function(step) is function
            and (precedes(context, step, call) or keeps_the_best(context, step, call))
            and not only_fills_a_gap(context, step, spelling_of(context, target, named=True))
            for step in steps
        ):
            return True
        if owner is not None and function is not None and comes_first(context, owner, function):
            if not only_fills_a_gap(context, writer, spelling_of(context, target, named=True)):
                return True
    if source is None:
        return False
    file = opened(context, source)
    return written_by_helpers(context, call, file if file is not None else source)


def _one_of_those_written(context: Context, source: ast.expr, call: ast.Call) -> bool:
    """`best` of `torch.save(state, path)`, `if loss < least: best, least = path, loss`: whatever
    file the name holds, the same function has written it before."""
    if not isinstance(source, ast.Name):
        return False
    given = [bound_part(binding, source.id) for binding in context.flow.reaching(source)]
    places = {
        _place(context, value) if value is not None else None
        for value in given
        if not (isinstance(value, ast.Constant) and value.value is None)
    }
    function = context.index.function(call)
    written = {
        _place(context, target)
        for writer, target in _writers(context)
        if context.index.function(writer) is function and precedes(context, writer, call)
    }
    return bool(places) and places <= written


def _of_an_earlier_turn(context: Context, source: ast.expr, call: ast.Call) -> bool:
    """`torch.load(path_of(best))` in a loop that saves to `path_of(epoch)` at each turn: one of the
    files of the turns before, if it is not the program's caller who says which."""
    if isinstance(source, ast.Name):
        given = context.flow.reaching(source)
        source = given[0].value or source if len(given) == 1 else source
    loop = context.index.enclosing(call, *LOOPS)
    if not isinstance(source, ast.Call) or not source.args or loop is None:
        return False
    if not all(isinstance(item, ast.Name | ast.Attribute) for item in source.args):
        return False
    return any(
        isinstance(target, ast.Call)
        and ast.unparse(target.func) == ast.unparse(source.func)
        and len(target.args) == len(source.args)
        and context.index.enclosing(writer, *LOOPS) is loop
        and _counts(loop, target)
        for writer, target in _writers(context)
    )


def _counts(loop: ast.AST, target: ast.Call) -> bool:
    """Whether a place is made of the number of the turn."""
    if not isinstance(loop, ast.For | ast.AsyncFor):
        return False
    turn = names_in(loop.target)
    return any(isinstance(item, ast.Name) and item.id in turn for item in target.args)


def _best_of_fit(context: Context, source: ast.expr, call: ast.Call) -> bool:
    """`callback.best_model_path` after `trainer.fit(...)`: Lightning's callback has it written."""
    return _names_best(context, source) and any(
        context.index.function(fit) is context.index.function(call) and precedes(context, fit, call)
        for fit in context.index.calls.get("fit", ())
        if isinstance(fit.func, ast.Attribute)
    )


def _names_best(context: Context, source: ast.expr) -> bool:
    if isinstance(source, ast.Name):
        values = [binding.value for binding in context.flow.reaching(source)]
        return bool(values) and all(isinstance(v, ast.Attribute) and _is_best(v) for v in values)
    return isinstance(source, ast.Attribute) and _is_best(source)


def _is_best(source: ast.Attribute) -> bool:
    # Fact: `lightning.pytorch.callbacks.ModelCheckpoint` has these two.
    return source.attr in ("best_model_path", "last_model_path")


def _writers(context: Context) -> Iterator[tuple[ast.Call, ast.expr]]:
    """What writes a file as a whole, with the place that it writes."""
    for saved in context.calls_of("torch.save", "torch.jit.save"):
        if (target := argument(saved, 1, "f")) is not None:
            yield saved, target
    for copied in context.calls_of(*_COPIES):
        if (target := argument(copied, 1, "dst")) is not None:
            yield copied, target


def source_of(call: ast.Call) -> ast.expr | None:
    """The file that `torch.load` is given."""
    return argument(call, 0, "f")


def saved_here(context: Context, call: ast.Call) -> bool:
    """Whether this file itself saves something to the place that `call` reads."""
    return any(True for _ in _savers(context, call))


def saved_from_cpu(context: Context, call: ast.Call) -> bool:
    """Whether what this file saves to the same place goes to the CPU first (`net.cpu()`).

    Where nothing is saved to that place, what the files beside it save under the same file name
    counts, or else every model that the file saves. Numbers and arrays are on the CPU anyway.
    """
    savers = list(_savers(context, call)) or _of_same_name(context, call)
    source = source_of(call)
    if not savers and context.elsewhere is not None and source is not None:
        names = _file_names(context, source)
        if names and all(
            context.elsewhere.saves_from_cpu(context.source.path, name) for name in names
        ):
            return True
    savers = savers or _of_models(context)
    return bool(savers) and all(_copies_first(context, saved) for saved in savers)


def saves_models_as_they_are(context: Context, helpers: Iterable[str] = ()) -> bool:
    """Whether the file saves a model, or another thing with a state, without a copy to the CPU:
    itself, or by a function of its own or one of `helpers` that saves what it is given."""
    if any(not _copies_first(context, saved) for saved in _of_models(context)):
        return True
    return any(
        _has_state(context, kept) and not _copied_first(context, call, kept)
        for name in {*helpers, *saving_helpers(context)}
        for call in context.index.calls.get(name, ())
        for kept in (*call.args, *(item.value for item in call.keywords))
    )


def saving_helpers(context: Context) -> set[str]:
    """Functions of the file that save something and copy nothing to the CPU:
    `def save_checkpoint(state, path)`."""
    return {
        function.name for function in _saving(context) - _copying(context) if function is not None
    }


def saves_from_cpu(context: Context) -> bool:
    """Whether a function of the file that saves something copies to the CPU as well."""
    return any(function is not None for function in _saving(context) & _copying(context))


def _saving(context: Context) -> set[FunctionNode | None]:
    return {context.index.function(saved) for saved in context.calls_of("torch.save")}


def _copying(context: Context) -> set[FunctionNode | None]:
    return {context.index.function(copy) for copy in copies(context)}


def savers_of_states(context: Context) -> set[str]:
    """Functions of the file that save the states of models, and copy nothing to the CPU."""
    return {function.name for function in _savers_of_states(context)}


def classes_that_save(context: Context) -> set[str]:
    """Classes of the file that are given a model to save its state by a method of theirs, and copy
    nothing to the CPU: `EarlyStopping`."""
    found: set[str] = set()
    for function in _savers_of_states(context):
        owner = context.index.parents[function]
        # A module, a trainer: who makes one of these need not have it saved.
        if isinstance(owner, ast.ClassDef) and any(
            isinstance(call.func, ast.Attribute)
            and isinstance(call.func.value, ast.Name)
            and call.func.value.id in _INSTANCES
            and context.index.enclosing(call, ast.ClassDef) is owner
            and (caller := context.index.function(call)) is not None
            and caller.name == "__call__"
            for call in context.index.calls.get(function.name, ())
        ):
            found.add(owner.name)
    return found


def _savers_of_states(context: Context) -> list[FunctionNode]:
    copying = _copying(context)
    found = [context.index.function(saved) for saved in _of_models(context)]
    return [function for function in found if function is not None and function not in copying]


def _has_state(context: Context, kept: ast.expr) -> bool:
    """Whether `kept` is a model, an optimizer or the state of one, at least where it was not
    loaded itself."""
    return bool(_owners_of(context, kept)) or _is_whole(context, kept)


def _of_models(context: Context) -> list[ast.Call]:
    """What saves the state of something, or a model or an optimizer as a whole."""
    return [
        saved
        for saved in context.calls_of("torch.save")
        if _owners(context, saved) or _holds_whole(context, saved)
    ]


def _holds_whole(context: Context, saved: ast.Call) -> bool:
    """Whether a model or an optimizer is saved as the object that it is, itself or in a table or a
    list that is written out: `torch.save({"model": model, "epoch": epoch}, path)`."""
    kept = argument(saved, 0, "obj")
    if kept is None:
        return False
    tables: list[ast.expr] = [kept]
    if isinstance(kept, ast.Name):
        tables += [item.value for item in context.flow.reaching(kept) if item.value is not None]
    parts = [kept]
    parts += [item for table in tables if isinstance(table, ast.Dict) for item in table.values]
    listed = (ast.List, ast.Tuple)
    parts += [item for table in tables if isinstance(table, listed) for item in table.elts]
    return any(
        isinstance(item, ast.Name | ast.Attribute) and _is_whole(context, item) for item in parts
    )


def _is_whole(context: Context, kept: ast.expr) -> bool:
    kinds = (Kind.MODULE, Kind.OPTIMIZER)
    given = context.flow.reaching(kept) if isinstance(kept, ast.Name) else ()
    return (
        context.values.of(kept).kind in kinds
        or any(
            item.kind == "assign" and context.values.of(item.value).kind in kinds for item in given
        )
        or _is_moved_in_place(context, kept)
        or is_used_as_one(context, kept)
    )


def _is_moved_in_place(context: Context, kept: ast.expr) -> bool:
    """`net.to(device)` in a statement of its own: a tensor would stay where it is."""
    function, name = context.index.function(kept), ast.unparse(kept)
    return any(
        isinstance(context.index.parents[call], ast.Expr)
        and isinstance(call.func, ast.Attribute)
        and context.index.function(call) is function
        and ast.unparse(call.func.value) == name
        for method in _MOVING
        for call in context.index.calls.get(method, ())
    )


def _of_same_name(context: Context, call: ast.Call) -> list[ast.Call]:
    """What saves the state of what `call` fills, by its name: `network.load_state_dict(...)`."""
    filled = {
        ast.unparse(load.func.value)
        for load in context.index.calls.get("load_state_dict", ())
        if isinstance(load.func, ast.Attribute)
        and context.index.function(load) is context.index.function(call)
    }
    return [saved for saved in _of_models(context) if filled & _owners(context, saved)]


def _owners(context: Context, saved: ast.Call) -> set[str]:
    """Whose states are saved: `network` of `state = network.state_dict()`, `save(state, ...)`."""
    kept = argument(saved, 0, "obj")
    return _owners_of(context, kept) if kept is not None else set()


def _owners_of(context: Context, kept: ast.expr) -> set[str]:
    parts: list[ast.expr] = [kept]
    if isinstance(kept, ast.Name):
        parts += [b.value for b in context.flow.reaching(kept) if b.value is not None]
        parts += _put_into(context, kept)
    return {
        ast.unparse(item.func.value)
        for part in parts
        for item in ast.walk(part)
        if isinstance(item, ast.Call)
        and isinstance(item.func, ast.Attribute)
        and item.func.attr == "state_dict"
    }


def _put_into(context: Context, table: ast.Name) -> Iterator[ast.expr]:
    """What the function around puts under keys of a table, or of a table in it:
    `table[key] = net.state_dict()`."""
    for use in context.index.names.get(table.id, ()):
        item: ast.AST = use
        parent = context.index.parents[item]
        while isinstance(parent, ast.Subscript) and parent.value is item:
            item, parent = parent, context.index.parents[parent]
        if item is use or context.index.function(use) is not context.index.function(table):
            continue
        if isinstance(parent, ast.Assign) and item in parent.targets:
            yield parent.value


def all_saved_from_cpu(context: Context, file_name: str) -> bool | None:
    """Whether all that a file saves under this name goes to the CPU first; None where it saves
    nothing there."""
    found = [
        _copies_first(context, saved)
        for saved in context.calls_of("torch.save")
        if (target := argument(saved, 1, "f")) is not None
        and file_name in _file_names(context, target)
    ]
    return all(found) if found else None


def _file_names(context: Context, place: ast.expr) -> set[str]:
    """The names of files that a path ends in, by its texts and by the defaults of options."""
    texts: list[object] = [x.value for x in ast.walk(place) if isinstance(x, ast.Constant)]
    for item in ast.walk(place):
        if isinstance(item, ast.Attribute):
            texts += _option_defaults(context, item.attr)
    names = {str(text).replace("\\", "/").rsplit("/", 1)[-1] for text in texts}
    found = {name for name in names if "." in name.strip(".")}
    last = _last_part(place)
    if not found and last is not None and str(last.value).strip("/"):
        found.add(str(last.value).rsplit("/", 1)[-1])
    return found


def _last_part(place: ast.expr) -> ast.Constant | None:
    """`"settings"` of `os.path.join(folder, "settings")` and of `folder / "settings"`."""
    last: ast.expr | None = None
    if isinstance(place, ast.Call) and isinstance(place.func, ast.Attribute) and place.args:
        last = place.args[-1] if place.func.attr in ("join", "joinpath") else None
    elif isinstance(place, ast.BinOp) and isinstance(place.op, ast.Div):
        last = place.right
    return last if isinstance(last, ast.Constant) else None


def all_made_of_numbers(context: Context, file_name: str) -> bool | None:
    """Whether all that a file saves under this name is made of numbers and settings; None where it
    saves nothing there."""
    found = [
        (kept := argument(saved, 0, "obj")) is not None
        and is_made_of_numbers(context, kept)
        and not _owners_of(context, kept)
        for saved in context.calls_of("torch.save")
        if (target := argument(saved, 1, "f")) is not None
        and file_name in _file_names(context, target)
    ]
    return all(found) if found else None


def _option_defaults(context: Context, destination: str) -> list[object]:
    return [
        keyword.value.value
        for call in options(context.index, destination)
        for keyword in call.keywords
        if keyword.arg == "default" and isinstance(keyword.value, ast.Constant)
    ]


def _savers(context: Context, call: ast.Call) -> Iterator[ast.Call]:
    source = source_of(call)
    if source is None:
        return
    for saved in context.calls_of("torch.save"):
        target = argument(saved, 1, "f")
        if target is not None and _is_one_file(context, source, target):
            yield saved


def _is_one_file(context: Context, source: ast.expr, target: ast.expr) -> bool:
    """Whether what is read is what is written: by how both are named where that is told
    (`path` of one function is not that of another), else by how the places are written."""
    named = pattern_of(context, target)
    read = pattern_of(context, source) if named else ""
    if named and read:
        return named == read
    return _place(context, target) == _place(context, source)


def _is_same_place(context: Context, source: ast.expr, target: ast.expr) -> bool:
    """Whether both are spelled alike, or are the same text by the names of texts."""
    return any(
        _place(context, source, named=named) == _place(context, target, named=named)
        for named in (False, True)
    )


def _place(context: Context, node: ast.expr, *, named: bool = False) -> str:
    """The file that is read or written, as text; through `with open(path) as f`."""
    # Each place that is written is held against each that is read.
    known = cast("dict[tuple[ast.expr, bool], str]", context.memo.setdefault("places of files", {}))
    if (node, named) not in known:
        file = opened(context, node)
        place = file if file is not None else node
        known[node, named] = spelling_of(context, place, named=named)
    return known[node, named]


def opened(context: Context, node: ast.expr) -> ast.expr | None:
    if isinstance(node, ast.Call) and context.values.last_name(node.func) == "open":
        return node.args[0] if node.args else None  # `torch.save(state, open(path, "wb"))`
    if not isinstance(node, ast.Name):
        return None
    bindings = context.flow.reaching(node)
    value = bindings[0].value if len(bindings) == 1 else None
    if value is None or bindings[0].kind not in ("with", "assign"):
        return None
    if not isinstance(value, ast.Call) or not value.args:
        return None
    return value.args[0] if context.values.last_name(value.func) == "open" else None


def _copies_first(context: Context, saved: ast.Call) -> bool:
    """`net.eval().cpu()` before `torch.save(net.state_dict(), ...)` in the same function, or
    `state[key] = value.cpu()` before `torch.save(state, ...)`; or a function that all who call it
    tell to work on the CPU."""
    kept = argument(saved, 0, "obj")
    return kept is not None and (
        _copied_first(context, saved, kept)
        or (is_made_of_numbers(context, kept) and not _owners_of(context, kept))
        or stays_on_the_cpu(context, saved.lineno)
    )


def _copied_first(context: Context, saved: ast.Call, kept: ast.expr) -> bool:
    spelled = {ast.unparse(x) for x in ast.walk(kept) if isinstance(x, ast.Name | ast.Attribute)}
    function = context.index.function(saved)
    for copy in copies(context):
        if context.index.within(copy, kept):
            return True
        if context.index.function(copy) is not function or copy.lineno >= saved.lineno:
            continue
        if isinstance(copy.func, ast.Attribute):
            moved = copy.func.value
            while isinstance(moved, ast.Call) and isinstance(moved.func, ast.Attribute):
                moved = moved.func.value
            if ast.unparse(moved) in spelled:
                return True
        statement = context.index.statement(copy)
        if isinstance(statement, ast.Assign) and any(
            ast.unparse(target.value if isinstance(target, ast.Subscript) else target) in spelled
            for target in statement.targets
        ):
            return True
    return False
