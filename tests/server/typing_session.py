"""Somebody types: a session of edits as editors send them, the same one for the same seed."""

from __future__ import annotations

import ast
import random
import textwrap
import warnings
from collections.abc import Iterator
from pathlib import Path

from server.model import Buffer

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures" / "rules"
Change = tuple[int, int, int, int, str]
LINES = (
    "torch.cuda.synchronize()",
    'device = torch.device("cuda")',
    "model = model.cuda()",
    'x = x.to("cuda", non_blocking=True)',
    "if torch.cuda.is_available():\n    torch.cuda.empty_cache()",
    "loss = criterion(model(x), y)  # größer, 大きい, 😀",
    'name = "\u2028 a separator that ends no line"; y = y.cuda()',
    "def fresh(x):\n    return x.double().cuda()",
    "# torch.cuda.synchronize() in a comment",
    "z = torch.zeros(3, dtype=torch.float64, device='cuda')  # noqa: MPS101",
)
DAMAGE = ("(", '"""', "\n  ?", "é", "😀", "\x0c", ")", "0x", "\\")


def real_sized(least: int = 700) -> str:
    """A file of many functions and statements about torch."""
    parts: list[str] = ["import torch\n"]
    for path in sorted(FIXTURES.glob("*/alarm_*.py")):
        text = path.read_text(encoding="utf-8")
        if "__future__" in text or "# coding" in text or "skip-file" in text:
            continue
        if not parses(text):
            continue  # It is about code that no Python of today reads.
        parts.append(text)
        if sum(part.count("\n") for part in parts) >= least:
            break
    return "\n\n".join(parts)


def parses(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def in_classes(lines: int) -> str:
    """Such code as methods, in classes, in functions, one below the other and in each other."""
    found: list[str] = []
    for number, part in enumerate(real_sized(lines // 3).split("\n\n\n")):
        holder = ("class A:", "def f(self, x):", "@d\nclass B(\n    C\n):", "async def g():")[
            number % 4
        ]
        last = found[-1] if found and number % 5 else ""
        body = textwrap.indent(f"{part}\n{last}\nlast = 1;", "    ")
        found.append(f"{holder}\n    first = 1\n{body}\n")
    return "\n".join(one for one in found if parses(one))


class _Typist:
    """Makes edits that leave a program behind, and damage that is mended a little later."""

    def __init__(self, buffer: Buffer, seed: int) -> None:
        self._buffer, self._chance = buffer, random.Random(seed)
        self._newline = "\r\n" if "\r\n" in buffer.text else "\n"

    def notifications(self) -> Iterator[list[Change]]:
        """What is sent for one intention; each notification has been made when it is yielded."""
        kinds = (self._type, self._type, self._delete, self._paste, self._two, self._damage)
        yield from self._chance.choice((*kinds, self._replace_all))()

    def _type(self) -> Iterator[list[Change]]:
        at, lines = self._place_for(self._chance.choice(LINES))
        for line in lines.splitlines(keepends=True) if "\u2028" not in lines else [lines]:
            body = line.strip()
            before, after = line.split(body) if body else (line, "")
            # A new line is opened first, with its indentation.
            yield [self._buffer.replace(at, at, before + after)]
            at += len(before)
            for char in body:
                yield [self._buffer.replace(at, at, char)]
                at += 1
            at += len(after)

    def _paste(self) -> Iterator[list[Change]]:
        at, lines = self._place_for("\n".join(self._chance.choices(LINES, k=3)))
        yield [self._buffer.replace(at, at, lines)]

    def _delete(self) -> Iterator[list[Change]]:
        for _ in range(20):
            start, end = self._line()
            if parses(self._buffer.text[:start] + self._buffer.text[end:]):
                gone = self._buffer.text[start:end]
                yield [self._buffer.replace(start, end, "")]
                if self._chance.random() < 0.5:
                    yield [self._buffer.replace(start, start, gone)]
                return

    def _two(self) -> Iterator[list[Change]]:
        """Two changes in one notification, the second in the text that the first one left."""
        one, first = self._place_for("x = x.cuda()")
        changes = [self._buffer.replace(one, one, first)]
        two, second = self._place_for("y = 1  # 😀")
        yield [*changes, self._buffer.replace(two, two, second)]

    def _damage(self) -> Iterator[list[Change]]:
        at = self._chance.randrange(len(self._buffer.text))
        end = at + self._chance.choice((0, 0, 1, 4))
        gone, new = self._buffer.text[at:end], self._chance.choice(DAMAGE)
        yield [self._buffer.replace(at, at + len(gone), new)]
        yield [self._buffer.replace(len(self._buffer.text), len(self._buffer.text), "#")]
        yield [self._buffer.replace(len(self._buffer.text) - 1, len(self._buffer.text), "")]
        yield [self._buffer.replace(at, at + len(new), gone)]

    def _replace_all(self) -> Iterator[list[Change]]:
        """A formatter sends the whole text."""
        text = self._buffer.text
        yield [self._buffer.replace(0, len(text), text.replace("# ", "#  ", 3))]

    def _line(self) -> tuple[int, int]:
        text = self._buffer.text
        start = text.rfind("\n", 0, self._chance.randrange(len(text))) + 1
        return start, text.find("\n", start) + 1 or len(text)

    def _place_for(self, lines: str) -> tuple[int, str]:
        """Where lines can stand, and the lines as they have to be there."""
        while True:
            start, end = self._line()
            line = self._buffer.text[start:end]
            indentation = line[: len(line) - len(line.lstrip(" \t"))]
            written = "".join(f"{indentation}{part}{self._newline}" for part in lines.split("\n"))
            text = self._buffer.text
            if line.strip() and parses(text[:start] + written + text[start:]):
                return start, written


def session(buffer: Buffer, edits: int, seed: int) -> Iterator[list[Change]]:
    """The changes of each of at least so many notifications; they have been made in `buffer` when
    they are yielded. In the end the text parses."""
    typist, done = _Typist(buffer, seed), 0
    while done < edits:
        for changes in typist.notifications():
            done += 1
            yield changes
