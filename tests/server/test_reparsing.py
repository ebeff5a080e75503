"""A tree that is brought up to date from text to text is the one that Python would have made."""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterable

import pytest

from mpslint.errors import BadSource
from mpslint.semantics.syntax.index import Index
from mpslint.server.reparsing import Tree
from mpslint.sources.source import SourceFile
from server.model import Buffer
from server.typing_session import in_classes, real_sized, session

FRAGMENTS = (
    "\\", "\n", "\r\n", "\r", "else:\n", "elif 1: pass\n", "finally: pass\n", "except: pass\n",
    "try:\n", "if x:\n  y\n", "    ", "\t", "\x0c", '"""', "'", "(", ")", "@d\n", "@(\n d)\n",
    "x = 1 \\\n", ";", "#\\\n", "a; b = [\n1]\n", "é", "async ", ":", "def f(): pass\n",
)  # fmt: skip


def flat(lines: int) -> str:
    return real_sized(lines)


SHAPES = pytest.mark.parametrize("shape", [flat, in_classes])


def dumped(tree: ast.Module) -> str:
    return ast.dump(tree, include_attributes=True)


def agrees(tree: Tree, text: str) -> bool:
    """Whether the tree of this text is Python's own (or both refuse it); says if there is one."""
    source = SourceFile.from_text(text, "train.py")
    try:
        expected = dumped(source.parse())
    except BadSource:
        with pytest.raises(BadSource):
            tree.of(source)
        return False
    assert dumped(tree.of(source)) == expected
    return True


def buckets(index: Index) -> list[object]:
    """All that an index knows, in its order, with places for nodes."""

    def placed(nodes: Iterable[ast.AST]) -> list[str]:
        return [ast.dump(node, include_attributes=True) for node in nodes]

    named = (index.by_type, index.calls, index.attributes, index.names)
    found: list[object] = [[(key, placed(nodes)) for key, nodes in each.items()] for each in named]
    found.append(placed(index.strings))
    found.append([placed([node, index.parents[node]]) for node in index.names["torch"]])
    return found


@SHAPES
@pytest.mark.parametrize("seed", range(3))
def test_an_index_that_is_put_together_is_the_one_of_the_whole_tree(
    seed: int, shape: Callable[[int], str]
) -> None:
    tree, buffer, compared = Tree(), Buffer(shape(100)), 0
    for _ in session(buffer, 60, seed):
        source = SourceFile.from_text(buffer.text, "train.py")
        try:
            expected = Index(source.parse())
        except BadSource:
            continue
        assert buckets(tree.index(source)) == buckets(expected)
        compared += 1
    assert compared > 15


@SHAPES
@pytest.mark.parametrize("seed", range(3))
def test_a_session_of_edits_leaves_the_tree_that_python_makes(
    seed: int, shape: Callable[[int], str]
) -> None:
    tree, buffer = Tree(), Buffer(shape(200))
    parsed = [agrees(tree, buffer.text) for _ in session(buffer, 100, seed)]
    assert parsed.count(True) > 30


@SHAPES
@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_put_in_or_taken_out_the_tree_is_the_one_that_python_makes(
    seed: int, shape: Callable[[int], str]
) -> None:
    tree, chance = Tree(), random.Random(seed)
    text = shape(60)
    for _ in range(200):
        start = chance.randrange(len(text) + 1)
        if chance.random() < 0.5:
            start = text.rfind("\n", 0, start) + 1
        end = min(len(text), start + chance.choice((0, 0, 1, 2, 30)))
        changed = text[:start] + chance.choice(("", *FRAGMENTS)) + text[end:]
        if agrees(tree, changed):
            text = changed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x = 1 \\\n\ny = 2\n", "x = 1 \\\n+ 2\ny = 2\n"),
        ("if x:\n    y\nz\n", "if x:\n    y\nelse: w\nz\n"),
        ("a = 1\n@(\n d\n)\ndef f(): pass\n", "a = 1\nb = (1)\n d\n)\ndef f(): pass\n"),
        ("a = 1; b = [\n1]\nc = 2\n", "a = 1; b = [\n1, 2]\nc = 2\n"),
        ("a\nb\nc\n", "a\nb \\\nc\n"),
        ("s = '''a\n'''\nb\n", "s = '''a\n''\nb\n"),
        ("a\nb; c\n", "a\n\nb; c"),
        ("class A:\n    a = 1\n    b = 2\n", "class A:\n    a = 1\n    b = 3;\n"),
        ("class A:\n    a = 1\n    b = 2;\n", "class A:\n    a = 1\n    b = 2;\n# c\n"),
        ("class A:\n    a = 1;\n    b = 2\n", "class A:\n    a = 1;\n\n"),
        ("class A:\n    a = 1\n    b = 2\nc\n", "class A:\n    a = 1\n   b = 2\nc\n"),
        ("class A:\n    a = 1\n    b = 2\nc\n", "class A:\n    a = 1\nb = 2\nc\n"),
        ("def f():\n    a\n    b\n    c\n", "def f():\n    a\n    if b: d\n    else: e\n    c\n"),
        ("def f():\n    a\n    b\n", "def f():\n    a\nelse:\n    b\n"),
        ("def f():\n    a\n    @d\n    class B: b\n", "def f():\n    a\n    @d\n    class B: c\n"),
        (
            "class A:\n  def f(): pass\n  def g():\n    a\n    b\n",
            "class A:\n  def f(): pass\n  def g():\n    a\n    b;\n",
        ),
        (
            "class A:\n    a\n    @d\n    def f(): b\n",
            "class A:\n    a\n  @\\\n    d\n    def f(): b\n",
        ),
        ("class A:\n    a\n    b\n\n    d\n", "class A:\n    a\n    b\n# c\n    d\n"),
        ("class A:\n\ta\n\tb\n", "class A:\n\ta\n        b\n"),
        ("a\n", ""),
        ("", "a\n"),
    ],
)
def test_what_reaches_over_the_end_of_a_statement_is_seen(before: str, after: str) -> None:
    tree = Tree()
    agrees(tree, before)
    agrees(tree, after)
    agrees(tree, before)


def test_of_a_class_only_the_methods_that_change_are_parsed_again() -> None:
    tree = Tree()
    methods = "    def f(self):\n        a\n        b\n\n    def g(self):\n        c\n"
    text = f"class A:\n    x = 1\n\n{methods}"
    (before,) = tree.of(SourceFile.from_text(text)).body
    assert isinstance(before, ast.ClassDef)
    attribute, f, g = before.body
    assert isinstance(f, ast.FunctionDef)
    first = f.body[0]
    (after,) = tree.of(SourceFile.from_text(text.replace("b\n", "b = [\n        ]\n"))).body
    assert after is before
    assert before.body == [attribute, f, g]
    assert f.body[0] is first
    assert g.lineno == 9


def test_statements_away_from_a_change_are_not_parsed_again() -> None:
    tree = Tree()
    source = SourceFile.from_text("a = 1\nb = 2\nc = 3\n")
    first, _, last = tree.of(source).body
    body = tree.of(SourceFile.from_text("a = 1\nb = 2 + 2\n\nc = 3\n")).body
    assert body[0] is first
    assert body[2] is last
    assert last.lineno == 4
