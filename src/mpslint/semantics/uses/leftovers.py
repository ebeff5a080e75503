"""Functions and classes that nothing in the project uses any more: what they do happens on no
machine.

A function is one where neither its own file nor any other of the project has its name, while
something else of the file is used. What may be called without its name is none: tests, hooks of a
framework's classes, what a decorator registers. A class is one as a function is, where it has no
bases that may keep a list of what is derived from them (`known_bases`).
"""

from __future__ import annotations

import ast
import os
from typing import TYPE_CHECKING, Protocol

from mpslint.facts.priors import matches
from mpslint.semantics.elsewhere.elsewhere import ANYTHING
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode
from mpslint.semantics.syntax.parameters import defaults_of
from mpslint.semantics.syntax.paths import parts
from mpslint.semantics.syntax.type_questions import only_asks
from mpslint.semantics.uses.defined import Defined, asked_for, definitions_around, is_handed_on
from mpslint.semantics.uses.known_bases import has_own_methods, keeps_no_list
from mpslint.semantics.uses.never_chosen import is_never_chosen
from mpslint.semantics.uses.unused import runs_alone
from mpslint.sources.opening import is_notebook

if TYPE_CHECKING:
    from mpslint.semantics.context import Context

_MODULE, _DEFINITION = "module", "definition"
"""What a row is about."""
_PLAIN = frozenset(
    {
        "staticmethod",
        "classmethod",
        "property",
        "abc.abstractmethod",
        "contextlib.asynccontextmanager",
        "contextlib.contextmanager",
        "functools.cache",
        "functools.cached_property",
        "functools.lru_cache",
        "functools.wraps",
        "typing.overload",
        "typing.override",
        "torch.enable_grad",
        "torch.inference_mode",
        "torch.no_grad",
        "torch.set_grad_enabled",
        "torch.amp.autocast",
        "torch.autocast",
        "torch.compile",
        "torch.cuda.amp.autocast",
    }
)
"""Decorators that hand what they decorate to nobody."""
_ENTRIES = ("hubconf.py", "conftest.py", "setup.py")
"""Files whose functions a tool takes by their names."""
_RUNNING = ("eval", "exec", "Fire")
"""What runs a text, whatever it names."""
_BY_TEXT = ("globals", "locals", "vars", *_RUNNING)
"""What takes functions of its own file by their names."""


def is_leftover(context: Context, row: int) -> bool:
    """Whether a line stands in a function or in a class that nothing uses, or in a module to which
    nothing leads."""
    if context.elsewhere is None:
        return False
    if _is_unreached(context):
        return matches("leftovers", _MODULE)
    return _leftovers(context).stand_at(row) and matches("leftovers", _DEFINITION)


def _is_unreached(context: Context) -> bool:
    if context.elsewhere is None or is_notebook(context.source.path):
        return False
    known = context.memo.get("unreached")
    if known is None:
        known = context.memo["unreached"] = context.elsewhere.why_unreached(context.source.path)
    return bool(known)


def _leftovers(context: Context) -> Leftovers:
    assert context.elsewhere is not None
    known = context.memo.setdefault("leftovers", {})
    assert isinstance(known, dict)
    return Leftovers(context, context.elsewhere, known)


class Uses(Protocol):
    """Who knows whether the rest of the project uses something."""

    def uses(self, path: str, name: str, *, method: bool, alive: bool = ...) -> bool: ...


class Leftovers:
    """Those of a file, as `others` tell of its users. `known` keeps the answers, by the places of
    the definitions."""

    def __init__(
        self, context: Context, others: Uses, known: dict[tuple[str, int, int], bool]
    ) -> None:
        self._context = context
        self._others = others
        self._known = known

    def stand_at(self, row: int) -> bool:
        """Whether a line stands in a function or class that nothing uses."""
        return any(self._include(defined) for defined in definitions_around(self._context, row))

    def _include(self, defined: Defined) -> bool:
        node = defined.node
        place = node.name, node.lineno, node.col_offset
        if place not in self._known:
            self._known[place] = False  # Functions that call each other are taken for called.
            self._known[place] = self._is_unused(defined)
        return self._known[place]

    def _is_unused(self, defined: Defined) -> bool:
        node, owner = defined
        path = self._context.source.path
        if os.path.basename(path) in _ENTRIES:
            return False
        if node.name.startswith(("__", "pytest_")) or not _is_plain(self._context, node):
            return False
        if node.name.startswith(("test", "Test")) and _may_hold_tests(self._context):
            return False
        if _takes_by_text(self._context, method=owner is not None) or self._is_mentioned(defined):
            return False
        if isinstance(node, ast.ClassDef) and not keeps_no_list(self._context, node):
            return False
        if owner is not None and not has_own_methods(self._context, owner, node.name):
            return False
        if is_notebook(path):
            # No file imports a notebook: what none of its cells names is shown, and not run.
            return owner is None and runs_alone(self._context, node.name)
        if self._others.uses(path, node.name, method=owner is not None, alive=True):
            return False
        return self._is_left_among_used(defined)

    def _is_left_among_used(self, defined: Defined) -> bool:
        """Whether something else of the file is used: its class, or another function. A file of
        which nothing is used is new, or for somebody who is not seen; one of a package is
        neither."""
        node, owner = defined
        if not self._others.uses(self._context.source.path, ANYTHING, method=False):
            return True
        others = [owner] if owner is not None else self._context.tree.body
        return any(
            self._is_reached(other, {node})
            for other in others
            if isinstance(other, (*FUNCTIONS, ast.ClassDef)) and other is not node
        )

    def _is_reached(self, definition: FunctionNode | ast.ClassDef, seen: set[ast.AST]) -> bool:
        """Whether the module's own code, or another file, uses a function or class, be it by way of
        others: what only a leftover uses is left over as well."""
        seen.add(definition)
        users: list[FunctionNode | ast.ClassDef] = []
        for use in self._context.index.names.get(definition.name, ()):
            around = _top_level(self._context, use)
            if around is None:
                return True
            if around not in seen:
                users.append(around)
        if self._others.uses(self._context.source.path, definition.name, method=False, alive=True):
            return True
        return any(user not in seen and self._is_reached(user, seen) for user in users)

    def _is_mentioned(self, defined: Defined) -> bool:
        """Whether the file has the name anywhere but in the function itself, and in functions that
        nothing uses either."""
        node, owner = defined
        index = self._context.index
        module = os.path.splitext(os.path.basename(self._context.source.path))[0]
        # A setting of this very file may name it as others do: `"train.Callback"` in `train.py`.
        spelled = (node.name, f"{module}.{node.name}")
        if any(
            (text.value in spelled or _ends_so(text.value, spelled[1]))
            and not is_handed_on(self._context, text)
            for text in index.strings
        ):
            return True
        uses: list[ast.expr] = []
        if owner is None:
            uses += [use for use in index.names.get(node.name, ()) if isinstance(use.ctx, ast.Load)]
        else:
            uses += [
                use
                for use in index.attributes.get(node.name, ())
                if not (self._context.resolve(use.value) or "").strip(".")
            ]
            uses += index.names.get(node.name, ())
        return any(
            not index.within(use, node)
            and not only_asks(index, use)
            and not self.stand_at(use.lineno)
            and not is_never_chosen(self._context, use.lineno)
            for use in uses
        )


