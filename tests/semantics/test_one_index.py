"""One index for all who have a tree, and strings by how they end."""

from __future__ import annotations

import ast
import weakref

from mpslint.semantics.syntax.index import Index, index_of


def test_all_who_have_a_tree_have_one_index_of_it() -> None:
    tree = ast.parse("a = 1")
    held = index_of(tree)
    assert index_of(tree) is held


def test_an_index_that_nobody_has_is_not_kept() -> None:
    gone = weakref.ref(index_of(ast.parse("a = 1")))
    assert gone() is None


def _ending(text: str, name: str) -> list[object]:
    return [item.value for item in Index(ast.parse(text)).ending(name)]


def test_strings_that_end_in_a_name_are_found_in_their_order() -> None:
    text = "f('a:Net', 'pkg.Net', 'Net', 'SubNet', 'Net.x', 'pkg/Net')"
    assert _ending(text, "Net") == ["a:Net", "pkg.Net", "Net"]


def test_of_a_name_with_a_dot_all_strings_may_be_meant() -> None:
    assert _ending("f('pkg.a.Net', 'b')", "a.Net") == ["pkg.a.Net", "b"]
