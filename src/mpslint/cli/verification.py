"""What `fix` and `verify` share: options of a verification, and how it is told."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from mpslint.cli.parsing import BOOLEAN, Invalid
from mpslint.errors import MpslintError
from mpslint.records import NamedTuple
from mpslint.sources.opening import is_notebook

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from mpslint.cli.parsing import Parser
    from mpslint.verify import Report, Request

PASS, FAIL, INCONCLUSIVE, SKIPPED = "pass", "fail", "inconclusive", "skipped"
PARTIAL, RAN = "partial", "ran"


class NotAScript(MpslintError):
    """What was named to be run is no script."""


class Outcome(NamedTuple):
    verdict: str
    reason: str
    may_write: bool
    report: Report | None


def split_script_arguments(arguments: list[str]) -> tuple[list[str], list[str]]:
    """(mpslint's own arguments, those of the script, which stand after `--`)."""
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def add_verification(into: Parser, *, of_fix: bool) -> None:
    group = into.add_argument_group("verification (runs the script in a sandboxed copy)")
    if of_fix:
        group.add_argument(
            "--verify",
            action=BOOLEAN,
            help="run the result before it is written (default: when one file is given)",
        )
        group.add_argument("--entry", metavar="SCRIPT", help="run this script, not the fixed file")
        group.add_argument(
            "--require-verified", action="store_true", help="write only what a run has proved"
        )
    group.add_argument(
        "--device", type=_devices, metavar="LIST", help="of cpu,mps,cuda (default: cpu,mps)"
    )
    group.add_argument("--python", metavar="PY", help="the Python to run with (default: found)")
    group.add_argument(
        "--torch",
        choices=("cpu",),
        help="run with the CPU build of that Python's torch, which is installed into your cache "
        "folder first (pip or uv)",
    )
    group.add_argument(
        "--simulate",
        action="store_true",
        help="use no real GPU, also where there is one",
    )
    group.add_argument(
        "--steps",
        type=_number,
        metavar="N",
        help="optimizer steps per run (default: to the end, within 2/5 of --timeout)",
    )
    group.add_argument(
        "--allow-partial",
        action="store_true",
        help="take a verdict for proof although changed lines did not run",
    )
    group.add_argument(
        "--timeout", type=_seconds, metavar="S", help="seconds per run (default: 300)"
    )
    group.add_argument(
        "--memory",
        type=_number,
        metavar="MB",
        help="memory per run (default: chosen by the machine's)",
    )
    group.add_argument("--setup", metavar="COMMAND", help="shell command run in the copy first")
    group.add_argument(
        "--env",
        action="append",
        type=_variable,
        metavar="NAME=VALUE",
        help="a variable the script needs; most of yours are kept from it (repeatable)",
    )


def _devices(text: str) -> tuple[str, ...]:
    devices = tuple(part.strip() for part in text.split(",") if part.strip())
    if not devices or any(device not in ("cpu", "mps", "cuda") for device in devices):
        raise Invalid(f"expected a list of cpu, mps, cuda, not {text!r}")
    return devices


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise Invalid(f"expected NAME=VALUE, not {text!r}")
    return name, value


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:20])):
        raise Invalid(f"expected a whole number above 0, not {text!r}")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e9:
        raise Invalid(f"expected a number of seconds, not {text!r}")
    return seconds


def build_request(options: argparse.Namespace, script: str, **more: Any) -> Request:
    """The request that the options describe. Raises `BadRequest` when it makes no sense."""
    if is_notebook(script):
        raise NotAScript(
            f"{script}: notebooks are not run; make a script of it first, with "
            "`jupyter nbconvert --to script`"
        )
    from mpslint.verify import Request

    given = {
        "args": tuple(options.script_arguments),
        "devices": options.device,
        "python": options.python or active_python(),
        "steps": options.steps,
        "timeout": options.timeout,
        "memory_mb": options.memory,
        "setup": options.setup,
        "env": dict(options.env) if options.env else None,
        "real": False if options.simulate else None,
    }
    chosen = {key: value for key, value in given.items() if value is not None}
    request = Request(script=os.path.abspath(script), **chosen, **more).checked()
    if options.torch is None:
        return request
    from mpslint.verify import overlay

    return overlay.in_front(request, tell)


def active_python() -> str | None:
    """The activated environment's Python, where mpslint itself is installed elsewhere."""
    root = os.environ.get("VIRTUAL_ENV") or os.environ.get("CONDA_PREFIX")
    for parts in (("bin", "python"), ("python.exe",), ("Scripts", "python.exe")):
        if root and os.path.isfile(path := os.path.join(root, *parts)):
            return path
    return None


def verify_patched(
    options: argparse.Namespace, script: str, patched: Mapping[str, bytes]
) -> Outcome:
    """Run the original and the patched script, and say what came out and what follows."""
    from mpslint.basics.printable import printable
    from mpslint.cli.reporting import for_people
    from mpslint.verify import verify

    out = for_people(options)
    request = build_request(options, script, patched=dict(patched))
    announce(request, out)
    result = verify(request, tell)
    print(result.to_text().rstrip("\n"), file=out, flush=True)
    proved = is_proof(result.verdict, options.allow_partial)
    may_write = proved or (result.verdict != FAIL and not options.require_verified)
    said = _consequence(result, proved, may_write)
    print(printable(said), file=out, flush=True)
    return Outcome(result.verdict, result.reason, may_write, result)


def is_proof(verdict: str, allow_partial: bool) -> bool:
    """What `verify` calls a success, and `fix --require-verified` writes."""
    return verdict in (PASS, RAN) or (verdict == PARTIAL and allow_partial)


def tell(line: str) -> None:
    """Say how far a verification is."""
    from mpslint.basics.printable import printable

    print(f"  {printable(line)}", file=sys.stderr, flush=True)


def announce(request: Request, out: Any) -> None:
    """Say what is about to be run, and how it is held, before it is."""
    from mpslint.basics.printable import printable
    from mpslint.output import shown_path

    command = " ".join([request.interpreter, shown_path(request.script), *request.args])
    steps = f"{request.steps} steps" if request.steps else "to the end of the script"
    limits = f"{steps} and {request.timeout:g} s at most"
    print(
        f"running: {printable(command)}\n"
        f"  on {', '.join(request.devices)}; {limits} each; in a copy of its folder, without "
        "network, home folder or rights to write elsewhere where this system can forbid them",
        file=out,
        flush=True,
    )


def _consequence(result: Report, proved: bool, may_write: bool) -> str:
    from mpslint.verify.report import again

    verdict, reason = result.verdict, result.reason
    if verdict == PASS:
        but = f" ({reason})" if reason else ""
        return f"verified: the fixed script passed{but}; writing it"
    if verdict == FAIL:
        return f"NOT WRITTEN: verification failed ({reason}); the original is kept"
    if proved:
        return f"the fixed script ran: {result.headline}; writing it"
    if verdict == PARTIAL:
        if may_write:
            return f"PARTLY VERIFIED: {result.headline}; the fixes are written anyway"
        return f"NOT WRITTEN: {result.headline} and --require-verified is on; see --allow-partial"
    why = f"{verdict}: {again(reason)}"
    if not may_write:
        return f"NOT WRITTEN: nothing was proved ({why}) and --require-verified is on"
    return f"NOT VERIFIED ({why}): nothing was proved; the fixes are written anyway"
