"""Modules of the program's own in which nothing can be moved: losses, transforms, wrappers; and the
parts of one whose constructor nobody had to run.

`Module.cuda()` goes through parameters, buffers and submodules. What a class without any of them
keeps on `self` (numbers, plain tensors, functions) stays where it is, and nothing raises.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from typing import Any

from mpslint.facts import machines as facts
from mpslint.semantics.syntax.expressions import last_name
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.node_kinds import of_kinds
from mpslint.semantics.syntax.parameters import positional_parameters
from mpslint.semantics.worlds.machines import ALL
from mpslint.semantics.worlds.state import Class, Env
from mpslint.semantics.worlds.values import (
    BARE,
    CLASS,
    INSTANCE,
    MODULE,
    NAME,
    SEQUENCE,
    UNK,
    UNKNOWN,
    Atom,
    Value,
    cases_of,
    one,
)

_MODULE = frozenset({"torch.nn.Module", "torch.nn.modules.Module", "torch.nn.modules.loss._Loss"})
"""Bases that bring neither parameters nor buffers."""
_REGISTERING = frozenset(
    {"Parameter", "UninitializedParameter", "register_buffer", "register_parameter"}
    | {"register_module", "add_module", "setattr", "__setattr__", "__dict__", "_modules"}
)
"""Words by which a module gets something to move in another way than `self.name = module`."""
_OF_PYTHON = frozenset(dir(builtins))
_LIBRARIES = frozenset({"torch", "numpy", "math"})
"""Those whose functions are given numbers and tensors."""
_NOT_CALLED = frozenset({"Parameter", "ParameterList", "ParameterDict", "ModuleList", "ModuleDict"})
"""Classes of `torch.nn` whose objects are given nothing to compute."""
_WRAPPING = frozenset({"compile", "DataParallel"})
"""Functions and classes of `torch` itself that give back a module."""
_COMPUTED = (
    *(ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp),
    *(ast.Subscript, ast.Slice, ast.FormattedValue),
)
_TESTING = (ast.If, ast.IfExp, ast.While, ast.Assert)


def holds_nothing(cls: Class, depth: int = 4) -> bool:
    """Whether a module of this class has no parameter, no buffer, and no part that may have one."""
    node = cls.node
    if not depth or len(node.bases) != 1 or node.keywords or node.decorator_list:
        return False
    if cls.parents:
        if not holds_nothing(cls.parents[0], depth - 1):
            return False
    elif len(cls.bases) != 1 or cls.bases[0] not in _MODULE:
        return False
    methods = [item for item in node.body if isinstance(item, FUNCTIONS)]
    if any(last_name(item) in _REGISTERING for item in ast.walk(node)):
        return False
    if any(not _is_plain(item) for item in node.body):
        return False
    uses = [use for method in methods for use in _of_self(method)]
    stored = {use.attr for use in uses if isinstance(use.ctx, ast.Store)}
    parents = {child: item for item in ast.walk(node) for child in ast.iter_child_nodes(item)}
    places = dict.fromkeys(stored, 0)
    open_: set[str] = set()
    for use in uses:
        parent = parents[use]
        if isinstance(use.ctx, ast.Store) and not _moves_itself(use, parent):
            places[use.attr] += 1
            if not (isinstance(parent, ast.Assign) and _makes_no_part(cls, parent.value, depth)):
                open_.add(use.attr)
    return all(_is_no_part(cls, name, places[name], uses, parents, depth) for name in open_)


def has_part(cls: Class, name: str) -> bool:
    """Whether all that the constructor of a class stores under a name are modules that are given
    tensors, and have something to move."""
    made = cls.methods.get("__init__")
    values = [
        item.value
        for item in (of_kinds(made.node, {ast.Assign}) if made is not None else ())
        if isinstance(item, ast.Assign)
        and any(isinstance(to, ast.Attribute) and to.attr == name for to in item.targets)
    ]
    return bool(values) and all(_makes_part(cls, value) for value in values)


def _makes_part(cls: Class, value: ast.expr) -> bool:
    if not isinstance(value, ast.Call) or _makes_no_part(cls, value, 1):
        return False
    holder, _, last = qualified(cls, value.func).rpartition(".")
    return holder == "torch.nn" and last[:1].isupper() and last not in _NOT_CALLED


def _moves_itself(target: ast.Attribute, parent: ast.AST) -> bool:
    """`self.mean = self.mean.to(x.device)`"""
    item: ast.AST = parent.value if isinstance(parent, ast.Assign) else parent
    while isinstance(item, ast.Attribute | ast.Call | ast.Subscript):
        if isinstance(item, ast.Attribute) and item.attr == target.attr:
            return ast.unparse(item) == ast.unparse(target)
        item = item.func if isinstance(item, ast.Call) else item.value
    return False


def _is_plain(item: ast.stmt) -> bool:
    """Methods, a text, annotations and constants: nothing that a class gets a part by."""
    if isinstance(item, ast.Assign | ast.AnnAssign):
        return item.value is None or isinstance(item.value, ast.Constant | ast.Tuple | ast.List)
    return isinstance(item, (*FUNCTIONS, ast.Pass)) or (
        isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant)
    )


def _of_self(method: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[ast.Attribute]:
    """What a method looks at, or stores, on its object."""
    taken = positional_parameters(method.args)
    if taken:
        for item in ast.walk(method):
            if isinstance(item, ast.Attribute) and isinstance(item.value, ast.Name):
                if item.value.id == taken[0].arg:
                    yield item


def _is_no_part(
    cls: Class,
    name: str,
    places: int,
    uses: list[ast.Attribute],
    parents: dict[ast.AST, ast.AST],
    depth: int,
) -> bool:
    """Whether what an attribute holds is no module, by what is stored in it where that was run and
    is known, else by its uses: nobody calls it or gives it to others, as one does with a part."""
    sites = cls.sites.get(name, {})
    if len(sites) >= places and all(_is_bare(site, depth) for site in sites.values()):
        return True
    if any(_may_be_part(site, depth) for site in sites.values()):
        return False
    reads = [use for use in uses if use.attr == name and isinstance(use.ctx, ast.Load)]
    return bool(reads) and all(_is_value(cls, use, parents) for use in reads)


def _makes_no_part(cls: Class, value: ast.expr, depth: int) -> bool:
    """Whether an expression by itself, of a constructor that nobody had to run, makes no part."""
    if isinstance(value, (ast.Constant, ast.Compare, ast.List, ast.Dict, ast.ListComp)):
        return True
    if not isinstance(value, ast.Call):
        return False
    if isinstance(value.func, ast.Name):
        made = made_of(cls, value.func.id)
        if made.kind == CLASS:
            return not made.v.module or holds_nothing(made.v, depth - 1)
    holder, _, last = qualified(cls, value.func).rpartition(".")
    if holder in _LIBRARIES and last not in _WRAPPING:
        return True  # A tensor, an array or a number.
    if holder not in ("torch.nn", "torch.nn.modules.loss", "torch.nn.modules.activation"):
        return False
    plain = not value.args or not last.endswith("Loss")
    named = {keyword.arg for keyword in value.keywords}
    return (
        plain
        and last in facts.BARE_MODULES
        and facts.WEIGHTS.isdisjoint(named)
        and (None not in named)
    )


def _is_bare(value: Value, depth: int) -> bool:
    """Whether this is known, and no part that could be moved."""
    for _, atom in cases_of(value):
        if atom.kind == UNKNOWN or (atom.kind == NAME and not _is_function(str(atom.v))):
            return False
        if atom.kind == SEQUENCE:
            continue  # A list of modules is no part: `nn.ModuleList` is there for that.
        if _is_part(atom.kind, atom.v, depth):
            return False
    return True


def _is_function(name: str) -> bool:
    return name.startswith(("torch.", "numpy.")) or name in _OF_PYTHON


def _is_part(kind: str, held: Any, depth: int) -> bool:
    if kind == MODULE:
        return bool(held[1] != BARE)
    if kind == INSTANCE and isinstance(held, Class) and held.module:
        return not holds_nothing(held, depth - 1)
    return False


def _may_be_part(value: Value, depth: int) -> bool:
    return any(_is_part(atom.kind, atom.v, depth) for _, atom in cases_of(value))


def _is_value(cls: Class, use: ast.Attribute, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether something is computed with, tested, asked for what it has, or given to a function of
    torch's or Python's: what is no module."""
    parent = parents[use]
    if isinstance(parent, ast.Attribute):
        around = parents[parent]
        return not (isinstance(around, ast.Call) and around.func is parent)
    if isinstance(parent, ast.keyword):
        parent = parents[parent]
    if isinstance(parent, ast.Call):
        return parent.func is not use and _is_known(cls, parent.func)
    if isinstance(parent, _TESTING):
        return parent.test is use
    return isinstance(parent, _COMPUTED)


def _is_known(cls: Class, function: ast.expr) -> bool:
    """Whether a function is torch's or Python's, by the names of the module."""
    if isinstance(function, ast.Name) and function.id in _OF_PYTHON:
        return True
    return qualified(cls, function).partition(".")[0] in _LIBRARIES


def qualified(cls: Class, function: ast.expr) -> str:
    """The qualified name of what is imported; empty for anything else."""
    rest = ""
    while isinstance(function, ast.Attribute):
        rest = f".{function.attr}{rest}"
        function = function.value
    if not isinstance(function, ast.Name):
        return ""
    root = made_of(cls, function.id)
    return f"{root.v}{rest}" if root.kind == NAME else ""


def made_of(cls: Class, name: str) -> Atom:
    """What a name of the module holds in which the class stands."""
    around: list[Env] = next((method.up for method in cls.methods.values() if method.up), [{}])
    return one(around[-1].get(name, UNK), ALL)
