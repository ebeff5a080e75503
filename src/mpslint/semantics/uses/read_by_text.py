"""What reads the names of a module, or the attributes of its objects, without naming them: code in
a text (`eval("net.to(device)")`, `Timer(stmt=..., globals=globals())`), and all of them at once
(`globals()`, `vars(config)`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from mpslint.semantics.names.unpacked import bound_part
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.uses.known_bases import line

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

# Fact: `builtins`, `timeit`, `torch.utils.benchmark`, `cProfile`.
_RUNNING = ("eval", "exec", "compile", "timeit", "repeat", "Timer", "runctx")
"""The last names of what runs code that it is given as a text."""
_NAMESPACES = ("globals", "locals", "vars")
_STORING = frozenset({"update", "setdefault", "clear"})
"""Methods by which a mapping is filled, and not read."""
_MEMO = "names that code in texts reads"


def reads_by_text(context: Context, name: str) -> bool:
    """Whether the file may read a name of its module by a text, or with all others."""
    if _MEMO not in context.memo:
        context.memo[_MEMO] = None if _gives_all(context) else _words_run(context)
    words = context.memo[_MEMO]
    assert words is None or isinstance(words, frozenset)
    return words is None or name in words


def _gives_all(context: Context) -> bool:
    """`Timer(stmt, globals=globals())`, `code.interact(local=locals())` of the module itself."""
    return any(
        not call.args
        and isinstance(call.func, ast.Name)
        and (word == "globals" or context.index.function(call) is None)
        and _is_read(context, call)
        for word in _NAMESPACES
        for call in context.index.calls.get(word, ())
    )


def _is_read(context: Context, mapping: ast.expr) -> bool:
    """Whether somebody gets hold of a mapping as a whole, or of one of its values by a key that is
    not written out."""
    parent = context.index.parents[mapping]
    if isinstance(parent, ast.Subscript):
        return isinstance(parent.ctx, ast.Load) and not isinstance(parent.slice, ast.Constant)
    if isinstance(parent, ast.Attribute):
        return parent.attr not in _STORING and not _asks_one(context, parent)
    return not isinstance(parent, ast.Compare)


def _asks_one(context: Context, method: ast.Attribute) -> bool:
    """`globals().get("device")`: the text says which."""
    call = context.index.parents[method]
    is_get = isinstance(call, ast.Call) and call.func is method and method.attr in ("get", "pop")
    return is_get and isinstance(call.args[0] if call.args else None, ast.Constant)  # type: ignore[attr-defined]


def _words_run(context: Context) -> frozenset[str] | None:
    """The names in the texts that are run as code; None where such a text is not written out."""
    words: set[str] = set()
    for call in (call for word in _RUNNING for call in context.index.calls.get(word, ())):
        texts = [
            one.value
            for given in (*call.args, *(item.value for item in call.keywords))
            for one in ast.walk(given)
            if isinstance(one, ast.Constant) and isinstance(one.value, str)
        ]
        # Fact: Python's grammar, names: letters, digits and underscores, no digit first.
        words.update(*(re.findall(r"[^\W\d]\w*", text) for text in texts))
        is_program = isinstance(call.func, ast.Name) and call.func.id == "exec"
        if is_program and len(call.args) == 1 and not _is_written(call.args[0]):
            return None
    return frozenset(words)


def _is_written(text: ast.expr) -> bool:
    """`"..."`, `f"..."`, `"..." % name`, `"...".format(name)`"""
    while isinstance(text, ast.Call | ast.Attribute | ast.BinOp):
        if isinstance(text, ast.BinOp):
            text = text.left
        else:
            text = text.func if isinstance(text, ast.Call) else text.value
    return isinstance(text, ast.Constant | ast.JoinedStr)


def reads_all_attributes(context: Context, owner: ast.ClassDef) -> bool:
    """Whether the file, or that of a base, takes all attributes of an object that may be of the
    class: `Net(**vars(Config()))`, `self.__dict__.items()`."""
    derived = [owner.name]
    for name in derived:
        derived += [
            one.name
            for one in context.index.of(ast.ClassDef)
            if one.name not in derived and name in map(last_name, one.bases)
        ]
    if any(_may_be(context, one, derived) for one in _all_of(context)):
        return True
    for where, klass, _ in line(context, owner):
        if klass is not None and any(
            isinstance(one, ast.Name)
            and one.id == "self"
            and where.index.enclosing(one, ast.ClassDef) is klass
            for one in _all_of(where)
        ):
            return True
    return False


def _all_of(context: Context) -> Iterator[ast.expr]:
    """The objects of which all attributes are taken at once."""
    for use in context.index.attributes.get("__dict__", ()):
        if isinstance(use.ctx, ast.Load) and _is_read(context, use):
            yield use.value
    for call in context.index.calls.get("vars", ()):
        if isinstance(call.func, ast.Name) and len(call.args) == 1 and _is_read(context, call):
            yield call.args[0]


def _may_be(context: Context, node: ast.expr, classes: Iterable[str]) -> bool:
    """Whether an object is one of these classes, as it is made here, or as a function is given."""
    if isinstance(node, ast.Call):
        return (last_name(node.func) or "") in classes
    if not isinstance(node, ast.Name) or node.id == "self":
        return False
    bindings = context.flow.reaching(node)
    made = [bound_part(one, node.id) for one in bindings]
    return any(one.kind == "parameter" for one in bindings) or any(
        isinstance(one, ast.Call) and _may_be(context, one, classes) for one in made
    )
