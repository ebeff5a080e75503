"""`mpslint completions SHELL`: what a shell needs to complete mpslint's commands and options."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from mpslint.cli import COMMANDS, OK, fail

if TYPE_CHECKING:
    import argparse

    from mpslint.cli.parsing import Parser

SHELLS = ("bash", "zsh", "tcsh")


def parser() -> Parser:
    from mpslint.cli.parsing import Parser

    options = Parser(
        "completions", "Print the completions of a shell; it reads them when it starts."
    )
    options.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    return options


def run(arguments: list[str]) -> int:
    """Exit code 0: printed; 2: shtab, which makes them, is not installed."""
    given = parser().parse_args(arguments)
    try:
        shtab = import_module("shtab")
    except ImportError:
        return fail("completions need shtab; install it: pip install 'mpslint[completions]'")
    import argparse

    whole = argparse.ArgumentParser("mpslint")
    commands = whole.add_subparsers()
    for name, text in COMMANDS.items():
        command: Parser = import_module(f"mpslint.cli.{name}").parser()
        made = commands.add_parser(name, help=text, description=command.description)
        command.fill(made)
        if name == "rule":
            _name_rules(made)
    print(shtab.complete(whole, shell=given.shell))
    return OK


def _name_rules(command: argparse.ArgumentParser) -> None:
    """Let the rules be what may follow; the command itself takes them in other spellings, too."""
    from mpslint.rules.registry import all_rules

    for argument in command._actions:
        if argument.dest == "rule":
            argument.choices = [rule.code for rule in all_rules()]
