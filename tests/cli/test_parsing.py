"""The plain loop over a command line understands what argparse would, or leaves it to argparse."""

from __future__ import annotations

import subprocess
import sys
from argparse import ArgumentParser
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpslint.cli.options import add_output, add_paths, add_running, add_settings
from mpslint.cli.parsing import Options, Parser, _read
from mpslint.cli.verification import add_verification

WORDS = st.sampled_from(
    [
        "a.py",
        "-",
        "--",
        "src",
        "--fix",
        "--verify",
        "--no-verify",
        "--select",
        "--select=MPS1",
        "MPS1,MPS2",
        "--output-format",
        "--output-format=json",
        "json",
        "xml",
        "-q",
        "-j",
        "-j2",
        "-qj2",
        "2",
        "0",
        "-1",
        "",
        "--jobs",
        "--jobs=3",
        "--quiet=1",
        "--force-exclude",
        "--no-force-exclude",
        "--no-select",
        "--sel",
        "--timeout=2.5",
        "--device",
        "cpu,mps",
        "--unknown",
    ]
)


@cache
def parser() -> Parser:
    made = Parser("fix", "For the test.")
    add_paths(made)
    made.add_argument("--fix", action="store_true")
    add_verification(made, of_fix=True)
    add_output(made)
    add_settings(made)
    add_running(made)
    return made


@cache
def argparses() -> ArgumentParser:
    """What argparse is told of it. Parsing leaves it as it is."""
    return parser()._argparse()


def by_argparse(arguments: list[str]) -> dict[str, object] | None:
    options = Options()
    try:
        argparses().parse_intermixed_args(arguments, options)  # type: ignore[call-overload]
    except SystemExit:
        return None
    return vars(options)


@settings(max_examples=600, derandomize=True, deadline=None)
@given(st.lists(WORDS, max_size=6))
def test_what_the_loop_reads_argparse_reads_the_same(arguments: list[str]) -> None:
    values = _read(parser().declared, arguments)
    if values is not None:
        assert values == by_argparse(arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["a.py", "b.py"],
        ["a.py", "--fix", "b.py", "-q"],
        ["--select", "MPS1", "--select=MPS2", "--no-verify", "--jobs", "2", "-"],
        ["--output-format", "json", "--no-respect-gitignore", "--device", "cpu"],
    ],
)
def test_ordinary_command_lines_need_no_argparse(arguments: list[str]) -> None:
    values = _read(parser().declared, arguments)
    assert values is not None
    assert values == by_argparse(arguments)


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--fix=1"], ["--select"], ["--output-format", "xml"], ["-j2"], ["--sel", "x"]],
)
def test_everything_else_is_left_to_argparse(arguments: list[str]) -> None:
    assert _read(parser().declared, arguments) is None


def test_a_check_of_a_clean_file_imports_no_argparse(project: Path) -> None:
    (project / "a.py").write_text("x = 1\n")
    code = "import sys; from mpslint.cli import run; run(sys.argv[1:])"
    code += "; print('argparse' in sys.modules)"
    command = [sys.executable, "-c", code, "check", "-q", "--output-format", "concise", "a.py"]
    ran = subprocess.run(command, cwd=project, capture_output=True, text=True)
    assert ran.stdout == "False\n"
