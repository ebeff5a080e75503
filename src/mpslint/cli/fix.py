"""`mpslint fix`: rewrite, run the result, and write it when that passes."""

from __future__ import annotations

import os
import sys
from functools import reduce
from typing import TYPE_CHECKING

from mpslint.cli import ERROR, FINDINGS, NOT_VERIFIED, OK, complain
from mpslint.cli.legacy_options import add_legacy
from mpslint.cli.options import (
    add_output,
    add_paths,
    add_running,
    add_settings,
    on_terminal,
    warn,
)
from mpslint.cli.parsing import Parser
from mpslint.cli.planning import Work, plan_files
from mpslint.cli.reporting import for_people, report
from mpslint.cli.usage import Usage, require_nothing_about_a_run, settle, settle_fix
from mpslint.findings.results import FileResult
from mpslint.findings.tally import Tally
from mpslint.model import Applicability
from mpslint.output import shown_path
from mpslint.output.text import count, raised
from mpslint.sources.opening import is_notebook

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

    from mpslint.cli.verification import Outcome
    from mpslint.fixing.fixing import Planned
    from mpslint.porting.landed import Applied


def parser() -> Parser:
    from mpslint.cli.verification import add_verification

    options = Parser(
        "fix",
        "Rewrite CUDA-bound code, run the result on cpu and simulated mps, and write it.",
        "mpslint fix [OPTIONS] [PATH ...] [-- SCRIPT ARGUMENTS]",
    )
    add_paths(options)
    options.add_argument("--unsafe-fixes", action="store_true", help="apply unsafe fixes as well")
    options.add_argument("--diff", action="store_true", help="show the change, write nothing")
    options.add_argument("--show-fixes", action="store_true", help="list what each rule changed")
    options.add_argument("--report", metavar="FILE", help="write what changed and what is left")
    options.add_argument(
        "--exit-non-zero-on-fix", action="store_true", help="exit 1 when a file was changed"
    )
    add_verification(options, of_fix=True)
    add_output(options)
    add_legacy(options, writes=False)
    add_settings(options)
    add_running(options)
    return options


def _parse(arguments: list[str]) -> argparse.Namespace:
    from mpslint.cli.verification import split_script_arguments

    arguments, script_arguments = split_script_arguments(arguments)
    parsed = parser().parse_args(arguments)
    parsed.script_arguments = script_arguments
    return parsed


def run(arguments: list[str]) -> int:
    """Exit code 0: all fixed; 1: findings left; 2: errors; 3: not verified, nothing written."""
    options = _parse(arguments)
    settle(options)
    settle_fix(options)
    return fix(options)


def run_plain(options: argparse.Namespace) -> int:
    """`mpslint check --fix` and `--diff`: fixes without running anything."""
    options.verify = options.require_verified = options.show_fixes = False
    options.exit_non_zero_on_fix = False
    options.entry = options.report = None
    return fix(options)


def fix(options: argparse.Namespace) -> int:
    """Plan every file, verify all, then write all."""
    from mpslint.cli.stdin import fix_stdin, is_stdin

    if is_stdin(options.paths):
        if options.entry or options.report:
            name = "--entry" if options.entry else "--report"
            raise Usage(f"{name} is about files; stdin (`-`) is none")
        return fix_stdin(options)
    script = _script(options)
    if script is None:
        require_nothing_about_a_run(options)
    work = plan_files(options)
    if options.diff:
        return _diff(options, work)
    from mpslint.sources.opening import text_on_disk

    outcome = _verify(options, work, script)
    work, outcome, rejected = _without_rejected(options, work, outcome, script)
    written = work.planned if outcome is None or outcome.may_write else {}
    failures = _write(written)
    done = {path: planned for path, planned in written.items() if path not in failures}
    results = [_final(result, done, failures) for result in work.results]
    texts = {path: text_on_disk(path, planned.after) for path, planned in done.items()}
    if options.show_fixes:
        _show_fixes(options, done)
    if options.report:
        from mpslint.cli.fix_report import write_report

        silent = {result.path: work.suppressed(result.path, done) for result in results}
        write_report(
            options.report, results, done, work.planned, outcome, options.unsafe_fixes, silent
        )
    if outcome is not None and outcome.report is not None and not outcome.may_write:
        _withdraw(results, work.planned)
    fixed = _tally(done)
    code = report(options, results, texts, fixed)
    if not options.quiet:
        _say_what_was_written(options, done, script)
        if not options.unsafe_fixes:
            _say_why_not(results)
    if rejected or (outcome is not None and not outcome.may_write):
        return NOT_VERIFIED
    if code == OK and done and options.exit_non_zero_on_fix:
        return FINDINGS
    return code


