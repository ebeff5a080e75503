"""A project that means harm, for the tests and for `make hard`.

Whatever in it is run leaves a mark. Each trap says what is put into a folder, and the name that a
run which meets it has to tell.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

MARK = "EXECUTED"
CUDA_ONLY = "import torch\n\ntorch.cuda.synchronize()\n"
RUN_BY_OTHERS = (
    "conftest", "sitecustomize", "usercustomize", "setup", "noxfile", "torch", "mpslint_plugin",
    "json", "difflib", "tomllib", "libcst", "fnmatch", "hashlib", "subprocess", "tempfile",
)  # fmt: skip
"""What pytest, Python, pip or an import in a careless place would run from this folder."""


class Trap(NamedTuple):
    """`make` lays it into a folder; `named`: what the run's output has to tell, empty for nothing:
    it is passed over without harm."""

    make: Callable[[Path], None]
    named: str = ""


def mark_where_run(folder: Path) -> Path:
    """Programs in all places from where something might be run; each leaves the file returned."""
    mark = folder.parent / MARK
    line = f"open({str(mark)!r}, 'a').write(__name__ + '\\n')\n"
    for name in RUN_BY_OTHERS:
        (folder / f"{name}.py").write_text(line)
    (folder / "__init__.py").write_text(line)
    package = folder / "mpslint_extras"
    package.mkdir()
    (package / "__init__.py").write_text(line)
    (folder / "a.py").write_text(
        f"from mpslint_extras import x\nfrom conftest import y\n{CUDA_ONLY}"
    )
    return mark


def _text(name: str, text: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / name).write_text(text, encoding="utf-8", errors="surrogateescape")

    return make


def _fifo(folder: Path) -> None:
    os.mkfifo(folder / "pipe.py")


def _endless(folder: Path) -> None:
    (folder / "zero.py").symlink_to("/dev/zero")


def _socket(folder: Path) -> None:
    here = os.getcwd()
    os.chdir(folder)  # the name of a socket must be short
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket.py")
    finally:
        os.chdir(here)


def _loop(folder: Path) -> None:
    (folder / "loop").symlink_to(".")
    (folder / "self.py").symlink_to("self.py")
    (folder / "up").symlink_to("..")


def _deep(folder: Path) -> None:
    here = os.getcwd()
    try:
        os.chdir(folder)
        for _ in range(600):
            os.mkdir("d" * 40)
            os.chdir("d" * 40)
    finally:
        os.chdir(here)


def _leads_out(folder: Path) -> None:
    outside = folder.parent / "outside.py"
    outside.write_text(CUDA_ONLY)
    (folder / "inside.py").symlink_to(outside)


def _large_notebook(folder: Path) -> None:
    """200 MB, of which the disk holds next to nothing."""
    with (folder / "large.ipynb").open("wb") as file:
        file.write(b'{"cells": [{"cell_type": "code", "source": "import torch ')
        file.truncate(200_000_000)


def _many_cells(folder: Path) -> None:
    cell = '{"cell_type": "code", "source": ["import torch\\n", "torch.cuda.synchronize()"]}'
    body = ",".join([cell] * 2_000)
    (folder / "cells.ipynb").write_text(f'{{"cells": [{body}], "nbformat": 4}}')


STARS = "*a" * 30 + "b"
TRAPS = {
    "a pipe": Trap(_fifo),
    "an endless file behind a link": Trap(_endless),
    "a socket": Trap(_socket),
    "links in circles": Trap(_loop),
    "folders deeper than a path can be": Trap(_deep),
    "a link that leads out": Trap(_leads_out),
    "a notebook of 200 MB": Trap(_large_notebook, "large.ipynb"),
    "a notebook of 2,000 cells": Trap(_many_cells),
    "a notebook nested without end": Trap(
        _text("n.ipynb", '["torch.cuda",' + "[" * 500_000), "n.ipynb"
    ),
    "a notebook with a number of 100,000 digits": Trap(
        _text("n.ipynb", f'{{"cells": [], "torch": "cuda", "x": {"9" * 100_000}}}'), "n.ipynb"
    ),
    "globs of stars": Trap(
        _text("mpslint.toml", f'exclude = ["{STARS}", "{"[!b]*" * 100}b", "{"*/" * 200}"]\n')
    ),
    "an ignore file of stars": Trap(_text(".gitignore", f"{STARS}\n/{'**/a' * 30}/b\n")),
    "settings of a million tables": Trap(
        _text("mpslint.toml", "[[a]]\n" * 1_000_000), "mpslint.toml"
    ),
    "settings nested without end": Trap(
        _text("mpslint.toml", "a = " + "[" * 50_000), "mpslint.toml"
    ),
    "settings with a key of many parts": Trap(
        _text("mpslint.toml", ".".join("a" * 50_000) + " = 1\n"), "mpslint.toml"
    ),
    "settings that extend themselves": Trap(
        _text("mpslint.toml", 'extend = "mpslint.toml"\n'), "mpslint.toml"
    ),
    "settings that extend an endless file": Trap(
        _text("mpslint.toml", 'extend = "/dev/zero"\n'), "/dev/zero"
    ),
    "settings whose baseline lies outside": Trap(
        _text("mpslint.toml", 'baseline = "../../../../../../etc/passwd"\n'), "passwd"
    ),
    "settings with an escape in a value": Trap(
        _text("mpslint.toml", 'select = ["\\u001b[2J::error::x"]\n'), "mpslint.toml"
    ),
    "a name with an escape": Trap(_text("x\x1b[2Jy.py", CUDA_ONLY), "x"),
    "a name that is a command": Trap(_text("::error file=a,line=1::x.py", CUDA_ONLY), "error file"),
    "a name with a newline": Trap(_text("x\n::warning::y.py", CUDA_ONLY), "warning"),
    "a name that is no text": Trap(_text("\udcff\udcfe.py", CUDA_ONLY)),
    "a source with escapes": Trap(
        _text(
            "e.py", f"{CUDA_ONLY}torch.cuda.synchronize()  # \x1b]0;x\x07 ::error::x ##[error]y\n"
        ),
        "e.py",
    ),
    "a source nested without end": Trap(
        _text("n.py", f"{CUDA_ONLY}x = {'(' * 5_000}{')' * 5_000}\n"), "n.py"
    ),
    "a long chain of operators": Trap(_text("n.py", f"{CUDA_ONLY}x = {'-' * 50_000}1\n"), "n.py"),
    "numbers without end": Trap(
        _text("n.py", f"{CUDA_ONLY}n = 9 ** 9 ** 9 ** 9\ntorch.cuda.set_device(n)\n"), "n.py"
    ),
}
"""By what lies in the folder."""


def obeyed(shown: str, *, commands: bool = False) -> str:
    """What of an output a terminal or a service that reads the log would obey; empty for nothing.
    `commands`: the output is made of commands, which are ours."""
    for row in shown.split("\n"):
        if not row.replace("\t", " ").isprintable():
            return repr(row[:200])
        if not commands and row.lstrip().startswith("::"):
            return row[:200]
        if "##[" in row:
            return row[:200]
    return ""
