"""Comments are read where a word for us stands; what they silence is the same as if all were."""

from __future__ import annotations

import random
import textwrap
from pathlib import Path

import pytest

from mpslint.errors import BadSource
from mpslint.findings.suppress import Suppressions
from mpslint.sources.source import SourceFile

FIXTURES = sorted((Path(__file__).resolve().parents[2] / "fixtures").rglob("*.py"))


def told(source: SourceFile, *, in_parts: bool) -> object:
    read = Suppressions(source, tree=source.parse() if in_parts else None)
    silences = [(one.start, one.end, one.codes, one.of_file, one.comment) for one in read.silences]
    rows = {row: [one.start for one in each] for row, each in read._rows.items()}
    return read.whole_file, silences, rows


def agree(text: str) -> None:
    source = SourceFile.from_text(text)
    assert told(source, in_parts=True) == told(source, in_parts=False), text


def test_each_fixture_silences_the_same() -> None:
    spoken = 0
    for path in FIXTURES:
        try:
            source = SourceFile(str(path), path.read_bytes())
            source.parse()
        except BadSource:
            continue
        assert told(source, in_parts=True) == told(source, in_parts=False), path
        spoken += b"noqa" in source.data
    assert spoken > 5


@pytest.mark.parametrize(
    "text",
    [
        "x = 1  # noqa\ny = 2\n",
        "# noqa: MPS1\nx = 1\n\n\n# mpslint: ignore[MPS2]\n",
        "x = '''\n# noqa: MPS1\n'''  # noqa: MPS2\ny = '# noqa'\n",
        "x = [  # noqa: MPS1\n    1,\n    2,  # noqa: MPS3\n]\n",
        "x = 1 \\\n    + 2  # noqa: MPS1\nz = 1 \\\n\n# noqa: MPS4\nw = 2\n",
        "@(\n d  # noqa: MPS1\n)\ndef f():\n    pass  # noqa: MPS2\n",
        "a\n@d  # noqa\n@e  # noqa: MPS9\nclass C:\n    # noqa: MPS1\n    pass\n  # noqa\nb\n",
        "a; b = [\n1]  # noqa: MPS1\nc; d  # noqa: MPS2\n",
        "if x:\n    y\n# noqa: MPS1\nelse:\n    z  # noqa: MPS2\n",
        "x = 1\n# mpslint: skip-file\ny = 1\n",
        "\x0cx = 1\n\x0cy = 1  # noqa: MPS1\n",
        "x = 1  # NOQA:MPS1\ry = 2\r# noqa: MPS7\r\nz = 3",
        "# a backslash \\\nx = 1  # noqa: MPS1\n# \\\ny = 2  # noqa: MPS2",
        "f'''{\n1}  # noqa: MPS1\n'''\nx  # noqa: MPS2\n",
        "# noqa: MPS1\n",
        "class A: x = 1  # noqa: MPS1\nclass B:  # noqa: MPS2\n\n  # noqa: MPS3\n  y = 2\n",
        "class A:\n  class B:\n      x = 1\n      # \\\n  y = 2  # noqa: MPS1\n",
        "class A:\n\tclass B:\n\t\t@d\n\t\tdef f(): p  # noqa: MPS1\n    # \\\nz  # noqa: MPS2\n",
        "class A:\n    x = 1; y = (\n2)  # noqa: MPS1\n    z = 3 \\\n\n    w = 4  # noqa: MPS2\n",
    ],
)
def test_whatever_stands_around_it_a_comment_silences_the_same(text: str) -> None:
    agree(text)


def test_comments_in_any_order_of_statements_silence_the_same() -> None:
    chance = random.Random(1)
    pieces = [
        "x = 1  # noqa: MPS1\n",
        "def f():\n    '''noqa'''\n    return 1  # noqa: MPS2\n",
        "\n# a comment\n",
        "y = (\n    1  # noqa: MPS3\n)\n",
        "'''\n# noqa: MPS4\n'''\n",
        "@d\ndef g(): pass\n",
        "a; b  # mpslint: ignore[MPS5]\n",
        "z = 1 \\\n\n",
    ]
    for _ in range(100):
        agree("".join(chance.choices(pieces, k=chance.randrange(1, 9))))


def test_comments_in_classes_in_any_order_silence_the_same() -> None:
    chance = random.Random(2)
    pieces = [
        "x = 1  # noqa: MPS1\n",
        "def f(self):\n    if x:\n        y  # noqa: MPS2\n    # noqa: MPS3\n    else: z\n",
        "\n  # a comment, noqa \\\n",
        "y = '''\n# noqa: MPS4\n'''\n",
        "@d(\n1)  # noqa: MPS5\ndef g(): pass\n",
        "a; b  # mpslint: ignore[MPS5]\n",
        "z = 1 \\\n\n",
    ]

    def class_of(depth: int) -> str:
        lines = "".join(chance.choices(pieces, k=chance.randrange(1, 5)))
        if depth and chance.random() < 0.7:
            lines += class_of(depth - 1) + chance.choice(("", *pieces))
        header = chance.choice(("class A:", "class A:  # noqa: MPS6", "@d\nclass A(\n    B\n):"))
        return f"{header}\n    pass\n" + textwrap.indent(lines, "    ")

    for _ in range(300):
        text = class_of(2) + chance.choice(pieces)
        try:
            SourceFile.from_text(text).parse()
        except BadSource:
            continue
        agree(text)
