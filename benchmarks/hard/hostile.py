"""A project that means harm, through every front end: nothing of it is run, nothing that it holds
is obeyed, and each run ends by itself with a line that names what it met."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from told import MPSLINT, REPOSITORY, Row, Share, environment

sys.path.insert(0, str(REPOSITORY / "tests"))

from hostile_project import CUDA_ONLY, TRAPS, Trap, mark_where_run, obeyed

SECONDS = 120
FORMATS = ("full", "concise", "grouped", "json", "github", "gitlab", "sarif", "junit", "pylint")
HOOKS = {
    "hook": ("check", "--force-exclude", "--severity", "ignores", "--output-format", "concise"),
    "hook that fixes": (
        "fix", "--no-verify", "--exit-non-zero-on-fix", "--force-exclude", "--output-format",
        "concise",
    ),
}  # fmt: skip
COMMANDS = {
    **{f"check, {form}": ("check", "--output-format", form, ".") for form in FORMATS},
    "check --explain-silence": ("check", "--explain-silence", "."),
    "fix --diff": ("fix", "--no-verify", "--diff", "."),
    "fix": ("fix", "--no-verify", "--show-fixes", "."),
    "report, markdown": ("report", "--format", "markdown", "."),
    "report, json": ("report", "--format", "json", "."),
    "config": ("config", "good.py"),
}


def rows(work: Path, share: Share) -> Iterator[Row]:
    fronts: dict[str, Callable[[Path, Path, Trap], str]] = {}
    for name, arguments in COMMANDS.items():
        fronts[name] = _command(arguments, commands="github" in name)
    for name, arguments in HOOKS.items():
        fronts[name] = _command(arguments, files=True)
    fronts["flake8"] = _flake8
    fronts["server"] = _server
    for name, front in share.part([*fronts.items()]):
        wrong = []
        for what, trap in TRAPS.items():
            with tempfile.TemporaryDirectory(dir=work) as folder:
                project = Path(folder) / "project"
                project.mkdir()
                mark = mark_where_run(project)
                (project / "good.py").write_text(CUDA_ONLY)
                trap.make(project)
                said = front(project, work, trap)
                if mark.exists():
                    said = f"ran {mark.read_text().split()}"
                if said:
                    wrong.append(f"{what}: {said}")
                _remove_deep(project)
        yield Row(f"hostile projects, {name}", len(TRAPS), "projects", tuple(wrong))


def _remove_deep(project: Path) -> None:
    """What Python's own removal of folders may be nested too deeply for."""
    subprocess.run(["rm", "-rf", "--", str(project)], check=False)


def _files(project: Path) -> list[str]:
    """What a hook is given: the names of regular files and links, as git lists them."""
    return sorted(
        entry.name
        for entry in os.scandir(project)
        if entry.name.endswith((".py", ".ipynb")) and (entry.is_symlink() or entry.is_file())
    )


