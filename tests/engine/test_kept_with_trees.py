"""What is found in a tree is kept with it, and is what a look at the tree gives."""

from __future__ import annotations

import ast
import gc

from mpslint.semantics.syntax.bound_in_module import bindings_of, bound_in, may_be_rebound
from mpslint.semantics.wide.sample_kinds import SampleKinds
from mpslint.semantics.wide.sample_values import WIDE
from mpslint.server.reparsing import Tree
from mpslint.sources.source import SourceFile

BINDING = """
import torch.nn
from numpy import zeros as made

class Net(made):
    width = 3

    def forward(self, x):
        global count
        count = [y for y in x]
        try:
            with open(x) as file:
                (first, *rest), last = file
        except OSError as error:
            return lambda given: (walrus := given)
        match x:
            case {"a": inner, **others}:
                return inner
            case [*some] | some:
                return some
"""


def test_whatever_gives_a_name_a_value_is_found_by_it() -> None:
    bound = set(bound_in(ast.parse(BINDING)).by_name)
    of_imports, of_definitions = {"torch", "made"}, {"Net", "self", "x", "given"}
    of_statements = {"count", "y", "file", "first", "rest", "last", "error", "walrus"}
    assert bound == of_imports | of_definitions | of_statements | {"inner", "others", "some"}


def test_the_names_of_the_body_of_a_class_are_its_own() -> None:
    for name in ("width", "forward"):
        assert bindings_of(ast.parse(BINDING), name) == []


def test_each_place_that_gives_a_name_a_value_is_found() -> None:
    rows = [node.lineno for node in bindings_of(ast.parse(BINDING), "some")]  # type: ignore[attr-defined]
    assert rows == [19, 19]


def test_a_module_whose_names_are_given_values_without_being_named_is_known() -> None:
    for text in ("from a import *", "globals()['x'] = 1", "vars(a).update(b)", "exec('x = 1')"):
        assert may_be_rebound(ast.parse(text))
    for text in ("from a import b", "x[0] = 1", "print(globals()['x'])", "setattr(self, 'x', 1)"):
        assert not may_be_rebound(ast.parse(text))


def test_a_tree_is_not_kept_by_what_was_found_in_it() -> None:
    gc.collect()
    gc.disable()
    try:
        before = _trees()
        tree = ast.parse(BINDING)
        bound_in(tree)
        SampleKinds(tree).handed_out()
        del tree
        assert _trees() == before
    finally:
        gc.enable()


def _trees() -> int:
    return sum(isinstance(thing, ast.Module) for thing in gc.get_objects())


def test_a_text_in_an_editor_is_not_known_by_what_was_found_in_the_one_before() -> None:
    tree = Tree()
    for name in ("first", "second"):
        module = tree.of(SourceFile.from_text(f"import torch\n\n\ndef f():\n    {name} = 1\n"))
        assert set(bound_in(module).by_name) == {"torch", "f", name}


RECURSIVE = """
import numpy as np

def made(depth):
    return np.zeros(3) if depth == 0 else other(depth)

def other(depth):
    return made(depth - 1)

def both(depth):
    return made(depth), other(depth)
"""


def test_functions_that_call_each_other_give_the_same_in_whatever_order_they_are_asked() -> None:
    names = ("made", "other", "both")
    for order in (names, names[::-1]):
        kinds = SampleKinds(ast.parse(RECURSIVE))
        given = {name: kinds.returned(name) for name in order}
        assert given["made"] == given["other"] == WIDE
        assert given["both"].parts == (WIDE, WIDE)  # type: ignore[union-attr]
