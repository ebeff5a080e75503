"""Do the tests notice when the analysis is wrong? One fault at a time is put in, and they are run.

    python benchmarks/analysis_mutants.py [--logic 50] [--rows 34] [--seed 1] [--only FILE]

A *logic* mutant turns one decision in `semantics/`, `patterns/` or `rules/`: a comparison, a `not`,
an `and`, an `any`, the truth that a function gives back. A *row* mutant drops one row of a table of
facts: an entry of a JSON file in `facts/`, or a word of a set of names in the code. Which ones is
drawn with the seed. The package is copied beside the checkout's own and found first, so nothing of
the checkout changes; the tests are those of the analysis, quickest first, and end at the first
that fails. What survives is printed with its place: it is a decision that no test knows, or one
that only saves time. About a minute of CPU a mutant.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "mpslint"
FOLDERS = ("semantics", "patterns", "rules")
TESTS = ("tests/facts", "tests/semantics", "tests/patterns", "tests/rules", "tests/worlds")
OPPOSITE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}


class Mutant(NamedTuple):
    path: Path
    line: int
    what: str
    text: str
    """The whole file as the mutant has it."""


def turned(node: ast.AST) -> ast.expr | None:
    """The opposite of a decision, None for what is none."""
    match node:
        case ast.Compare(left, [operator], right):
            return ast.Compare(left, [OPPOSITE[type(operator)]()], right)
        case ast.UnaryOp(ast.Not(), operand):
            return operand
        case ast.BoolOp(ast.And(), values):
            return ast.BoolOp(ast.Or(), values)
        case ast.BoolOp(ast.Or(), values):
            return ast.BoolOp(ast.And(), values)
        case ast.Call(ast.Name("any"), arguments, keywords):
            return ast.Call(ast.Name("all"), arguments, keywords)
        case ast.Call(ast.Name("all"), arguments, keywords):
            return ast.Call(ast.Name("any"), arguments, keywords)
        case ast.Constant(bool() as value):
            return ast.Constant(not value)
    return None


def without_types(tree: ast.Module) -> Iterator[ast.AST]:
    """What runs and decides: no annotations, imports for types, or docstrings."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        yield node
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns", "decorator_list"):
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
                    continue
                if isinstance(child, ast.AST):
                    todo.append(child)


def replaced(source: bytes, node: ast.expr, by: str) -> str:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    lines = source.splitlines(keepends=True)
    start = sum(map(len, lines[: node.lineno - 1])) + node.col_offset
    end = sum(map(len, lines[: node.end_lineno - 1])) + node.end_col_offset
    return (source[:start] + by.encode() + source[end:]).decode()


def logic_mutants(path: Path) -> Iterator[Mutant]:
    source = path.read_bytes()
    for node in without_types(ast.parse(source)):
        other = turned(node)
        if other is None or not isinstance(node, ast.expr):
            continue
        now = f"({ast.unparse(other)})"
        yield Mutant(
            path, node.lineno, f"{ast.unparse(node)} -> {now}", replaced(source, node, now)
        )


def word_mutants(path: Path) -> Iterator[Mutant]:
    """Each word of the sets of names that stand at the top of a module."""
    source = path.read_bytes()
    for statement in ast.parse(source).body:
        if not isinstance(statement, ast.Assign | ast.AnnAssign) or statement.value is None:
            continue
        for node in ast.walk(statement.value):
            if not isinstance(node, ast.Set | ast.Tuple | ast.Dict | ast.List):
                continue
            for left in range(len(node.keys if isinstance(node, ast.Dict) else node.elts)):
                fewer = ast.parse(ast.unparse(node), mode="eval").body
                if isinstance(fewer, ast.Dict):
                    gone: ast.expr | None = fewer.keys.pop(left)
                    fewer.values.pop(left)
                elif isinstance(fewer, ast.Set | ast.Tuple | ast.List) and len(fewer.elts) > 1:
                    gone = fewer.elts.pop(left)
                else:
                    continue
                if gone is not None and isinstance(gone, ast.Constant | ast.Attribute):
                    what = f"without {ast.unparse(gone)}"
                    changed = replaced(source, node, ast.unparse(fewer))
                    yield Mutant(path, node.lineno, what, changed)


