"""The screen is sound: no rule finds anything in a file without its trigger words."""

from __future__ import annotations

import ast
import random
import re
from pathlib import Path

import pytest
from conftest import CUDA_ONLY, FIXTURES

from mpslint.checking.linter import Screen, lint, screen_for
from mpslint.rules.registry import Rule
from mpslint.settings.settings import Settings
from mpslint.sources.screening import Demand, may_be_called, names_in
from mpslint.sources.source import SourceFile

ALL = Settings(select=("ALL",))
FOLDERS = sorted(path for path in (FIXTURES / "rules").iterdir() if path.is_dir())
FILES = sorted((FIXTURES / "rules").glob("*/*.py"))
OTHERS = sorted(
    path for path in FIXTURES.glob("**/*.py") if path.parent.parent != FIXTURES / "rules"
)


def shown(source: SourceFile, *, screened: bool) -> list[str]:
    return [f"{f.place} {f.code} {f.message}" for f in lint(source, ALL, screened=screened)]


def parses(source: SourceFile) -> bool:
    try:
        source.parse()
    except Exception:
        return False
    return True


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_all_rules_on_every_fixture_find_what_the_screened_ones_find(folder: Path) -> None:
    for path in sorted(folder.glob("*.py")):
        source = SourceFile(str(path), path.read_bytes())
        if b"torch" in source.data:
            assert shown(source, screened=True) == shown(source, screened=False), path.name


def test_all_rules_on_the_other_fixtures_find_what_the_screened_ones_find() -> None:
    for path in OTHERS:
        data = path.read_bytes()
        if b"torch" in data and parses(source := SourceFile(str(path), data)):
            assert shown(source, screened=True) == shown(source, screened=False), path.name


def pieces() -> list[ast.stmt]:
    """Statements of the fixtures, from the whole of a function down to one line."""
    found: list[ast.stmt] = []
    for path in FILES:
        source = SourceFile(str(path), path.read_bytes())
        if not parses(source):
            continue  # It is about code that no Python of today reads.
        tree = source.parse()
        found += [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    return found


IMPORTS = (
    "import torch\nimport torch as t\nfrom torch import cuda, device, nn\nimport numpy as np\n"
)
WHERE = ("{}", "def f(x, model):\n{}", "for step in range(3):\n{}", "class A:\n{}", "if x:\n{}")


def programs(count: int) -> list[str]:
    """Programs put together from pieces of the fixtures, some without what usually goes with it."""
    chance, stock = random.Random(7), pieces()
    made = []
    while len(made) < count:
        body = "\n".join(ast.unparse(piece) for piece in chance.sample(stock, chance.randint(1, 6)))
        frame = chance.choice(WHERE)
        inner = "\n".join("    " + line if frame != "{}" else line for line in body.split("\n"))
        text = IMPORTS + frame.format(inner) + "\n"
        if parses(SourceFile.from_text(text)):
            made.append(text)
    return made


def test_all_rules_on_generated_programs_find_what_the_screened_ones_find() -> None:
    found = 0
    for text in programs(1300):
        source = SourceFile.from_text(text)
        screened = shown(source, screened=True)
        assert screened == shown(source, screened=False), text
        found += len(screened)
    assert found > 900


def plainly(rule: Rule, data: bytes) -> bool:
    """What a rule demands of a file, searched word for word."""
    groups = (rule.triggers, *rule.also)
    names = set(re.findall(rb"\w+", data))
    found = {name for name in rule.names if name in names}
    return (
        all(any(word in data for word in group) for group in groups)
        and (not rule.names or bool(found))
        and (not rule.called or any(may_be_called(data, frozenset({name})) for name in found))
    )


def test_the_screen_finds_every_word_that_stands_in_a_file() -> None:
    screen = screen_for(ALL, "a.py")
    for path in FILES:
        data = path.read_bytes() + b"\n# torch"
        wanted = [rule.code for rule in screen.rules if plainly(rule, data)]
        assert [rule.code for rule in screen.select(data)] == wanted, path.name


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("x.to(y)\nuse_cuda = qr", True),
        ("x.to (y)\nuse_cuda = qr", False),
        ("x.to(y)\nuse_gpu = qr", True),
        ("x.to(y)\nuse_tpu = qr", False),
        ("x.to(y)\nuse_cuda = qrs", False),
        ("x.to(y)\nuse_cuda = 'qr'", True),
        ("x.to(y)\nuse_cuda = '\u00e9qr\u00e9'", True),
    ],
)
def test_a_demand_is_a_word_of_each_group_and_a_whole_name(text: str, met: bool) -> None:
    demand = Demand((b"qr", b"lu"), ((b"cuda", b"gpu"), (b".to(", b".cpu(")))
    data = text.encode()
    names = names_in(data)
    present = {word for word in demand.words() if any(word in name for name in names)}
    assert demand.met(data, names, present) is met


