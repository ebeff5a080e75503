"""Calls that do not fit what they call raise `TypeError` on every machine, and names that stand for
nothing `NameError`: what follows runs on none. Such lines were left behind when somebody changed
the parameters, or took an import away.

Only what is certain counts: a name that is called stands for one function or class of the project,
whose parameters are seen; one that stands for nothing is bound nowhere in its file, and nobody puts
it there; and nobody catches the error in the function that holds the line.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from mpslint.facts.python_names import comes_with_python
from mpslint.semantics.syntax.bound_in_module import bindings_of, may_be_rebound
from mpslint.semantics.syntax.fitting import (
    UNBOUND,
    Signature,
    fits,
    signature_of,
    way_to,
)
from mpslint.semantics.syntax.index import FUNCTIONS, walk
from mpslint.semantics.syntax.signatures import constructor_in
from mpslint.semantics.worlds.errors import kinds_of, may_catch
from mpslint.semantics.worlds.values import FUNCTION, NAME, Atom

if TYPE_CHECKING:
    from mpslint.semantics.worlds.core import Core
    from mpslint.semantics.worlds.state import FunctionNode

_CELLS = ("# In[", "# %%", "#%%", "# COMMAND", "get_ipython(")
"""What stands in a file of which people run parts by themselves."""
_GIVING_UP = (ast.Return, ast.Break, ast.Continue)
"""What drops an error that is on its way, in a `finally`."""
_PARTLY_RUN = (
    ast.BoolOp, ast.IfExp, ast.Lambda, ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp,
    ast.Compare, ast.Assert,
)  # fmt: skip
"""Expressions of which a part may not be worked out, or is later."""
_TRIES = ("Try", "TryStar")


def ends_here(run: Core, node: ast.Call, callee: Atom) -> bool:
    """Whether a call of a function or class of the file raises `TypeError` for certain."""
    if callee.v.home is not run or run.unsure or run.project is None:
        return False
    signature: Signature | None = None
    if callee.kind == FUNCTION:
        if callee.v.cls is None:  # Which method it is hangs on the object.
            signature = signature_of(callee.v.node.args)
    elif (made := constructor_in(callee.v.node.body)) is not None:
        signature = signature_of(made.args, bound=True)
    if signature is None or fits(signature, node):
        return False
    name = callee.v.node.name
    if not isinstance(node.func, ast.Name) or node.func.id != name:
        return False
    return _leaves(run, node, "TypeError") and _is_certain(run, name, node)


def ends_elsewhere(run: Core, name: str, node: ast.Call) -> bool:
    """The same of what the file imports from its project."""
    if run.unsure or run.project is None:
        return False
    signature = run.project.signature(name)
    if signature is None or fits(signature, node):
        return False
    key = run.key(node.func)
    first, _, rest = key.partition(".") if key is not None else ("", "", "")
    bound = bindings_of(run.tree, first)
    if len(bound) != 1 or not isinstance(bound[0], ast.alias):
        return False
    # A loader calls the function that puts its batches together: not with what it is given itself.
    if (rest or bound[0].name).rpartition(".")[2] != name.rpartition(".")[2]:
        return False
    if may_be_rebound(run.tree):
        return False
    return _leaves(run, node, "TypeError") and _is_certain(run, name, node)


def ends_unbound(run: Core, node: ast.Name) -> bool:
    """Whether a name stands for nothing for certain, so that whoever asks for it ends."""
    if run.unsure or run.project is None or comes_with_python(node.id):
        return False
    if bindings_of(run.tree, node.id) or may_be_rebound(run.tree):
        return False  # As most names are, of which no value is known.
    if not _leaves(run, node, "NameError"):
        return False
    return run.project.signature(node.id, certain=True) == UNBOUND


def _is_certain(run: Core, name: str, node: ast.Call) -> bool:
    signature = run.project.signature(name, certain=True) if run.project is not None else None
    return signature is not None and not fits(signature, node)


def _leaves(run: Core, node: ast.expr, error: str) -> bool:
    """Whether an expression is worked out by whoever comes to its statement, and its error leaves
    the function, or the file, that it stands in."""
    assert run.project is not None
    function = run.frame.function.node if run.frame.function is not None else None
    if run.project.path.endswith(".ipynb") or any(map(run.count_of, _CELLS)):
        return False
    if isinstance(function, ast.AsyncFunctionDef) or (function is not None and _yields(function)):
        return False  # It is run later than it is called.
    way = way_to(function or run.tree, node)
    within = [item for item in way[1:] if isinstance(item, (*FUNCTIONS, ast.ClassDef))]
    if not way or within or any(isinstance(item, _PARTLY_RUN) for item in way):
        return False
    return not any(_may_deal(run, item, way, error) for item in way)


def _yields(function: FunctionNode) -> bool:
    return any(isinstance(item, ast.Yield | ast.YieldFrom) for item in walk(function))


def _may_deal(run: Core, item: ast.AST, way: list[ast.AST], error: str) -> bool:
    """Whether a statement around an expression may catch its error."""
    if isinstance(item, ast.With | ast.AsyncWith):
        inside = len(item.items) > 1 or any(one in item.body for one in way)
        return inside and not all(_hands_on(run, one.context_expr) for one in item.items)
    if item.__class__.__name__ not in _TRIES:  # There is no `ast.TryStar` before Python 3.11.
        return False
    assert isinstance(item, ast.Try)
    if any(isinstance(one, _GIVING_UP) for last in item.finalbody for one in walk(last)):
        return True
    inside = any(one in item.body for one in way)
    return inside and any(may_catch(kinds_of(one.type), error) for one in item.handlers)


def _hands_on(run: Core, context: ast.expr) -> bool:
    """Whether a context catches no error: one of torch's, or an open file."""
    key = run.key(context.func) if isinstance(context, ast.Call) else None
    if key is None:
        return False
    first, dot, rest = key.partition(".")
    value = run.lookup(first)
    name = key
    if value.__class__ is Atom and value.kind == NAME:
        name = f"{value.v}{dot}{rest}"
    return name == "open" or name.startswith("torch.")
