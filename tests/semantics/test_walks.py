"""Walks over a tree: what `ast.walk` gives, in its order, without what stands nowhere."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import mpslint
from mpslint.semantics.index import statements, walk
from mpslint.semantics.node_kinds import of_kinds

_NOWHERE = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
_STATEMENTS = (ast.Module, ast.stmt, ast.ExceptHandler, ast.match_case)
_OWN = sorted(Path(mpslint.__file__).parent.joinpath("semantics").glob("*.py"))
_NESTED = """
@decorate(lambda: 1)
async def f(a: int = 2, *b, c=3, **d) -> None:
    match a:
        case [1, *rest] if rest:
            async with b as e, c:
                global g
        case {"k": v, **more}:
            try:
                x, *y = {**d, 1: 2}, [z for z in b if z async for w in z]
            except (A, B) as error:
                raise error from None
            else:
                del x[1:2, ...]
            finally:
                print(f"{a!r:>{b}}", not a < b <= c, end="")
    for i in b:
        while (n := i):
            pass
        else:
            import h as j
    else:
        class C(metaclass=M):
            from k import l
"""


def trees() -> list[ast.Module]:
    return [ast.parse(_NESTED), *(ast.parse(path.read_text("utf-8")) for path in _OWN)]


@pytest.mark.parametrize(("found", "kept"), [(walk, ast.AST), (statements, _STATEMENTS)])
def test_a_walk_gives_what_pythons_own_does_in_its_order(found, kept) -> None:  # type: ignore[no-untyped-def]
    for tree in trees():
        expected = [
            node
            for node in ast.walk(tree)
            if isinstance(node, kept) and not isinstance(node, _NOWHERE)
        ]
        assert list(found(tree)) == expected


def test_the_nodes_of_some_kinds_are_those_of_a_walk_in_its_order() -> None:
    kinds = {ast.Module, ast.ClassDef, ast.ImportFrom, ast.Call, ast.Compare, ast.Name}
    for tree in trees():
        assert of_kinds(tree, kinds) == [one for one in ast.walk(tree) if type(one) in kinds]
