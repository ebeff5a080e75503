"""Settings of a script that its user edits in the file: `MODE = "train"`, `checkpoint = None`.

What stands in the arms of the other answers is there to be run, after a change of one line: a name
of the module that is set once, to a text that the file compares with several, or to None for "not
given"; or an attribute that an object sets itself, to a text (`self.agent_type = "dqn"`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from mpslint.semantics.syntax.index import FUNCTIONS, statements, walk

# Fact: Python's grammar, an assignment of a text or of None at the margin.
_SET = re.compile(rb"^([A-Za-z_]\w*)[ \t]*=[ \t]*(?:None\b|['\"])", re.M)
# Fact: Python's grammar, a comparison of a name.
_COMPARED = re.compile(rb"\b([A-Za-z_]\w*)[ \t]+(?:==|is)[ \t]")
# Fact: Python's grammar, a comparison of an attribute with a text.
_COMPARED_ATTRIBUTE = re.compile(rb"\.[A-Za-z_]\w*[ \t]*==[ \t]*['\"]")
_LEAST_TEXTS = 2
"""With fewer texts a name is compared to leave something out, not to choose."""


def edited_settings(tree: ast.Module, text: bytes) -> frozenset[str]:
    """The names of the module that its user is asked to set."""
    found = {name.decode() for name in _SET.findall(text)}
    found &= {name.decode() for name in _COMPARED.findall(text)}
    first = {name: value for name, value in _set_once(tree) if name in found}
    if not first:
        return frozenset()
    texts: dict[str, set[str]] = {}
    given: set[str] = set()
    for statement in statements(tree):
        if not isinstance(statement, ast.If):
            continue
        for left, operator, other in _comparisons(statement.test):
            name = left.id if isinstance(left, ast.Name) else ""
            if name not in first:
                continue
            if isinstance(operator, ast.Eq) and isinstance(other, str):
                texts.setdefault(name, set()).add(other)
            elif other is None and (isinstance(operator, ast.IsNot) or statement.orelse):
                # `if cache is None: cache = ...` alone is no choice, but work that is put off.
                given.add(name)
    return frozenset(
        name
        for name, value in first.items()
        if (name in given if value is None else len(texts.get(name, ())) >= _LEAST_TEXTS)
    )


def edited_attributes(tree: ast.Module, text: bytes) -> frozenset[str]:
    """The attributes that one statement of the file sets, of an object of its own, and that it
    compares with several texts."""
    if not _COMPARED_ATTRIBUTE.search(text):
        return frozenset()
    texts: dict[str, set[str]] = {}
    for statement in statements(tree):
        for left, operator, other in (
            _comparisons(statement.test) if isinstance(statement, ast.If) else ()
        ):
            if isinstance(left, ast.Attribute) and isinstance(operator, ast.Eq):
                if isinstance(other, str):
                    texts.setdefault(left.attr, set()).add(other)
    several = {name for name, found in texts.items() if len(found) >= _LEAST_TEXTS}
    stored: dict[str, int] = {}
    for item in walk(tree) if several else ():
        if isinstance(item, ast.Attribute) and isinstance(item.ctx, ast.Store):
            own = isinstance(item.value, ast.Name) and item.value.id == "self"
            stored[item.attr] = stored.get(item.attr, 0) + (1 if own else 2)
    return frozenset(name for name in several if stored.get(name) == 1)


def _set_once(tree: ast.Module) -> Iterator[tuple[str, object]]:
    """Names that one statement of the module sets, to a text or to None, and no other does."""
    first: dict[str, object] = {}
    more: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target, given = statement.targets[0], statement.value
            if isinstance(target, ast.Name) and isinstance(given, ast.Constant):
                if target.id in first:
                    more.add(target.id)
                first[target.id] = given.value
                continue
        if not isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
            more.update(
                item.id
                for item in ast.walk(statement)
                if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)
            )
    for name, value in first.items():
        if name not in more and (value is None or isinstance(value, str)):
            yield name, value


def _comparisons(test: ast.expr) -> Iterator[tuple[ast.expr, ast.cmpop, object]]:
    """`name == "train"` and `name is not None`, alone or in an `and` or `or`."""
    for item in test.values if isinstance(test, ast.BoolOp) else (test,):
        if not isinstance(item, ast.Compare) or len(item.ops) != 1:
            continue
        left, other = item.left, item.comparators[0]
        if isinstance(left, ast.Name | ast.Attribute) and isinstance(other, ast.Constant):
            yield left, item.ops[0], other.value
