"""Walks over a tree: what `ast.walk` gives, in its order, without what stands nowhere."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import mpslint
from mpslint.checking.linter import lint
from mpslint.semantics.context import Context
from mpslint.semantics.loops.step_calls import called_by_name
from mpslint.semantics.syntax.index import statements, walk
from mpslint.semantics.syntax.node_kinds import of_kinds
from mpslint.semantics.worlds import probes
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

_NOWHERE = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop)
_STATEMENTS = (ast.Module, ast.stmt, ast.ExceptHandler, ast.match_case)
_ROOMS = sorted(Path(mpslint.__file__).parent.joinpath("semantics").glob("*/__init__.py"))
_OWN = [max(room.parent.glob("*.py"), key=lambda path: path.stat().st_size) for room in _ROOMS]
"""The largest module of each room: what walks do hangs on kinds of nodes, and these hold most."""
_NEWER = {"TryStar", "TypeAlias", "TemplateStr", "Interpolation"}
"""Kinds that the oldest Python cannot read."""
_NESTED = """
@decorate(lambda: 1)
async def f(a: int = 2, *b, c=3, **d) -> None:
    match a:
        case [1, *rest] if rest:
            async with b as e, c:
                global g
        case {"k": v, **more} | Point(x=None) | True:
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

            async def m():
                nonlocal b
                async for b in await d:
                    with e:
                        yield
"""


@cache
def walks() -> list[list[ast.AST]]:
    """Some trees, each as Python's own walk of it."""
    texts = [_NESTED, *(path.read_text("utf-8") for path in _OWN)]
    return [list(ast.walk(ast.parse(text))) for text in texts]


def test_every_kind_of_statement_expression_and_pattern_stands_in_the_trees() -> None:
    """Else the tests below would say nothing of it."""
    kinds = {type(node) for nodes in walks() for node in nodes}
    bases = (ast.stmt, ast.expr, ast.pattern)
    all_kinds = {kind for base in bases for kind in base.__subclasses__()}
    assert {kind.__name__ for kind in all_kinds - kinds} <= _NEWER


@pytest.mark.parametrize(("found", "kept"), [(walk, ast.AST), (statements, _STATEMENTS)])
def test_a_walk_gives_what_pythons_own_does_in_its_order(found, kept) -> None:  # type: ignore[no-untyped-def]
    for nodes in walks():
        expected = [
            node for node in nodes if isinstance(node, kept) and not isinstance(node, _NOWHERE)
        ]
        assert list(found(nodes[0])) == expected


def test_the_nodes_of_some_kinds_are_those_of_a_walk_in_its_order() -> None:
    kinds = {ast.Module, ast.ClassDef, ast.ImportFrom, ast.Call, ast.Compare, ast.Name}
    for nodes in walks():
        assert of_kinds(nodes[0], kinds) == [one for one in nodes if type(one) in kinds]


def test_trials_of_cuda_in_a_file_are_looked_through_by_one_walk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    walked: list[ast.AST] = []

    def counted(top: ast.AST) -> Iterator[ast.AST]:
        walked.append(top)
        return walk(top)

    monkeypatch.setattr(probes, "walk", counted)
    trial = "try:\n    x{0} = torch.cuda.current_device()\nexcept Exception:\n    y{0} = 1\n"
    text = "import torch\n\n" + "".join(trial.format(number) for number in range(9))
    list(lint(SourceFile("trials.py", text.encode()), Settings()))
    assert walked
    assert len(walked) == len(set(walked))


def test_the_calls_of_objects_are_found_by_the_names_that_hold_them() -> None:
    classes = (
        "class C{0}:\n    def __call__(self, loss):\n        loss.backward()\n\nc{0} = C{0}()\n"
    )
    text = "".join(classes.format(number) for number in range(3)) + "c1(loss)\nc1 = c2\nc2(c0(x))\n"
    source = SourceFile("steps.py", text.encode())
    context = Context(source, source.parse(), Settings())
    called = [
        [ast.unparse(call) for call in called_by_name(context, one)]
        for one in context.index.of(ast.FunctionDef)
    ]
    assert called == [["c0(x)"], ["c1(loss)"], ["c2(c0(x))"]]