def _command(
    arguments: tuple[str, ...], *, files: bool = False, commands: bool = False
) -> Callable[[Path, Path, Trap], str]:
    def run(project: Path, work: Path, trap: Trap) -> str:
        named = [os.path.join(".", name) for name in _files(project)] if files else []
        try:
            ran = subprocess.run(
                [*MPSLINT, arguments[0], *arguments[1:], *named],
                cwd=project,
                env=environment(work),
                capture_output=True,
                stdin=subprocess.DEVNULL,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            return f"did not end in {SECONDS} s"
        out, err = (os.fsdecode(text) for text in (ran.stdout, ran.stderr))
        if ran.returncode not in (0, 1, 2) or "internal error" in err or "Traceback" in err:
            return f"ended with {ran.returncode}: {err.strip()[-200:]}"
        if ran.returncode == 2 and not err.strip():
            return "failed without a word"
        if ran.returncode == 2 and trap.named not in out + err:
            return f"does not tell {trap.named}: {err.strip()[-200:]}"
        return obeyed(_told(out, arguments), commands=commands) or obeyed(err)

    return run


def _told(out: str, arguments: tuple[str, ...]) -> str:
    """What a run says in its own words: the lines of a patch are the file's, as `git apply` takes
    them, where no terminal shows them."""
    if "--diff" not in arguments:
        return out
    rows = out.split("\n")
    return "\n".join(r for r in rows if r[:1] not in {*" +-"} or r[:4] in {"--- ", "+++ "})


def _flake8(project: Path, work: Path, trap: Trap) -> str:
    """The plugin on the files that flake8 itself reads to the end: notebooks are none, of which it
    takes 2 s of CPU for each MB, with the plugin or without."""
    given = ("good.py", "a.py", *(name for name in _files(project) if name.endswith(".py")))
    names = [name for name in given if (project / name).is_file()]
    config = work / "flake8.ini"
    plugin = "MPS = mpslint.flake8_plugin:Plugin"
    config.write_text(f"[flake8:local-plugins]\nextension =\n    {plugin}\n")
    # As its command does it: not `-m`, which looks for modules in the project first.
    start = "import sys; sys.path.remove(''); from flake8.main.cli import main; sys.exit(main())"
    command = [sys.executable, "-c", start, "--config", str(config), "--select", "MPS", "-j1"]
    try:
        ran = subprocess.run(
            [*command, *(f"./{name}" for name in names)],
            cwd=project,
            env=environment(work),
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"did not end in {SECONDS} s"
    err = os.fsdecode(ran.stderr)
    if "Traceback" in err and "mpslint" in err:
        return f"ended with {ran.returncode}: {err.strip()[-300:]}"
    return ""


def _server(project: Path, work: Path, trap: Trap) -> str:
    """All texts of the folder opened in an editor; the good one has a finding."""
    process = subprocess.Popen(
        [*MPSLINT, "server"],
        cwd=project,
        env=environment(work),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    timer = threading.Timer(SECONDS, process.kill)
    timer.start()
    answers: list[bytes] = []
    try:
        for message in _session(project):
            process.stdin.write(_packed(message))
            process.stdin.flush()
            answers += _up_to(process.stdout, message["id"]) if "id" in message else []
        err = process.communicate()[1]
    except BrokenPipeError:
        err = process.communicate()[1]
    finally:
        ended = not timer.is_alive()
        timer.cancel()
    if ended:
        return f"did not end in {SECONDS} s"
    if process.returncode or b"Traceback" in err:
        return f"ended with {process.returncode}: {os.fsdecode(err).strip()[-300:]}"
    # Settings that are refused are told as a message; there are no findings then.
    if not any(b"MPS201" in answer or b"window/" in answer for answer in answers):
        return "the good file has no finding"
    return ""


def _up_to(stream: BinaryIO, number: int) -> Iterator[bytes]:
    """All messages up to the answer to a request."""
    while line := stream.readline():
        length = 0
        while line.strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
            line = stream.readline()
        body = stream.read(length)
        yield body
        answer = json.loads(body)
        if answer.get("id") == number and "method" not in answer:
            return


def _session(project: Path) -> Iterator[dict[str, Any]]:
    folder = {"uri": project.as_uri(), "name": "project"}
    diagnostic = {"textDocument": {"diagnostic": {}}}
    asked = {"processId": None, "rootUri": folder["uri"], "workspaceFolders": [folder]}
    yield {"id": 1, "method": "initialize", "params": {**asked, "capabilities": diagnostic}}
    yield {"method": "initialized", "params": {}}
    number = 1
    for name in [*_files(project), "good.py"]:
        path = project / name
        if name.endswith(".ipynb") or not path.is_file() or path.stat().st_size > 1_000_000:
            continue
        uri = path.as_uri() if name.isprintable() else f"{folder['uri']}/odd.py"
        text = path.read_bytes().decode("utf-8", "replace")
        item = {"uri": uri, "languageId": "python", "version": 1, "text": text}
        yield {"method": "textDocument/didOpen", "params": {"textDocument": item}}
        number += 1
        pull = {"textDocument": {"uri": uri}}
        yield {"id": number, "method": "textDocument/diagnostic", "params": pull}
        if name != "good.py":
            yield {"method": "textDocument/didClose", "params": pull}
    yield {"id": number + 1, "method": "shutdown"}
    yield {"method": "exit"}


def _packed(message: dict[str, Any]) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
