"""Choices between objects, one for CUDA and one for MPS: `Gpu() if torch.cuda.is_available() else
Apple()`, where `Apple` moves to MPS itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from mpslint.semantics.syntax.index import children, walk
from mpslint.semantics.syntax.saying import only_says
from mpslint.semantics.terms.facts_known import backend_word
from mpslint.semantics.worlds.interpreter import Interpreter
from mpslint.semantics.worlds.machines import ALL
from mpslint.semantics.worlds.values import CLASS, NAME, UNK, one

_MODULE = "torch.mps."
_HOLDING = (ast.Assign, ast.AnnAssign, ast.Return, ast.keyword, ast.IfExp, ast.arguments)


def serves_mps_beside(run: Interpreter, test: ast.expr) -> bool:
    """Whether the arm that Macs take of a choice makes an object of a class that works on MPS."""
    return any(_works_on_mps(cls) for cls in _made_beside(run, test))


def _made_beside(run: Interpreter, test: ast.expr) -> Iterator[ast.ClassDef]:
    choice, is_inverted = _choices(run).get(test, (None, False))
    if isinstance(choice, ast.IfExp):
        yield from _class_of(run, choice.body if is_inverted else choice.orelse)
    elif choice is not None:
        for statement in choice.body if is_inverted else choice.orelse:
            if isinstance(statement, ast.Assign | ast.Return) and statement.value is not None:
                yield from _class_of(run, statement.value)


def _choices(run: Interpreter) -> dict[ast.expr, tuple[ast.If | ast.IfExp, bool]]:
    """The choices of a file by their tests, and whether they ask for the opposite: one walk a file,
    however many are asked for."""
    if run.written_choices is None:
        run.written_choices = {}
        for choice in walk(run.tree):
            if isinstance(choice, ast.If | ast.IfExp):
                test, is_inverted = choice.test, False
                while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
                    test, is_inverted = test.operand, not is_inverted
                run.written_choices[test] = choice, is_inverted
    return run.written_choices


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


def _works_on_mps(node: ast.AST) -> bool:
    """Whether a class places something on MPS, keeps it as its device, or calls what torch has for
    it: that its texts speak of MPS is not enough, nor that it lists it or asks for it."""
    for child in children(node):
        if isinstance(child, ast.stmt) and only_says(child):
            continue
        if isinstance(child, ast.expr) and backend_word(child) == "mps":
            given = isinstance(node, ast.Call) and child in node.args
            if given or isinstance(node, _HOLDING):
                return True
        if isinstance(child, ast.Call) and ast.unparse(child.func).startswith(_MODULE):
            return True
        if _works_on_mps(child):
            return True
    return False
