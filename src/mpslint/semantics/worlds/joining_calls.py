"""Calls of functions of a project that join a process group of NCCL, also some files away."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from mpslint.semantics.worlds.core import Core
from mpslint.semantics.worlds.machines import ALL, MACS
from mpslint.semantics.worlds.ranked_tests import starts_group
from mpslint.semantics.worlds.said import Said
from mpslint.semantics.worlds.state import Env, Function
from mpslint.semantics.worlds.values import CONST, Value, one

_NCCL = "nccl"


def joins_elsewhere(
    home: Core, name: str, node: ast.Call, args: list[Value], keywords: Env
) -> bool:
    """Whether a program calls such a function, whatever it is asked for. What is called by others
    is asked of them."""
    if home.project is None or not home.is_script or home.frame.caught or "." not in name:
        return False
    if not home.frame.mask & MACS:
        return False
    return home.project.joins_group(name, _given_by(node, args, keywords))


def may_join_nccl(function: Function) -> bool:
    """Whether a function that was run starts a process group on some way, on NCCL alone: others
    come back from it as well (`if "RANK" not in os.environ: return`)."""
    home: Core | None = function.home
    if home is None or home.names_gloo or not home.starts_groups or not home.count_of(_NCCL):
        return False
    return function.own or starts_group(function.node.body)


def _given_by(node: ast.Call, args: Iterable[Value], keywords: Env) -> Said:
    if any(isinstance(item, ast.Starred) for item in node.args) or any(
        keyword.arg is None for keyword in node.keywords
    ):
        return ((-1, ...),)
    return (
        *((at, _plain(value)) for at, value in enumerate(args)),
        *((name, _plain(value)) for name, value in keywords.items()),
    )


def _plain(value: Value) -> object:
    atom = one(value, ALL)
    is_plain = value is atom and atom.kind == CONST and not atom.maybe
    return atom.v if is_plain and (atom.v is None or type(atom.v) in (bool, str)) else ...
