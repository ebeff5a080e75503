"""The options of a program: what `argparse` is told, and what it gives."""

from __future__ import annotations

import ast

from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.machines import ALL
from mpslint.semantics.worlds.placing import Placing
from mpslint.semantics.worlds.state import Env
from mpslint.semantics.worlds.values import (
    CONST,
    DEVICE,
    NAMESPACE,
    SEQUENCE,
    UNK,
    UNKNOWN,
    Atom,
    Value,
    holds_device,
    lift,
    one,
    whose_options,
)

ON_UNLESS_SAID = (True, False)
"""What a switch may be that is on by default; the default comes first."""

_GIVEN_AS = {"store_true": True, "store_false": False}
"""What an option is that is given, by its action. One that is so by default is nothing else."""


class ProgramOptions(Placing):
    def option(
        self, node: ast.Call, parser: Atom, name: str, args: list[Value], keywords: Env
    ) -> Value:
        if name == "add_argument":
            self._add_option(node, parser, keywords)
            return UNK
        if name in ("parse_args", "parse_known_args", "parse_intermixed_args"):
            namespace = Atom(NAMESPACE, dict(parser.v), parser.node)
            return namespace if name != "parse_known_args" else Atom(SEQUENCE, (namespace, UNK))
        if name in ("add_argument_group", "add_mutually_exclusive_group"):
            return parser
        if name in ("error", "exit"):
            self.refuse(self.frame.mask, "SystemExit")
            return UNK
        if name == "set_defaults":
            parser.v.update({key: lift(_as_default, value) for key, value in keywords.items()})
        return UNK

    def _add_option(self, node: ast.Call, parser: Atom, keywords: Env) -> None:
        dest = self._destination(node, keywords)
        if dest is None:
            return
        default = keywords.get("default", UNK)
        symbol = (whose_options(parser), dest)

        def open_choice(atom: Atom) -> Atom:
            if atom.kind == DEVICE or (atom.kind == CONST and isinstance(atom.v, str)):
                return atom.but(maybe=True)
            if atom.kind == CONST and not atom.v and atom.tests:
                return atom  # `default=torch.cuda.is_available()`: off where there is none
            # `default=torch.cuda.is_available()`, where there is one: on, unless the user says no.
            answers = ON_UNLESS_SAID if atom.kind == CONST and atom.v is True else None
            return Atom(UNKNOWN, answers, None, atom.tests, symbol=symbol)

        given = _GIVEN_AS.get(one(keywords.get("action", UNK), ALL).v)
        # An option without such an action can be given whatever it is by default, `None` as well.
        stays = given is not None and one(default, ALL).v is given
        value = default if stays else lift(open_choice, default)
        parser.v[dest] = value
        if holds_device(value):
            self.kept(value, dest, use=node)
        choices = keywords.get("choices")
        if choices is not None and one(choices, ALL).kind == SEQUENCE:
            self.emit(Kind.KEPT, node, name="choices", value=choices)

    @staticmethod
    def _destination(node: ast.Call, keywords: Env) -> str | None:
        given = keywords.get("dest")
        if given is not None:
            atom = one(given, ALL)
            return atom.v if atom.v.__class__ is str else None
        short: str | None = None
        for item in node.args:
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                if item.value.startswith("--"):
                    return item.value[2:].replace("-", "_")
                short = short or item.value.lstrip("-").replace("-", "_")
        return short


def _as_default(atom: Atom) -> Atom:
    return atom.but(maybe=True) if atom.kind in (DEVICE, CONST) else atom
