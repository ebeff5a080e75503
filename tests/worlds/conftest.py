"""Short sources, and what the analysis of worlds says of them.

A program is text without `import torch`, which is put in front. A line that ends in `# here` is
the one that a test asks about.
"""

from __future__ import annotations

import ast
import json
import textwrap
from functools import cached_property
from pathlib import Path

from mpslint.checking.linter import lint
from mpslint.semantics.context import Context
from mpslint.semantics.worlds.events import Event, Kind
from mpslint.semantics.worlds.file import Worlds
from mpslint.semantics.worlds.machines import MACHINES, spell
from mpslint.semantics.worlds.values import BOT, Value, cases_of, where
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile
from tests.conftest import Cli

EVERYWHERE = "CUDA|GPUS|MAC|PORTED|CPU"
ASKED = "CUDA|GPUS|PORTED"
"""Where `torch.cuda.is_available()` lets a program through, or would once it is ported."""
REFUSED = "MAC|CPU"
"""Where it does not."""
NVIDIA = "CUDA|GPUS"
NOT_NVIDIA = "MAC|PORTED|CPU"
MACS = "MAC|PORTED"
NOWHERE = "none"


class Program:
    """A source, analysed when something is first asked."""

    def __init__(self, text: str, path: str = "program.py") -> None:
        body = textwrap.dedent(text).strip("\n") + "\n"
        if "import torch\n" not in body:
            body = "import torch\n\n" + body
        self.text = body
        self.source = SourceFile(path, body.encode())

    @cached_property
    def context(self) -> Context:
        return Context(self.source, self.source.parse(), Settings())

    @property
    def worlds(self) -> Worlds:
        return self.context.worlds

    @cached_property
    def _line(self) -> int:
        """The number of the marked line."""
        (row,) = (at for at, line in enumerate(self.text.split("\n"), 1) if line.endswith("# here"))
        return row

    def statement(self) -> ast.stmt:
        """The statement on the marked line."""
        return next(
            node
            for node in ast.walk(self.context.tree)
            if isinstance(node, ast.stmt) and node.lineno == self._line
        )

    def call(self) -> ast.Call:
        """The first call on the marked line."""
        return next(
            node
            for node in ast.walk(self.context.tree)
            if isinstance(node, ast.Call) and node.lineno == self._line
        )

    def events(self, *kinds: Kind) -> list[Event]:
        return self.worlds.events(*kinds)

    def value(self, name: str) -> Value:
        """What a name of the module stands for in the end."""
        return self.worlds.run.frame.env[name]


def comes(text: str) -> str:
    """The machines that come to the statement on the line that ends in `# here`."""
    program = Program(text)
    return spell(program.worlds.reach(program.statement()))


def comes_to_call(text: str) -> str:
    """The machines that come to the first call on that line, which may be a part of it."""
    program = Program(text)
    return spell(program.worlds.reach(program.call()))


def by_machine(value: Value) -> str:
    """Where a value is on CUDA, GPUS, MAC, PORTED and CPU, in this order; `-`: nowhere, `!`: the
    machine does not get there, `a/b`: it hangs on a switch."""
    words = []
    for machine in MACHINES:
        said = ["!" if atom is BOT else where(atom) or "-" for _, atom in cases_of(value, machine)]
        words.append("/".join(dict.fromkeys(said)))
    return " ".join(words)


def on(name: str, text: str) -> str:
    """As `by_machine`, for a name of a program's module."""
    return by_machine(Program(text).value(name))


def told(text: str, *kinds: Kind) -> list[str]:
    """The events of these kinds, as "name-or-line: machines", in the order of the source."""
    program = Program(text)
    lines = program.text.split("\n")
    events = sorted(program.events(*kinds), key=lambda event: event.node.lineno)  # type: ignore[attr-defined]
    return [
        f"{lines[event.node.lineno - 1].strip()}: {spell(event.worlds)}"  # type: ignore[attr-defined]
        for event in events
    ]


def found(text: str, *codes: str, severity: str = "") -> list[str]:
    """The findings of these rules (1xx and 2xx, where none is named), as "CODE line"."""
    program = Program(text)
    lines = program.text.split("\n")
    return [
        f"{finding.code} {lines[finding.row - 1].strip()}"
        for finding in lint(program.source, Settings(select=codes or ("MPS1", "MPS2")))
        if not severity or finding.severity.label == severity
    ]


def told_in_project(cli: Cli, files: dict[str, str]) -> list[tuple[str, int, str]]:
    """The findings in a project of these files, as file, row and code."""
    for name, text in files.items():
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    Path(".git").mkdir(exist_ok=True)
    ran = cli("check", "--no-cache", "--output-format", "json", ".")
    assert "internal error" not in ran.err
    return [
        (Path(item["filename"]).name, item["location"]["row"], item["code"])
        for item in json.loads(ran.out)
    ]
