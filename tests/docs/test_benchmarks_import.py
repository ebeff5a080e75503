"""What the benchmarks take from the package is there: nobody runs them all after each change."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
FILES = sorted(path.relative_to(BENCHMARKS).as_posix() for path in BENCHMARKS.rglob("*.py"))


def _is_there(module: str, name: str) -> bool:
    found = importlib.import_module(module)
    return hasattr(found, name) or importlib.util.find_spec(f"{module}.{name}") is not None


@pytest.mark.parametrize("name", FILES)
def test_what_a_benchmark_imports_of_the_package_is_there(name: str) -> None:
    tree = ast.parse((BENCHMARKS / name).read_text("utf-8"))
    typed = {
        item
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for item in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node not in typed:
            module = node.module or ""
            if module.partition(".")[0] == "mpslint":
                for alias in node.names:
                    assert _is_there(module, alias.name), f"{module}.{alias.name}"
