"""What a program imports for certain once it is started, in whatever file of its project: what it
calls whatever happens, it runs.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from mpslint.project.compiled.kernel_imports import imported_by
from mpslint.records import NamedTuple
from mpslint.semantics.syntax.expressions import asks_for_name, last_name
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.worlds.text_imports import ANY, module_texts

ANY_MODULE = ANY
"""The name of a module that a program chooses while it runs; at the end of the name of a package,
one of its modules."""
_CHOOSERS = frozenset({"import_module", "__import__"})
_MOST = 256
"""So many functions of a program are followed."""


class _Names(NamedTuple):
    """What the names at the top of a file stand for."""

    defined: dict[str, list[ast.stmt]]
    """What a call of a function or a class runs."""
    imported: dict[str, tuple[str, str]]
    """By name: the module, and what is taken of it; empty, the module itself."""


def certain_imports(
    path: str, tree: ast.Module, find: Callable[[str, str], tuple[str, ast.Module] | None]
) -> Iterator[tuple[str, str]]:
    """Files, each with a module that it imports for certain when the program at `path` is started:
    at its top, below its test of `__name__`, and in what is called from there. `find` gives the
    file of a module, as another names it, and its tree."""
    known = {path: _names(tree)}
    seen: set[tuple[str, str]] = set()
    todo: list[tuple[str, list[ast.stmt]]] = [(path, tree.body)]
    while todo and len(seen) < _MOST:
        here, body = todo.pop()
        names = known[here]
        for statement in _certain(body):
            if isinstance(statement, ast.Import | ast.ImportFrom):
                names.imported.update(_bound(statement))
                yield from ((here, module) for module in imported_by(statement))
                continue
            for call in ast.walk(statement):
                if not isinstance(call, ast.Call):
                    continue
                func = call.func
                last = last_name(func) or ""
                if last in _CHOOSERS and call.args:
                    yield here, _text(call.args[0])
                    continue
                place, name = here, last
                if isinstance(func, ast.Attribute):
                    module, taken = names.imported.get(getattr(func.value, "id", ""), ("", ""))
                    dot = "" if module.endswith(".") else "."
                    module = f"{module}{dot}{taken}" if taken else module
                elif last in names.defined:
                    module = ""
                else:
                    module, name = names.imported.get(last, ("", ""))
                if isinstance(func, ast.Attribute) and not module:
                    continue
                if module:
                    # A lazy package has its names from other modules.
                    dot = "" if module.endswith(".") else "."
                    found = find(here, f"{module}{dot}{name}") or find(here, module)
                    if found is None:
                        continue
                    place = found[0]
                    if place not in known:
                        known[place] = _names(found[1])
                if name in known[place].defined and (place, name) not in seen:
                    seen.add((place, name))
                    todo.append((place, known[place].defined[name]))


def texts_of(tree: ast.Module) -> Iterator[str]:
    """The texts of a program that may be the name of a module."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if all(part.isidentifier() for part in node.value.split(".")):
                yield node.value


def _names(tree: ast.Module) -> _Names:
    defined: dict[str, list[ast.stmt]] = {}
    imported: dict[str, tuple[str, str]] = {}
    for item in tree.body:
        if isinstance(item, FUNCTIONS):
            defined[item.name] = item.body
        elif isinstance(item, ast.ClassDef):
            made = (one for one in item.body if isinstance(one, FUNCTIONS))
            defined[item.name] = next((one.body for one in made if one.name == "__init__"), [])
        elif isinstance(item, ast.Import | ast.ImportFrom):
            imported.update(_bound(item))
    return _Names(defined, imported)


def _bound(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, tuple[str, str]]]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            if alias.asname or "." not in alias.name:
                yield alias.asname or alias.name, (alias.name, "")
        return
    module = "." * node.level + (node.module or "")
    for alias in node.names:
        yield alias.asname or alias.name, (module, alias.name)


def _text(node: ast.expr) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    texts = module_texts(node, None, ast.Module(body=[], type_ignores=[]))
    return texts[0] if texts is not None and len(texts) == 1 else ANY_MODULE


def _certain(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The single statements of a body to which each run comes that has something to do; of what
    they define nothing runs."""
    kept = {name for item in body if isinstance(item, ast.Global) for name in item.names}
    for statement in body:
        if isinstance(statement, ast.If):
            if asks_for_name(statement.test) or _makes_once(statement, kept):
                yield from _certain(statement.body)
        elif isinstance(statement, ast.With | ast.For):
            yield from _certain(statement.body)
        elif not isinstance(statement, (*FUNCTIONS, ast.ClassDef, ast.Try, ast.While)):
            yield statement


def _makes_once(statement: ast.If, kept: set[str]) -> bool:
    """`if _library is None:` of a name that the module has and this arm gives what it is: the first
    who comes here goes through it."""
    test = statement.test
    return (
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], ast.Is)
        and isinstance(test.left, ast.Name)
        and test.left.id in kept
        and isinstance(test.comparators[0], ast.Constant)
        and test.comparators[0].value is None
        and any(
            isinstance(target, ast.Name) and target.id == test.left.id
            for item in statement.body
            if isinstance(item, ast.Assign)
            for target in item.targets
        )
    )