def _say_what_was_written(
    options: argparse.Namespace, done: Mapping[str, Planned], script: str | None
) -> None:
    """Which files are new, and that no run has shown what the fixes do, where none was asked for or
    forbidden."""
    from mpslint.basics.printable import printable_path

    out = for_people(options)
    new = [printable_path(shown_path(path)) for path, planned in done.items() if planned.new]
    if new:
        print(f"Created {', '.join(new)}.", file=out)
    paths = options.paths or ["."]
    if done and script is None and options.verify is None and not _is_one_notebook(paths):
        print(
            "NOT VERIFIED: nothing was run, since no script was named. `mpslint verify SCRIPT` "
            "runs one as it is now; `--entry SCRIPT` runs it before anything is written.",
            file=out,
        )


def _is_one_notebook(paths: Sequence[str]) -> bool:
    """One notebook is told of by itself, before it is fixed."""
    return len(paths) == 1 and os.path.isfile(paths[0]) and is_notebook(paths[0])


def _script(options: argparse.Namespace) -> str | None:
    """The script to verify with, None for no verification. Raises `Usage`."""
    paths = options.paths or ["."]
    single = paths[0] if len(paths) == 1 and os.path.isfile(paths[0]) else None
    if options.entry and options.verify is not False:
        return str(options.entry)
    if single is not None and is_notebook(single):
        if options.verify or options.require_verified:
            raise Usage(f"{single}: notebooks are not run; name a script with --entry")
        if not options.diff and options.verify is None:
            warn(f"{single}: NOT VERIFIED: notebooks are not run")
        return None
    if options.verify is None:
        if options.require_verified and single is None:
            raise Usage("--require-verified with several files needs --entry SCRIPT")
        return None if options.diff else single
    if options.verify and single is None:
        raise Usage("--verify with several files needs --entry SCRIPT, the script to run")
    return single if options.verify else None


def _diff(options: argparse.Namespace, work: Work) -> int:
    from mpslint.basics.printable import patch_name
    from mpslint.fixing.fixing import unified_diff

    for path, planned in work.planned.items():
        sys.stdout.writelines(on_terminal(unified_diff(planned, patch_name(shown_path(path)))))
    sys.stdout.flush()
    left = []
    for result in work.results:
        if result.error:
            complain(result.error)
        planned_file = work.planned.get(result.path)
        left.append(result if planned_file is None else _as_planned(planned_file))
    _say_why_not(left)
    if not options.quiet:
        _say_why_unsafe(work.planned)
    if work.planned and not options.quiet:
        files = count(len(work.planned), "file")
        fixed = _tally(work.planned)
        along = f" ({fixed.gone} more gone along)" if fixed.gone else ""
        print(f"Would fix {count(fixed.fixed, 'error')}{along} in {files}.", file=sys.stderr)
        print(raised(fixed), end="", file=sys.stderr)
    elif not work.planned and not options.quiet:
        told = [one for result in left for one in result.findings]
        unsafe = sum(one.applicability is Applicability.UNSAFE for one in told)
        if unsafe:
            print(f"No safe fixes; {unsafe} more with `--unsafe-fixes`.", file=sys.stderr)
        elif told:
            print(f"No fixes for {count(len(told), 'error')}.", file=sys.stderr)
    if any(result.error for result in work.results):
        return ERROR
    return FINDINGS if work.planned and not options.exit_zero else OK


def _tally(planned: dict[str, Planned]) -> Tally:
    """What became of the findings of all files that are written."""
    return reduce(Tally.plus, (one.result.tally for one in planned.values()), Tally())


def _as_planned(planned: Planned) -> FileResult:
    return FileResult(planned.path, planned.result.remaining)


_OF_ITS_OWN = "line "
"""How a reason begins that stands in the file itself."""


def _say_why_not(left: Iterable[FileResult]) -> None:
    """What the analysis has against fixes that were left out, each reason once: what is said of a
    line of one file may be in the way of others."""
    from mpslint.basics.printable import printable, printable_path
    from mpslint.sources.files import spoken_path

    files: dict[str, list[str]] = {}
    for result in left:
        for reason in dict.fromkeys(one.reason for one in result.findings if one.reason):
            own = f"{spoken_path(result.path)}, " if reason.startswith(_OF_ITS_OWN) else ""
            files.setdefault(f"{own}{reason}", []).append(result.path)
    for reason, (path, *others) in files.items():
        more = f" and {count(len(others), 'other file')}" if others else ""
        if not others:
            reason = reason.removeprefix(f"{spoken_path(path)}, ")
        print(
            printable(f"{printable_path(shown_path(path))}{more}: left as it is: {reason}"),
            file=sys.stderr,
        )


