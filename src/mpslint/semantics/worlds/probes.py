"""Trials of CUDA: a statement that is there to raise where there is none, below a `try`.

`torch.cuda.current_device()` and `torch.zeros(1).cuda()` on a line of their own hand nobody
anything: what follows in the `try` is for machines with CUDA, as the arm of a test is, and the
handler for the others.
"""

from __future__ import annotations

import ast

from mpslint.facts import machines as facts
from mpslint.facts.runtime import error_of
from mpslint.semantics.syntax.index import walk
from mpslint.semantics.worlds.core import Core
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.machines import ALL, CPU, MAC
from mpslint.semantics.worlds.values import (
    DEVICE,
    NO_TESTS,
    SEQUENCE,
    TENSOR,
    UNK,
    Tests,
    Value,
    cases_of,
    one,
    text_of,
)

_LACKING = MAC | CPU
_SHORT = 4
"""A longer block does its work there, and a handler only shows what went wrong."""
_SIMPLE = (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return, ast.Pass)


class Probes(Core):
    tree: ast.Module
    read_names: dict[ast.AST, frozenset[str]]

    def tried(self, body: list[ast.stmt]) -> Tests:
        """Runs the block of a `try` whose handlers are for errors without CUDA. Gives the calls
        that send machines without CUDA to these."""
        frame, calls = self.frame, NO_TESTS
        if len(body) > _SHORT or not all(isinstance(item, _SIMPLE) for item in body):
            self.block(body)
            return calls
        for statement in body:
            probing, frame.probing = frame.probing, True
            probed, frame.probed = frame.probed, 0
            asked, frame.asks_probe = frame.asks_probe, False
            self.block([statement])
            raised, asks = frame.probed & frame.mask, frame.asks_probe
            frame.probing, frame.probed, frame.asks_probe = probing, probed, asked
            call = self._made_for_nobody(statement) if raised & MAC else None
            if call is not None:
                self.refuse(raised, "AssertionError")
                frame.tests |= {call}
                calls |= {call}
                if asks:
                    self.cuda_tests.add(call)
        return calls

    def _made_for_nobody(self, statement: ast.stmt) -> ast.Call | None:
        """The call of a statement whose value nobody takes, or only a name that nobody reads."""
        value = statement.value if isinstance(statement, ast.Expr | ast.Assign) else None
        if not isinstance(value, ast.Call):
            return None
        if isinstance(statement, ast.Assign):
            (target, *more) = statement.targets
            function = self.frame.function
            scope = function.node if function is not None else self.tree
            if more or not isinstance(target, ast.Name) or target.id in self._read_in(scope):
                return None
        return value

    def _read_in(self, scope: ast.AST) -> frozenset[str]:
        """The names that are read anywhere in a function, or in the file: one walk each."""
        if scope not in self.read_names:
            self.read_names[scope] = frozenset(
                item.id
                for item in walk(scope)
                if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load)
            )
        return self.read_names[scope]

    def note_probe(self, kind: Kind, worlds: int, name: str, value: Value) -> None:
        """Something happens in such a statement: whether it raises without CUDA."""
        frame, raised = self.frame, 0
        if kind is Kind.CALLED:
            if name.startswith("torch.cuda.") and name not in facts.EFFECTS and error_of(name):
                raised, frame.asks_probe = worlds, True
        elif kind is Kind.MOVED:
            for mask, atom in cases_of(value, worlds):
                # A module moves in place, and what is unknown may be one.
                raised |= mask if atom.kind == TENSOR else 0
        elif kind is Kind.PLACED:
            for mask, atom in cases_of(value, worlds):
                if atom.kind == DEVICE and atom.v == "cuda" and not atom.maybe:
                    raised |= mask
                    frame.asks_probe = True
        frame.probed |= raised & _LACKING


def asks_driver(args: list[Value]) -> bool:
    """Whether a command starts a program of NVIDIA's driver: `["nvidia-smi", "-L"]`."""
    command = one(args[0], ALL) if args else UNK
    if command.kind == SEQUENCE and command.v:
        command = one(command.v[0], ALL)
    return text_of(command).partition(" ")[0] in facts.DRIVER_TOOLS