def json_mutants(path: Path) -> Iterator[Mutant]:
    """Each row of a table of facts: what stands two levels down, or below."""

    def rows(value: Any, way: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
        inside = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in inside:
            if len(way) >= 1 and key not in ("measured", "reason", "source", "looks_at", "scope"):
                yield (*way, key)
            if isinstance(item, dict | list) and len(way) < 2 and key != "measured":
                yield from rows(item, (*way, key))

    whole = json.loads(path.read_text(encoding="utf-8"))
    for way in rows(whole, ()):
        copy = json.loads(json.dumps(whole))
        inner = copy
        for key in way[:-1]:
            inner = inner[key]
        del inner[way[-1]]
        yield Mutant(path, 0, "without " + "/".join(map(str, way)), json.dumps(copy))


def drawn(arguments: argparse.Namespace) -> list[tuple[str, Mutant]]:
    """As many mutants of each kind, spread over files: a file first, then a place in it."""
    chance = random.Random(arguments.seed)
    code = sorted(path for folder in FOLDERS for path in (PACKAGE / folder).rglob("*.py"))
    code = [path for path in code if arguments.only in str(path) and path.stem != "index"]
    tables = [path for path in sorted((PACKAGE / "facts").glob("*.json")) if not arguments.only]
    found: list[tuple[str, Mutant]] = []
    kinds = [("logic", arguments.logic, [(path, logic_mutants) for path in code])]
    row_files = [(path, word_mutants) for path in code] + [(path, json_mutants) for path in tables]
    kinds.append(("row", arguments.rows, row_files))
    for kind, wanted, sources in kinds:
        pools = [pool for path, make in sources if (pool := list(make(path)))]
        for _ in range(wanted if pools else 0):
            # Larger files hold more decisions, but a few of them must not be the whole draw.
            pool = chance.choices(pools, [len(pool) ** 0.5 for pool in pools])[0]
            found.append((kind, pool.pop(chance.randrange(len(pool)))))
            pools = [pool for pool in pools if pool]
    return found


def killer(mutant: Mutant | None) -> str | None:
    """The tests that fail with a mutant in the package; None where all pass."""
    with tempfile.TemporaryDirectory(prefix="mutant") as folder:
        copy = Path(folder) / "mpslint"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        if mutant is not None:
            (copy / mutant.path.relative_to(PACKAGE)).write_text(mutant.text, encoding="utf-8")
        environment = {**os.environ, "PYTHONPATH": folder, "PYTHONDONTWRITEBYTECODE": "1"}
        for tests in TESTS:
            command = [sys.executable, "-m", "pytest", "-qx", "-p", "no:cacheprovider", tests]
            try:
                done = subprocess.run(
                    command, cwd=ROOT, env=environment, capture_output=True, timeout=1800
                )
            except subprocess.TimeoutExpired:
                return f"{tests} (does not end)"
            if done.returncode:
                return tests
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--logic", type=int, default=50)
    parser.add_argument("--rows", type=int, default=34)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="files whose path holds this")
    arguments = parser.parse_args()
    if failing := killer(None):
        sys.exit(f"{failing} fails without any mutant: mend it first")
    counts = {"logic": [0, 0], "row": [0, 0]}
    for kind, mutant in drawn(arguments):
        by = killer(mutant)
        counts[kind][0] += by is not None
        counts[kind][1] += 1
        place = f"{mutant.path.relative_to(PACKAGE)}:{mutant.line}"
        print(f"{by or 'SURVIVES'}\t{kind}\t{place}\t{mutant.what}", flush=True)
    print("| mutants | noticed | drawn |\n| --- | --: | --: |")
    for kind, (noticed, of) in counts.items():
        print(f"| {kind} | {noticed} | {of} |")


if __name__ == "__main__":
    main()
