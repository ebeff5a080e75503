"""Choices between objects, one for CUDA and one for MPS: `Gpu() if torch.cuda.is_available() else
Apple()`, where `Apple` moves to MPS itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from weakref import WeakKeyDictionary

from mpslint.semantics.facts_known import backend_word
from mpslint.semantics.index import walk
from mpslint.semantics.worlds.interpreter import Interpreter
from mpslint.semantics.worlds.machines import ALL
from mpslint.semantics.worlds.values import CLASS, NAME, UNK, one

_KNOWN: WeakKeyDictionary[ast.Module, dict[ast.expr, ast.If | ast.IfExp]] = WeakKeyDictionary()
"""As long as somebody holds the tree."""


def serves_mps_beside(run: Interpreter, test: ast.expr) -> bool:
    """Whether the arm that Macs take of a choice makes an object of a class that names MPS."""
    return any(_names_mps(cls) for cls in _made_beside(run, test))


def _made_beside(run: Interpreter, test: ast.expr) -> Iterator[ast.ClassDef]:
    choice = _choices(run.tree).get(test)
    if isinstance(choice, ast.IfExp):
        yield from _class_of(run, choice.orelse)
    elif choice is not None:
        for statement in choice.orelse:
            if isinstance(statement, ast.Assign | ast.Return) and statement.value is not None:
                yield from _class_of(run, statement.value)


def _choices(tree: ast.Module) -> dict[ast.expr, ast.If | ast.IfExp]:
    """The choices of a file by their tests: one walk a file, however many are asked for."""
    if tree not in _KNOWN:
        _KNOWN[tree] = {
            choice.test: choice for choice in walk(tree) if isinstance(choice, ast.If | ast.IfExp)
        }
    return _KNOWN[tree]


def _class_of(run: Interpreter, made: ast.expr) -> Iterator[ast.ClassDef]:
    """The class of which an expression makes an object, of this file or of another."""
    if not isinstance(made, ast.Call) or not isinstance(made.func, ast.Name):
        return
    found = one(run.frame.env.get(made.func.id, UNK), ALL)
    if found.kind == CLASS:
        yield found.v.node
    elif found.kind == NAME and run.project is not None:
        cls = run.project.base(str(found.v))
        if cls is not None:
            yield cls.node


def _names_mps(cls: ast.ClassDef) -> bool:
    return any(isinstance(item, ast.expr) and backend_word(item) == "mps" for item in walk(cls))
