"""Choices between objects, one for CUDA and one for MPS: `Gpu() if torch.cuda.is_available() else
Apple()`, where `Apple` moves to MPS itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.semantics.facts_known import backend_word
from mpslint.semantics.index import walk
from mpslint.semantics.worlds.interpreter import Interpreter
from mpslint.semantics.worlds.machines import ALL
from mpslint.semantics.worlds.values import CLASS, NAME, UNK, one


def serves_mps_beside(run: Interpreter, test: ast.expr) -> bool:
    """Whether the arm that Macs take of a choice makes an object of a class that names MPS."""
    return any(_names_mps(cls) for cls in _made_beside(run, test))


def _made_beside(run: Interpreter, test: ast.expr) -> Iterator[ast.ClassDef]:
    for choice in walk(run.tree):
        if isinstance(choice, ast.IfExp) and choice.test is test:
            yield from _class_of(run, choice.orelse)
        elif isinstance(choice, ast.If) and choice.test is test:
            for statement in choice.orelse:
                if isinstance(statement, ast.Assign | ast.Return) and statement.value is not None:
                    yield from _class_of(run, statement.value)


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