@pytest.mark.parametrize(
    ("text", "called"),
    [
        ("torch.mode(x)", True),
        ("x.mode (0)", True),
        ("torch.\\\n  mode(x)", False),
        ("from torch import mode\nmode(x)", True),
        ("from torch import cat, \\\n    mode as most\nmost(x)", True),
        ("from torch import (\n    cat,\n    mode,\n)", True),
        ("most = torch.mode\nmost(x)", True),
        ("self.mode = mode", False),
        ("f(mode='w')", False),
        ("mode(x)", False),
        ("x.modes()", False),
        ("args.mode == 1", False),
    ],
)
def test_a_name_that_is_demanded_as_called_is_one_by_a_call_an_import_or_an_alias(
    text: str, called: bool
) -> None:
    demand = Demand((b"mode",), (), called=True)
    assert demand.met(text.encode(), names_in(text.encode()), set()) is called


def test_a_word_without_a_letter_is_looked_for_in_the_text() -> None:
    demand = Demand((), ((b"[",),))
    for data, met in ((b"x[0]", True), (b"x", False)):
        present = {word for word in demand.words() if word in b"x 0"}
        assert demand.met(data, names_in(data), present) is met


def test_a_file_without_a_rules_words_is_not_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed = []
    parse = SourceFile.parse

    def counted(source: SourceFile) -> ast.Module:
        parsed.append(source.path)
        return parse(source)

    monkeypatch.setattr(SourceFile, "parse", counted)
    only = Settings(select=("MPS201",))
    for name, text in (("plain.py", "import torch\n"), ("a.py", CUDA_ONLY), ("b.py", "x = 1\n")):
        lint(SourceFile.from_text(text, name), only)
    assert parsed == ["a.py"]


def test_positions_are_computed_for_findings_only(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    position = SourceFile.position

    def counted(source: SourceFile, offset: int) -> tuple[int, int]:
        asked.append(offset)
        return position(source, offset)

    monkeypatch.setattr(SourceFile, "position", counted)
    silent = "import torch\n\nx = torch.ones(3)\ny = x + 1\nprint(torch.__version__)\n" * 50
    assert lint(SourceFile.from_text(silent), ALL) == []
    assert asked == []
    assert len(lint(SourceFile.from_text(CUDA_ONLY), ALL)) == 1
    assert 1 <= len(asked) <= 2


def test_one_screen_serves_all_files_with_the_same_rules() -> None:
    screen = screen_for(Settings(), "a.py")
    assert isinstance(screen, Screen)
    assert screen_for(Settings(), "b.py") is screen


def test_a_name_that_may_be_called_is_found_as_one_expression_finds_it() -> None:
    name = rb"(?:mode|qr)\b"
    forms = (
        rb"\.\s*%s\s*\(",
        rb"\bimport\b(?:[^\n\\]|\\\r?\n)*\b%s",
        rb"\bimport\s*\([^)]*\b%s",
        rb"=[\s(\\]*[\w.]+\.%s",
    )
    plain = re.compile(b"|".join(form % name for form in forms))
    pieces = [
        b"mode",
        b"qr",
        b"import",
        b"import ",
        b"x",
        b"=",
        b".",
        b"(",
        b")",
        b",",
        b" ",
        b"\n",
    ]
    pieces += [b"\r\n", b"\\", b"1", b"_", "\u00e9".encode()]
    chance, called = random.Random(3), 0
    for _ in range(30_000):
        text = b"".join(chance.choices(pieces, k=chance.randrange(1, 10)))
        expected = plain.search(text) is not None
        assert may_be_called(text, frozenset((b"mode", b"qr"))) == expected, text
        called += expected
    assert called > 500
