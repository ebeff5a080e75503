"""A front of argparse that does without it for ordinary command lines.

Importing argparse and building a parser of thirty options costs more than checking a file. So
options are declared here as they would be there, a plain loop reads the command lines that need
no more, and whatever it does not understand at once (help, mistakes, rare spellings) is given to
a real parser made from the same declarations.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NoReturn, cast

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

_FILES = ("PATH", "FILE", "SCRIPT", "PY")
"""What stands for the path of a file in help."""
BOOLEAN = "boolean"
"""Action of `--name` and `--no-name`."""


class Invalid(ValueError):
    """Raised by a converter; says what was expected."""


class Options:
    """Values by attribute, as in an `argparse.Namespace`."""


class Declared:
    """One `add_argument` call."""

    __slots__ = ("flags", "group", "spec")

    def __init__(self, flags: tuple[str, ...], group: str | None, spec: dict[str, Any]) -> None:
        self.flags = flags
        self.group = group
        self.spec = spec

    @property
    def positional(self) -> bool:
        return not self.flags[0].startswith("-")

    @property
    def name(self) -> str:
        long = next((flag for flag in self.flags if flag.startswith("--")), self.flags[0])
        return long.lstrip("-").replace("-", "_")

    @property
    def default(self) -> Any:
        if self.spec.get("action") == "store_true":
            return self.spec.get("default", False)
        return [] if self.spec.get("nargs") == "*" else self.spec.get("default")


class Group:
    def __init__(self, parser: Parser, title: str) -> None:
        self._parser, self._title = parser, title

    def add_argument(self, *flags: str, **spec: Any) -> None:
        self._parser.declared.append(Declared(flags, self._title, spec))


class Parser:
    """Takes the declarations of one command, then a command line."""

    def __init__(self, command: str, description: str, usage: str | None = None) -> None:
        self.declared: list[Declared] = []
        self._about = {"prog": f"mpslint {command}", "description": description, "usage": usage}
        self.description = description
        self._given: list[str] = []
        """The command line."""

    def add_argument(self, *flags: str, **spec: Any) -> None:
        """As in argparse; `action` may be "store_true", "append" or `BOOLEAN`."""
        self.declared.append(Declared(flags, None, spec))

    def add_argument_group(self, title: str) -> Group:
        return Group(self, title)

    def parse_args(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The options; a mistake (or `--help`) prints and raises `SystemExit`, as in argparse."""
        options = Options()
        self._given = list(arguments)
        values = _read(self.declared, arguments)
        if values is None:
            self._argparse().parse_intermixed_args(arguments, cast("Any", options))
        else:
            options.__dict__.update(values)
        return cast("argparse.Namespace", options)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line, and raise `SystemExit` with code 2."""
        print(f"error: {self._advised(message)}", file=sys.stderr)
        raise SystemExit(2)

    def _advised(self, message: str) -> str:
        """argparse's words, with the nearest option or value where there is none of that name."""
        kind, _, words = message.partition(": ")
        if words == "expected one argument":
            return f"{kind}: needs a value; see `{self._about['prog']} --help`"
        if words.startswith("ignored explicit argument "):
            return f"{kind}: takes no value, not {words.removeprefix('ignored explicit argument ')}"
        if words.startswith("invalid choice: "):
            return message + self._nearest_choice(kind.removeprefix("argument "), words)
        if kind == "the following arguments are required":
            # What is misspelled is told first: it may be why the rest was not understood.
            missing, words = message, " ".join(self._unknown())
        elif kind != "unrecognized arguments":
            return message
        given = words.split()
        if not given:
            return f"{missing}; see `{self._about['prog']} --help`"
        option = next((word for word in given if word.startswith("-")), None)
        if option is None:
            return f"unexpected argument {given[0]!r}; see `{self._about['prog']} --help`"
        name = option.partition("=")[0]
        return f"no such option: {name}; {self._instead_of(name)}"

    def _instead_of(self, option: str) -> str:
        """What to do who gave an option that this command has not."""
        from mpslint.basics.nearest import nearest

        others = [f"`mpslint {name}`" for name, flags in _other_flags() if option in flags]
        if others:
            return f"it is one of {' and '.join(others)}"
        near = nearest(option, [flag for one in self.declared for flag in _flags(one)])
        return f"did you mean {near}?" if near else f"see `{self._about['prog']} --help`"

    def _unknown(self) -> list[str]:
        """The long options of the command line that are none of ours."""
        ours = {"--help", *(flag for one in self.declared for flag in _flags(one))}
        own = self._given[: self._given.index("--")] if "--" in self._given else self._given
        return [word for word in own if word[:2] == "--" and word.partition("=")[0] not in ours]

    def _nearest_choice(self, option: str, words: str) -> str:
        """`; did you mean concise?` for `argument --output-format: invalid choice: 'concize'`."""
        from mpslint.basics.nearest import nearest

        names = option.split("/")
        choices = next(
            (
                one.spec["choices"]
                for one in self.declared
                if "choices" in one.spec
                and not {*one.flags, str(one.spec.get("metavar"))}.isdisjoint(names)
            ),
            (),
        )
        value = words.removeprefix("invalid choice: ").partition(" (")[0].strip("'\"")
        near = nearest(value, [str(one) for one in choices])
        return f"; did you mean {near}?" if near else ""

    def _argparse(self) -> argparse.ArgumentParser:
        import argparse

        ours = self

        class OneLine(argparse.ArgumentParser):
            def error(self, message: str) -> NoReturn:
                ours.error(message)

        parser = OneLine(**cast("Any", self._about), allow_abbrev=False)
        self.fill(parser)
        return parser

    def fill(self, parser: argparse.ArgumentParser) -> None:
        """Give a parser of argparse these options."""
        import argparse

        groups: dict[str | None, Any] = {None: parser}
        for declared in self.declared:
            if declared.group not in groups:
                groups[declared.group] = parser.add_argument_group(declared.group)
            spec = dict(declared.spec)
            if spec.get("action") == BOOLEAN:
                spec |= {"action": argparse.BooleanOptionalAction, "default": None}
            if "type" in spec:
                spec["type"] = _for_argparse(spec["type"])
            if declared.spec.get("nargs") == "*":
                spec["default"] = []
            action = groups[declared.group].add_argument(*declared.flags, **spec)
            if declared.spec.get("metavar") in _FILES:
                # Read by shtab, and by nobody else.
                action.complete = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}


