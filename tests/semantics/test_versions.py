"""Code that runs for some versions of torch only."""

from __future__ import annotations

import ast

import pytest

from mpslint.semantics.context import Context
from mpslint.semantics.packages.versions import catches, version_tested
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile


def ask(text: str) -> tuple[Context, ast.Call]:
    """The context of `text` and its call of `target`."""
    source = SourceFile.from_text(text)
    tree = source.parse()
    context = Context(source, tree, Settings())
    return context, context.index.calls["target"][0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if torch.__version__ >= '2': target()", True),
        ("target() if is_torch_version('>=', '2') else None", True),
        ("parse_version(torch.__version__) >= new and target()", True),
        ("def f():\n    if old_version:\n        raise ValueError\n    target()", True),
        ("def f():\n    assert version >= 2\n    target()", True),
        ("def f():\n    if old_version:\n        print()\n    target()", False),
        ("if ready: target()", False),
        ("target()", False),
    ],
)
def test_a_version_test_is_seen_around_and_before(text: str, expected: bool) -> None:
    context, call = ask(text)
    assert version_tested(context, call) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("try:\n    target()\nexcept AttributeError:\n    pass", True),
        ("try:\n    target()\nexcept (KeyError, AttributeError):\n    pass", True),
        ("try:\n    target()\nexcept:\n    pass", True),
        ("try:\n    target()\nexcept KeyError:\n    pass", False),
        ("try:\n    def f():\n        target()\nexcept AttributeError:\n    pass", False),
        ("try:\n    pass\nexcept AttributeError:\n    target()", False),
    ],
)
def test_only_a_handler_of_the_error_catches_it(text: str, expected: bool) -> None:
    context, call = ask(text)
    assert catches(context, call, "AttributeError") is expected
