"""What code of a file may run, by the names that it uses."""

from __future__ import annotations

import ast
import sys
from types import FrameType

from mpslint.halfway.ways import Name, Ways
from mpslint.project.runs.left_behind import Part, parts


def ways(**texts: str) -> Ways:
    """Those of files that all lead to each other."""
    trees = {name: ast.parse(text) for name, text in texts.items()}
    made: dict[str, list[Part]] = {name: parts(tree) for name, tree in trees.items()}
    return Ways(lambda path: made[path], lambda path: [name for name in made if name != path])


def reached(found: Ways, path: str, *names: str) -> list[Name]:
    return list(found.reached(path, frozenset(names)))


def test_a_function_runs_where_one_that_names_it_runs() -> None:
    found = ways(a="def f():\n    g()\n\n\ndef g():\n    pass\n\n\ndef h():\n    pass\n")
    assert reached(found, "a", "f") == [("a", "", "f"), ("a", "", "g")]


def test_a_method_runs_where_its_class_and_it_are_named_be_it_by_different_parts() -> None:
    found = ways(a="class C:\n    def m(self):\n        pass\n", b="def f(c):\n    c.m()\n")
    assert ("a", "C", "m") not in reached(found, "b", "f")
    assert ("a", "C", "m") not in reached(found, "b", "C")
    assert ("a", "C", "m") in reached(found, "b", "f", "C")


def test_what_python_calls_runs_with_its_class() -> None:
    found = ways(a="class C:\n    def __init__(self):\n        f()\n\n\ndef f():\n    pass\n")
    assert ("a", "", "f") in reached(found, "a", "C")


def test_what_stands_at_the_top_of_a_module_runs_first() -> None:
    found = ways(a="def f():\n    pass\n", b="print(g())\n\n\ndef g():\n    pass\n")
    assert reached(found, "a", "f") == [("a", "", "f"), ("b", "", ""), ("b", "", "g")]


def test_a_name_that_a_file_defines_leads_to_no_other_file() -> None:
    found = ways(a="def f():\n    pass\n", b="def f():\n    pass\n", c="def g():\n    f()\n")
    assert reached(found, "a", "f") == [("a", "", "f")]
    assert reached(found, "c", "g") == [("c", "", "g"), ("a", "", "f"), ("b", "", "f")]


def test_what_is_nearest_is_told_first() -> None:
    found = ways(a="def f():\n    g()\n", b="def h():\n    pass\n\n\ndef g():\n    h()\n")
    assert reached(found, "a", "f") == [("a", "", "f"), ("b", "", "g"), ("b", "", "h")]


def test_whether_a_part_runs_is_asked_without_the_way_and_answered_as_it_is() -> None:
    found = ways(
        a="class C:\n    def m(self):\n        f()\n\n\nprint(1)\n",
        b="def f():\n    g()\n\n\ndef g():\n    pass\n\n\ndef h():\n    pass\n",
        c="def f():\n    h()\n",
    )
    parts_of_all = [("a", "C", "m"), ("a", "", ""), *(("b", "", name) for name in "fgh")]
    for names in ((), ("C",), ("C", "m"), ("f",), ("h",), ("g", "C")):
        way = reached(found, "a", *names)
        for name in (*parts_of_all, ("c", "", "f"), ("d", "", "f")):
            assert found.runs("a", frozenset(names), name) == (name in way)


def test_what_a_file_leads_to_is_told_alone_where_others_led_further_before() -> None:
    texts = {name: f"def {name}():\n    {name}{name}()\n\n\ndef x():\n    pass\n" for name in "abc"}
    made = {name: parts(ast.parse(text)) for name, text in texts.items()}
    found = Ways(made.__getitem__, {"a": "bc", "b": "c", "c": ""}.__getitem__)
    assert reached(found, "a", "x", "c") == [("a", "", "x"), ("c", "", "c")]
    assert reached(found, "c", "a", "c") == [("c", "", "c")]
    assert not found.runs("c", frozenset({"a"}), ("a", "", "a"))


def test_a_way_twice_as_long_is_twice_the_work() -> None:
    def calls(length: int) -> int:
        found = ways(a="".join(f"def f{n}():\n    f{n + 1}()\n" for n in reversed(range(length))))
        count = 0

        def event(frame: FrameType, kind: str, argument: object) -> None:
            nonlocal count
            count += kind in ("call", "c_call")

        sys.setprofile(event)
        try:
            assert len(found.reached("a", frozenset({"f0"}))) == length
        finally:
            sys.setprofile(None)
        return count

    once, twice = calls(200), calls(400)
    assert once > 400
    assert twice < 2.2 * once


def test_many_parts_run_in_the_order_in_which_they_stand() -> None:
    names = [f"f{number}" for number in range(40)]
    text = "".join(f"def {name}():\n    pass\n\n\n" for name in names)
    found = reached(ways(a=text), "a", *names)
    assert found == [("a", "", name) for name in names]
