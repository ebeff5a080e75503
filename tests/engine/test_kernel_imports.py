"""Imports that functions make when they are called: the text says where there may be one."""

from __future__ import annotations

import ast

import pytest

from mpslint.kernel_imports import imports_inside, kernel_imports

INSIDE = [
    "def f():\n    import _kernels\n",
    "def f():\n\tfrom _kernels import run\n",
    "def f(): import _kernels\n",
    "def f():\n    x = 1; import _kernels\n",
    "def f():\n    x = 1;import _kernels\n",
    "def f():\r\n    import _kernels\r\n",
    "def f():\r    import _kernels\r",
    "class A:\n  def f(self):\n    with x:\n      from _kernels import (run,\n  stop)\n",
]


@pytest.mark.parametrize("text", INSIDE)
def test_a_function_that_imports_is_seen_in_the_text(text: str) -> None:
    assert imports_inside(text.encode())
    assert list(kernel_imports(ast.parse(text), lambda module: 0))


def test_a_file_that_only_imports_at_its_top_need_not_be_parsed() -> None:
    text = "import os\nfrom torch import (nn,\n    cuda)\n\n\ndef f():\n    return important\n"
    assert not imports_inside(text.encode())