def _ends_so(text: object, name: str) -> bool:
    return isinstance(text, str) and text.endswith(f".{name}")


def is_never_default(context: Context, default: ast.expr) -> bool:
    """Whether a default, or what a default is made of (`torch.device("cuda")`), stands for a
    parameter that all calls in the project give."""
    if context.elsewhere is not None and _is_never_left_out(context, default):
        return True
    whole: ast.AST = default
    arguments = context.index.parents.get(whole)
    while isinstance(arguments, ast.expr | ast.keyword) and not isinstance(arguments, ast.Lambda):
        whole, arguments = arguments, context.index.parents.get(arguments)
    node = context.index.parents.get(arguments) if arguments is not None else None
    if not isinstance(arguments, ast.arguments) or not isinstance(whole, ast.expr):
        return False
    if not isinstance(node, FUNCTIONS) or context.elsewhere is None:
        return False
    parameter = next(one for one, value in defaults_of(arguments) if value is whole)
    asked = asked_for(context, node, parameter)
    return asked is not None and context.elsewhere.gives(context.source.path, asked)


def _is_never_left_out(context: Context, default: ast.expr) -> bool:
    """The same of `named.get("device", "cuda")` in a function of `**named`."""
    call = context.index.parents.get(default)
    if not isinstance(call, ast.Call) or len(call.args) != 2 or call.args[1] is not default:
        return False
    function, key = context.index.function(call), call.args[0]
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("get", "pop"):
        return False
    if function is None or function.args.kwarg is None or not isinstance(key, ast.Constant):
        return False
    named = call.func.value
    if not isinstance(named, ast.Name) or named.id != function.args.kwarg.arg:
        return False
    if not isinstance(key.value, str):
        return False
    asked = asked_for(context, function, ast.arg(key.value))
    assert context.elsewhere is not None
    return asked is not None and context.elsewhere.gives(context.source.path, asked)


def _top_level(context: Context, node: ast.AST) -> FunctionNode | ast.ClassDef | None:
    """The function or class of the module's own level in which a node stands."""
    top = next((item for item in context.index.ancestors(node) if item in context.tree.body), None)
    return top if isinstance(top, (*FUNCTIONS, ast.ClassDef)) else None


def _is_plain(context: Context, node: FunctionNode | ast.ClassDef) -> bool:
    """Whether no decorator may hand the function to somebody who calls it."""
    return all(
        context.resolve(item.func if isinstance(item, ast.Call) else item) in _PLAIN
        or (isinstance(item, ast.Name) and item.id in _PLAIN)
        for item in node.decorator_list
    )


def _may_hold_tests(context: Context) -> bool:
    """Whether a runner may collect what the file names as a test. One looks into files that are
    called so, or lie in a folder that is, unless it is told of others, which import it."""
    tops = {(binding.qualified or "").split(".")[0] for _, binding in context.names.every_binding()}
    near = parts(context.source.path)[-2:]
    return bool(tops & {"pytest", "unittest"}) or any("test" in part.lower() for part in near)


def _takes_by_text(context: Context, *, method: bool) -> bool:
    """Whether the file may call its functions by names that stand in texts; those of a class have
    no name in the module."""
    return any(
        name == "Fire" or (isinstance(call.func, ast.Name) and not _is_of_object(call))
        for name in (_RUNNING if method else _BY_TEXT)
        for call in context.index.calls.get(name, ())
    )


def _is_of_object(call: ast.Call) -> bool:
    """`vars(args)`: the attributes of what is no module."""
    return (
        isinstance(call.func, ast.Name)
        and call.func.id == "vars"
        and any(isinstance(item, ast.Name) for item in call.args)
    )