def _other_flags() -> Iterator[tuple[str, list[str]]]:
    """Each command with its options; asked by one that lacks an option, which is then another's."""
    from importlib import import_module

    from mpslint.cli import COMMANDS

    for command in COMMANDS:
        declared = import_module(f"mpslint.cli.{command}").parser().declared
        yield command, [flag for one in declared for flag in _flags(one)]


def _flags(one: Declared) -> list[str]:
    if one.positional:
        return []
    return [*one.flags, f"--no-{one.flags[0][2:]}"] if _is_boolean(one) else list(one.flags)


def _for_argparse(convert: Callable[[str], Any]) -> Callable[[str], Any]:
    import argparse

    def checked(text: str) -> Any:
        try:
            return convert(text)
        except Invalid as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return checked


def _read(declared: Sequence[Declared], arguments: Sequence[str]) -> dict[str, Any] | None:
    """The values of an ordinary command line, None for one that needs argparse."""
    values = {one.name: one.default for one in declared}
    flags = {flag: one for one in declared for flag in one.flags if not one.positional}
    off = {f"--no-{one.flags[0][2:]}": one for one in flags.values() if _is_boolean(one)}
    plain: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == "-" or not argument.startswith("-"):
            plain.append(argument)
            continue
        flag, equals, text = argument.partition("=")
        one = flags.get(flag) or off.get(flag)
        if one is None:
            return None
        if _is_boolean(one) or one.spec.get("action") == "store_true":
            if equals:
                return None
            values[one.name] = flag in flags
            continue
        value = text if equals else next(rest, "-")
        if value.startswith("-") or not _store(values, one, value):
            return None
    return values if _place(values, [one for one in declared if one.positional], plain) else None


def _is_boolean(one: Declared) -> bool:
    return bool(one.spec.get("action") == BOOLEAN)


def _store(values: dict[str, Any], one: Declared, text: str) -> bool:
    """Convert and keep one value; False when argparse should say what is wrong with it."""
    if text not in one.spec.get("choices", (text,)):
        return False
    try:
        value = one.spec["type"](text) if "type" in one.spec else text
    except Invalid:
        return False
    if one.spec.get("action") == "append":
        values[one.name] = [*(values[one.name] or ()), value]
    else:
        values[one.name] = value
    return True


def _place(values: dict[str, Any], positional: list[Declared], plain: list[str]) -> bool:
    """Give the plain arguments to the one positional that a command may have."""
    if len(positional) != 1:
        return not positional and not plain
    (one,) = positional
    count = one.spec.get("nargs")
    if count == "*":
        values[one.name] = plain
        return True
    if len(plain) > 1 or (not plain and count != "?"):
        return False
    return _store(values, one, plain[0]) if plain else True
