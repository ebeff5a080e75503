"""Functions of a script that nothing runs, and names that nothing uses."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from mpslint.facts.priors import matches
from mpslint.semantics.syntax.expressions import is_main_block, last_name
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode
from mpslint.semantics.syntax.saying import SAYING
from mpslint.sources.opening import is_notebook, unread

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_TEXTS = (ast.FormattedValue, ast.JoinedStr, ast.BinOp, ast.Attribute, ast.Tuple, ast.keyword)
_SPELLING = (*SAYING, "str", "repr", "format")


def never_runs(context: Context, node: ast.AST) -> bool:
    """Whether `node` stands in a function of a script that the script does not mention again.

    A file that works when it is imported is a script: no other file has the function from it.
    Behind `if __name__ == "__main__"` it may be a library as well, and only what is named as a
    trial (`test`, `demo`) counts.
    """
    outermost = _outermost(context, node)
    if outermost is None or outermost.decorator_list:
        return False
    name = outermost.name
    if context.index.names.get(name) or name in _strings(context):
        return False
    if matches("trial-functions", name) and has_main(context):
        return True
    return _runs_on_import(context)


def never_used(context: Context, name: ast.Name) -> bool:
    """Whether a name gets a value and at most prints it: a local one, or one of the module of a
    script or a notebook, which no other file has it from."""
    if context.index.enclosing(name, ast.ClassDef) is not None:
        return False
    scope = context.names.owner(name.id, name)
    reads = [
        use
        for use in context.index.names.get(name.id, ())
        if isinstance(use.ctx, ast.Load) and context.names.owner(use.id, use) is scope
    ]
    if not all(_is_said(context, use) for use in reads):
        return False
    if name.id in _strings(context):
        return False
    if context.index.function(name) is not None:
        return bool(reads)
    return has_main(context) or _runs_on_import(context) or _in_notebook(context, name.id)


def _is_said(context: Context, use: ast.expr) -> bool:
    """`print(f"on {device}")`, `logger.info("on %s", device)`, a cell that shows `device`"""
    child: ast.AST = use
    for parent in context.index.ancestors(use):
        if isinstance(parent, ast.Expr):
            return child is use or (isinstance(child, ast.Call) and _called(child) in SAYING)
        if isinstance(parent, ast.Call):
            formats = child is parent.func and _called(parent) == "format"
            if not formats and (child is parent.func or _called(parent) not in _SPELLING):
                return False
        elif not isinstance(parent, _TEXTS):
            return False
        child = parent
    return False


def _called(call: ast.Call) -> str | None:
    return last_name(call.func)


def _in_notebook(context: Context, name: str) -> bool:
    """Whether the file is a notebook that is read as a whole: no cell is left out, and no shell
    line or magic (`!train.py --device {device}`) has the name."""
    if not is_notebook(context.source.path) or unread(context.source):
        return False
    raw = getattr(context.source, "json", "")
    # Fact: IPython's shell lines and magics, in the JSON of a notebook.
    return re.search(rf'(?:"|\\n)\s*[!%][^"]*\b{re.escape(name)}\b', raw) is None


def runs_alone(context: Context, name: str) -> bool:
    """Whether nothing but the cells of a notebook that are read may have one of its names: no
    shell line, and no tool that makes modules of cells which are marked for that."""
    # Fact: nbdev's marks, comments above a cell that is exported.
    exported = re.search(r"^#\s*\|?\s*export", context.source.text, re.M)
    return exported is None and _in_notebook(context, name)


def _outermost(context: Context, node: ast.AST) -> FunctionNode | None:
    """The function of the module around `node`; None in a class or outside functions."""
    for parent in context.index.ancestors(node):
        if isinstance(parent, FUNCTIONS) and isinstance(context.index.parents[parent], ast.Module):
            return parent
    return None


def _strings(context: Context) -> frozenset[object]:
    known = context.memo.get("strings")
    if known is None:
        known = frozenset(item.value for item in context.index.strings)
        context.memo["strings"] = known
    assert isinstance(known, frozenset)
    return known


def has_main(context: Context) -> bool:
    """Whether the file is a program, by its test of `__name__`."""
    known = context.memo.get("has-main")
    if known is None:
        known = context.memo["has-main"] = any(is_main_block(item) for item in context.tree.body)
    return bool(known)


def is_program(context: Context) -> bool:
    """Whether the file does its work when it is run, by a test of `__name__` or by calls."""
    return has_main(context) or _runs_on_import(context)


def _runs_on_import(context: Context) -> bool:
    """Whether the module itself calls one of its functions, outside a test of `__name__`."""
    known = context.memo.get("runs-on-import")
    if known is None:
        defined = {item.name for item in context.tree.body if isinstance(item, FUNCTIONS)}
        known = context.memo["runs-on-import"] = any(
            isinstance(call, ast.Expr)
            and isinstance(call.value, ast.Call)
            and isinstance(call.value.func, ast.Name)
            and call.value.func.id in defined
            for item in context.tree.body
            for call in ([item] if isinstance(item, ast.Expr) else getattr(item, "body", ()))
            if isinstance(item, ast.Expr | ast.With | ast.For | ast.Try)
        )
    return bool(known)
