"""Where a device is used that one place selects: in its file, and in those that import it."""

from __future__ import annotations

import ast
import os
from collections import defaultdict
from typing import TYPE_CHECKING

from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.options import destination

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mpslint.report.meaning import Meanings
    from mpslint.report.origins import Origin
    from mpslint.semantics.context import Context
    from mpslint.semantics.names.names import Binding, Scope

Used = tuple[str, int]
"""A path as the project names it, and an offset in the file's text."""


def uses_of(
    meanings: Meanings, origins: Iterable[Origin], paths: Iterable[str]
) -> dict[Origin, list[Used]]:
    """The uses of the device of each selection in the files `paths`."""
    found: dict[Origin, list[Used]] = {origin: [] for origin in origins}
    at_home: dict[str, list[Origin]] = defaultdict(list)
    for origin in found:
        at_home[origin.path].append(origin)
    abroad = {origin: _word(origin) for origin in found if origin.scope == "module"}
    for path in paths:
        here = os.path.abspath(path)
        own = at_home.get(here, [])
        data = meanings.data(path) if abroad else b""
        others = [o for o, word in abroad.items() if o.path != here and word in data]
        context = meanings.context(path) if own or others else None
        if context is None:
            continue
        try:
            for origin in own:
                found[origin] += _used(context, path, _at_home(context, origin))
            for origin in others:
                found[origin] += _used(context, path, _abroad(meanings, context, origin))
        except RecursionError:
            continue  # nested too deeply to follow
    return found


def _used(context: Context, path: str, nodes: Iterable[ast.expr]) -> list[Used]:
    return [(path, offset) for offset in sorted({context.source.span(node)[0] for node in nodes})]


def _word(origin: Origin) -> bytes:
    """What stands in each file that imports the name."""
    return origin.name.encode("utf-8", "replace")


def _at_home(context: Context, origin: Origin) -> list[ast.expr]:
    """The uses in the file that selects."""
    name = origin.name
    if origin.scope == "option":
        return _option_uses(context, origin)
    if "." in name:
        return _attribute_uses(context, name, origin.row)
    scopes = {_scope_of_binding(context, known, origin) for known in _scopes(context, name)}
    uses: list[ast.expr] = []
    for scope in scopes - {None}:
        assert scope is not None
        uses += _followed(context, name, scope, set(), origin.row)
    return uses


def _option_uses(context: Context, origin: Origin) -> list[ast.expr]:
    """`args.device` for `--device`."""
    for call in context.index.calls.get("add_argument", ()):
        if call.lineno == origin.row:
            attributes = context.index.attributes.get(destination(call) or "", ())
            return [found for found in attributes if isinstance(found.ctx, ast.Load)]
    return []


def _scopes(context: Context, name: str) -> list[Scope]:
    """All scopes of the file that bind a name."""
    found = [context.names.module, *map(context.names.own_scope, context.index.functions())]
    found += [context.names.own_scope(node) for node in context.index.of(ast.ClassDef)]
    return [scope for scope in found if name in scope.bindings]


def _scope_of_binding(context: Context, scope: Scope, origin: Origin) -> Scope | None:
    """`scope` where it is the one that the origin's line binds the name in."""
    rows = {_row(context, binding) for binding in scope.bindings[origin.name]}
    return scope if origin.row in rows else None


def _row(context: Context, binding: Binding) -> int | None:
    """The row that a selection by this binding is told at."""
    node = binding.node
    if binding.kind == "parameter":
        function = context.index.enclosing(node, *FUNCTIONS)
        node = function if function is not None else node
    return getattr(node, "lineno", None)


def _attribute_uses(context: Context, text: str, row: int) -> list[ast.expr]:
    same = [
        node
        for node in context.index.attributes.get(text.rpartition(".")[2], ())
        if ast.unparse(node) == text
    ]
    owners = {context.index.enclosing(node, ast.ClassDef) for node in same if node.lineno == row}
    return [
        node
        for node in same
        if isinstance(node.ctx, ast.Load) and context.index.enclosing(node, ast.ClassDef) in owners
    ]


def _abroad(meanings: Meanings, context: Context, origin: Origin) -> list[ast.expr]:
    """The uses in a file that imports the name, or the module that holds it."""
    uses: list[ast.expr] = []
    wanted = (origin.path, origin.name)
    for name, binding in list(context.names.every_binding()):
        if binding.kind != "import" or not binding.qualified:
            continue
        if binding.qualified.rpartition(".")[2] == origin.name:
            if meanings.home(context.source.path, binding.qualified) == wanted:
                scope = context.names.scope_of(binding.node)
                uses += _followed(context, name, scope, set())
                continue
        for load in _loads(context, name, context.names.scope_of(binding.node)):
            chain = _chain_to(context, load, origin.name)
            qualified = context.resolve(chain) if chain is not None else None
            if chain is not None and qualified is not None:
                if meanings.home(context.source.path, qualified) == wanted:
                    uses.append(chain)
    return uses


def _chain_to(context: Context, load: ast.Name, last: str) -> ast.Attribute | None:
    """`utils.device.DEVICE` around `utils`, where it ends with the name in question."""
    node: ast.AST = load
    while isinstance(parent := context.index.parents[node], ast.Attribute):
        if parent.attr == last:
            return parent
        node = parent
    return None


def _loads(context: Context, name: str, scope: Scope) -> Iterator[ast.Name]:
    for use in context.index.names.get(name, ()):
        if isinstance(use.ctx, ast.Load) and context.names.owner(name, use) is scope:
            yield use


def _followed(
    context: Context,
    name: str,
    scope: Scope,
    seen: set[tuple[Scope, str, int | None]],
    row: int | None = None,
) -> list[ast.expr]:
    """The loads of a name, and of the names that it is handed on to: `device = get_device()` is
    no use, what is done with that `device` is one. Of a name that is bound anew those count that
    may read what it got at `row`."""
    if (scope, name, row) in seen:
        return []
    seen.add((scope, name, row))
    uses: list[ast.expr] = []
    for load in _loads(context, name, scope):
        reaching = context.flow.reaching(load) if row is not None else ()
        if reaching and row not in {_row(context, binding) for binding in reaching}:
            continue
        value: ast.AST = load
        parent = context.index.parents[load]
        if isinstance(parent, ast.Call) and parent.func is load:
            value, parent = parent, context.index.parents[parent]
        if isinstance(parent, ast.Assign) and parent.value is value:
            (target, *more) = parent.targets
            if isinstance(target, ast.Name) and not more:
                owner = context.names.owner(target.id, target)
                if owner is not None:
                    uses += _followed(context, target.id, owner, seen, parent.lineno)
                    continue
        uses.append(load)
    return uses