def _say_why_unsafe(planned: Mapping[str, Planned]) -> None:
    """What speaks against unsafe fixes of a patch, by the rows of the files as they were."""
    from mpslint.basics.printable import printable, printable_path

    for path, one in planned.items():
        applied = one.result.applied
        unsafe = (fix for fix in applied if fix.applicability is Applicability.UNSAFE)
        for (code, _, message), places in _by_what_they_say(unsafe, "line ").items():
            where = f"{printable_path(shown_path(path))}, {_listed(places)}"
            print(printable(f"{where}: unsafe: {code}: {message}"), file=sys.stderr)


def _by_what_they_say(
    fixes: Iterable[Applied], row: str = ""
) -> dict[tuple[str, str, str], list[str]]:
    """The places of fixes, by code, name and message: rows of the file as it was."""
    places: dict[tuple[str, str, str], list[str]] = {}
    for fix in fixes:
        place = f"{row}{fix.row}" if fix.cell is None else f"cell {fix.cell}:{fix.row}"
        places.setdefault((fix.code, fix.name, fix.message), []).append(place)
    return places


def _listed(places: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(places))


def _verify(options: argparse.Namespace, work: Work, script: str | None) -> Outcome | None:
    if script is None or not work.planned:
        return None
    from mpslint.cli.verification import verify_patched

    patched = {os.path.realpath(path): planned.after for path, planned in work.planned.items()}
    return verify_patched(options, script, patched)


def _withdraw(results: Iterable[FileResult], planned: dict[str, Planned]) -> None:
    """Offer no fix that a run has just refused."""
    for result in results:
        for finding in result.findings if result.path in planned else ():
            finding.drop_fix("it was not written, since the run of the fixed program failed")


def _without_rejected(
    options: argparse.Namespace, work: Work, outcome: Outcome | None, script: str | None
) -> tuple[Work, Outcome | None, bool]:
    """Of a rewrite that failed, what runs without the fixes that failed; and whether some did."""
    if outcome is None or outcome.may_write or outcome.report is None:
        return work, outcome, False
    from mpslint.basics.printable import printable
    from mpslint.cli import rejecting

    found = rejecting.blamed(outcome.report, work.planned)
    if found is None:
        way_on = rejecting.next_file(options, outcome.report, work.planned, str(script))
        if way_on is not None:
            print(printable(f"  {way_on}"), file=for_people(options), flush=True)
        return work, outcome, False
    rest = rejecting.planned_without(options, found)
    retried = _verify(options, rest, script) if rest is not None else None
    kept = rest.planned if rest is not None and retried is not None and retried.may_write else {}
    for line in rejecting.shown(found, outcome.reason, work, kept):
        print(printable(line), file=for_people(options), flush=True)
    if rest is None or retried is None or not retried.may_write:
        return work, outcome, True
    return rest, retried, True


def _write(planned: dict[str, Planned]) -> dict[str, str]:
    """Write every file; the reasons of those that could not be, by path."""
    from mpslint.errors import CannotWrite
    from mpslint.sources.writer import create, replace

    failures = {}
    for file in planned.values():
        if file.new:
            create(file.path, file.after)  # first: the others import it
    for path, file in planned.items():
        try:
            if not file.new:
                replace(path, file.before, file.after)
        except CannotWrite as error:
            failures[path] = str(error)
    return failures


def _final(result: FileResult, done: dict[str, Planned], failures: dict[str, str]) -> FileResult:
    """What is left in one file, with positions in the text that is there now."""
    if result.path in failures:
        return result._replace(error=failures[result.path])
    if result.path in done:
        return FileResult(result.path, done[result.path].result.remaining)
    return result


def _show_fixes(options: argparse.Namespace, done: dict[str, Planned]) -> None:
    """What each rule changed, and where: rows of the file as it was."""
    from mpslint.basics.printable import printable, printable_path

    out = for_people(options)
    for path, planned in done.items():
        print(f"{printable_path(shown_path(path))}:{' created' if planned.new else ''}", file=out)
        found = _by_what_they_say(planned.result.applied)
        for (code, name, message), places in sorted(found.items()):
            what = f"{len(places)} x {code} ({name}): {printable(message)}"
            print(f"  {what} [{_listed(places)}]", file=out)
