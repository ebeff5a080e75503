"""Whether an `if` can give way to its body is known before libcst writes the text."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from mpslint.patterns import statements
from mpslint.patterns.statements import can_dedent, dedent_body
from mpslint.semantics.context import Context
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

RULES = Path(__file__).resolve().parents[2] / "fixtures" / "rules"
PLACES = {
    "in the test": "if (  # here\n    cuda\n):\n    x = x.cuda()\n",
    "behind the header": "if cuda:  # here\n    x = x.cuda()\n",
    "before the body": "if cuda:\n    # here\n    x = x.cuda()\n",
    "behind the body": "if cuda:\n    x = x.cuda()\n    # here\ny = x\n",
    "behind the body, before another arm": "if cuda:\n    x = 1\n    # here\nelse:\n    pass\n",
    "at the margin of the other arm": "if cuda:\n    x = 1\n# here\nelse:\n    pass\n",
    "behind the header of the other arm": "if cuda:\n    x = 1\nelse:  # here\n    pass\n",
    "in the other arm": "if cuda:\n    x = 1\nelse:\n    # here\n    x = 2\n    # there\n",
    "in the first arm": "if cuda:\n    # here\n    x = 1\nelse:\n    x = 2\n",
    "in the arm of an elif": "if cuda:\n    x = 1\nelif mps:\n    x = 2  # here\n",
    "nowhere, on one line": "if cuda: x = x.cuda()\n",
    "on one line": "if cuda: x = x.cuda()  # here\n",
    "nowhere, behind a test of two lines": "if (cuda and\n        y): x = x.cuda()\n",
    "nowhere, in a string": "if cuda == '#':\n    x = 1\nelse:\n    x = '#'\n",
}


def foretold(source: SourceFile) -> tuple[list[bool], list[bool]]:
    """For every arm of every `if`: what is said of it, and what becomes of it."""
    context = Context(source, source.parse(), Settings())
    said, done = [], []
    for gate in context.index.of(ast.If):
        for other in (False, True):
            if other and not (gate.orelse and gate.orelse[0].col_offset > gate.col_offset):
                continue  # No `else` of its own.
            said.append(can_dedent(context, gate, other_arm=other))
            done.append(dedent_body(context, gate, [], other_arm=other) is not None)
    return said, done


@pytest.mark.parametrize("place", PLACES)
def test_a_comment_is_seen_where_it_stands(place: str) -> None:
    said, done = foretold(SourceFile.from_text(f"x = y = cuda = mps = 0\n{PLACES[place]}"))
    assert said == done != []


def test_comments_keep_some_arms_of_a_choice_and_not_others() -> None:
    lost = SourceFile.from_text(PLACES["at the margin of the other arm"])
    kept = SourceFile.from_text(PLACES["behind the body, before another arm"])
    assert foretold(lost)[0] == [False, False]
    assert foretold(kept)[0] == [True, False]


@pytest.mark.parametrize("folder", ["cuda-method-call", "hardcoded-cuda-device"])
def test_every_choice_of_the_fixtures_is_foretold(folder: str) -> None:
    count = 0
    for path in sorted((RULES / folder).glob("*.py")):
        said, done = foretold(SourceFile(str(path), path.read_bytes()))
        assert said == done, path.name
        count += sum(said)
    assert count > 20


BODIES = {
    "brackets over several rows": "if cuda:\n    x = f(\n        y,\n    )\n    y = x\n",
    "blocks, and gaps between them": "if cuda:\n    for y in x:\n        f(y)\n\n    x = y\n",
    "comments above code": "if cuda:\n    # here\n    x = 1\n    # there\n    f(x)  # so\n",
    "a comment that closes it": "if cuda:\n    x = 1\n\n    # here\n\ny = x\n",
    "what is in another block": "def g():\n    if cuda:\n        x = 1\n\n        y = 2\n",
    "another arm": "if cuda:\n    x = 1\nelse:\n    x = 2\n\n    y = 3\n",
    "other newlines": "if cuda:\r\n    x = 1\r\n    y = 2\r\n",
    "no newline at the end": "if cuda:\n    x = 1\n    y = 2",
}


@pytest.mark.parametrize("body", BODIES)
def test_rows_that_lose_a_margin_become_what_libcst_makes_of_them(body: str) -> None:
    source = SourceFile.from_text(BODIES[body])
    context = Context(source, source.parse(), Settings())
    gate = next(iter(context.index.of(ast.If)))
    assert isinstance(gate, ast.If)
    for other in (False, True) if gate.orelse else (False,):
        done = statements._by_margins(source, gate, [], other_arm=other)
        assert done is not None
        assert done == statements._by_libcst(source, gate, [], other_arm=other)


@pytest.mark.parametrize(
    "rows",
    [
        'x = """\n    a"""',
        "x = f(\n  y)",
        "x = 1 + \\\n    2",
        "for y in x:\n      # here\n        f(y)",
    ],
)
def test_rows_that_do_not_all_lose_it_are_left_to_libcst(rows: str) -> None:
    source = SourceFile.from_text(f"if cuda:\n    {rows}\n    y = x\n")
    context = Context(source, source.parse(), Settings())
    gate = next(iter(context.index.of(ast.If)))
    assert isinstance(gate, ast.If)
    assert statements._by_margins(source, gate, [], other_arm=False) is None
