"""The command line: one module per command, imported when it is asked for.

Exit codes: 0 clean, 1 findings left (or `--diff` would change something), 2 usage, settings,
unreadable input or an internal error, 3 not verified: `fix` kept the file. Of `verify`: 0 pass,
1 fail, 3 inconclusive or skipped.
"""

from __future__ import annotations

import io
import sys

COMMANDS = {
    "check": "report code that only runs on CUDA",
    "fix": "rewrite it, run the result, and write it when that passes",
    "verify": "run a script on cpu and simulated devices and give a verdict",
    "trace": "show what a script would do on a device: syncs, copies, fallbacks",
    "report": "say whether a project can run on a Mac, on one page",
    "rule": "explain a rule",
    "config": "show the settings that hold for a path",
    "server": "serve an editor: diagnostics while typing, fixes, hover",
    "doctor": "say what the installed torch can do on this machine",
    "clean": "remove what earlier runs kept",
    "completions": "print the completions of a shell",
}

OK, FINDINGS, ERROR, NOT_VERIFIED, INTERRUPTED = 0, 1, 2, 3, 130


def run(arguments: list[str]) -> int:
    """Run one command and return its exit code; every failure is one line on stderr."""
    from mpslint.errors import MpslintError

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A path or a source line may hold what the terminal's encoding lacks.
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
        return code
    except MpslintError as error:
        return fail(str(error))
    except BrokenPipeError:
        # The reader (`| head`) has gone: say nothing, at interpreter exit either.
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FINDINGS
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        from mpslint.checking.checking import internal_error

        return fail(internal_error("mpslint", error))


def complain(message: str) -> None:
    """Say what is wrong, in one line."""
    from mpslint.basics.printable import printable

    print(f"error: {printable(message)}", file=sys.stderr)


def fail(message: str) -> int:
    complain(message)
    return ERROR


def _dispatch(arguments: list[str]) -> int:
    name = arguments[0] if arguments else "--help"
    if name in COMMANDS:
        from importlib import import_module

        command = import_module(f"mpslint.cli.{name}")
        code: int = command.run(arguments[1:])
        return code
    if name in ("-h", "--help", "help"):
        print(_usage())
        return OK if arguments else ERROR
    if name in ("-V", "--version"):
        from mpslint import __version__

        print(f"mpslint {__version__}")
        return OK
    from mpslint.basics.nearest import nearest

    is_option = name.startswith("-")
    near = nearest(name, ("--help", "--version") if is_option else COMMANDS)
    advice = f"did you mean `mpslint {near}`?" if near else "see `mpslint --help`"
    what = "option" if is_option else "command"
    return fail(f"no such {what}: {name!r}; {advice}")


def _usage() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {text}" for name, text in COMMANDS.items()]
    return "\n".join(
        [
            "Finds and fixes PyTorch code that only runs on CUDA, and proves it by running it.",
            "",
            "usage: mpslint COMMAND [OPTIONS]",
            "",
            *lines,
            "",
            "`mpslint COMMAND --help` lists a command's options; `mpslint --version` its version.",
        ]
    )
