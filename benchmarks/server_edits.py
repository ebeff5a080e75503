"""How long an editor waits for its diagnostics after each edit, beside `ruff server`.

The session is that of `tests/server/test_session.py`: 500 edits of a file of some 1,000 lines (of
the rules' fixtures, so that nearly each line is a finding or almost one; or any FILE), here in a
project of 3,000 files, from which it imports. Both servers get each edit in turn, and the next
one when both have told what they find in that version; so whatever else the machine does weighs on
both alike. What Python needs to parse the same text is measured beside them.

    python benchmarks/server_edits.py [--edits 500] [--files 3000] [--lines 1000 | --file FILE]
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from server.model import Buffer
from server.typing_session import FIXTURES, real_sized, session

# The ruff that this project is checked with lies beside the Python of its environment.
RUFF = shutil.which("ruff", path=str(Path(sys.executable).parent)) or "ruff"
SERVERS = {"mpslint": [sys.executable, "-m", "mpslint", "server"], "ruff": [RUFF, "server"]}


class Client:
    """As little of an editor as will do: what it costs is the same for both servers."""

    def __init__(self, command: list[str], folder: Path, uri: str) -> None:
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._uri, self._next = uri, 0
        folders = [{"uri": folder.as_uri(), "name": folder.name}]
        asked = {"processId": None, "rootUri": None, "workspaceFolders": folders}
        capabilities = {"textDocument": {"publishDiagnostics": {"versionSupport": True}}}
        self._request("initialize", asked | {"capabilities": capabilities})
        self._notify("initialized", {})

    def open(self, text: str) -> None:
        item = {"uri": self._uri, "languageId": "python", "version": 1, "text": text}
        self._notify("textDocument/didOpen", {"textDocument": item})
        self.told(1)

    def change(self, version: int, changes: list[dict[str, Any]]) -> float:
        """Seconds until what is found in this version is told."""
        began = time.perf_counter()
        document = {"uri": self._uri, "version": version}
        change = {"textDocument": document, "contentChanges": changes}
        self._notify("textDocument/didChange", change)
        self.told(version)
        return time.perf_counter() - began

    def told(self, version: int) -> None:
        while True:
            message = self._read()
            params = message.get("params") or {}
            if message.get("method") == "textDocument/publishDiagnostics":
                if params["uri"] == self._uri and params.get("version") == version:
                    return
            elif "id" in message and "method" in message:
                self._send({"id": message["id"], "result": None})

    def megabytes(self) -> float:
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024
        return float("nan")

    def cpu_seconds(self) -> float:
        """What the server has used so far."""
        with contextlib.suppress(OSError):
            fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return float("nan")

    def close(self) -> None:
        self._request("shutdown", None)
        self._notify("exit", None)
        self._process.wait(30)

    def _request(self, method: str, params: Any) -> Any:
        self._next += 1
        self._send({"id": self._next, "method": method, "params": params})
        while (message := self._read()).get("id") != self._next or "method" in message:
            pass
        return message

    def _notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params})

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._process.stdin.flush()

    def _read(self) -> dict[str, Any]:
        out, length = self._process.stdout, 0
        assert out is not None
        while (line := out.readline().strip()) or not length:
            if line.lower().startswith(b"content-length:"):
                length = int(line.partition(b":")[2])
            elif not line and self._process.poll() is not None:
                raise SystemExit(f"{self._process.args} has ended")
        message: dict[str, Any] = json.loads(out.read(length))
        return message


def make_project(folder: Path, files: int) -> None:
    """A project of many files about torch, one of which is imported by the one that is edited."""
    texts = [path.read_bytes() for path in sorted(FIXTURES.glob("*/silent_*.py"))]
    for number in range(files):
        package = folder / "pkg" / f"part{number // 50}"
        package.mkdir(parents=True, exist_ok=True)
        (package / "__init__.py").touch()
        (package / f"module{number}.py").write_bytes(texts[number % len(texts)])
    helper = (
        "import torch\n\ndevice = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
    )
    (folder / "pkg" / "__init__.py").touch()
    (folder / "pkg" / "helpers.py").write_text(helper)


def parse_time(text: str) -> float | None:
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError:
        return None
    return time.perf_counter() - began


def as_change(line: int, column: int, end: int, end_column: int, text: str) -> dict[str, Any]:
    start = {"line": line, "character": column}
    return {"range": {"start": start, "end": {"line": end, "character": end_column}}, "text": text}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--edits", type=int, default=500)
    options.add_argument("--files", type=int, default=3000)
    options.add_argument("--lines", type=int, default=1000)
    options.add_argument("--file", type=Path)
    given = options.parse_args()
    text = given.file.read_text(encoding="utf-8") if given.file else real_sized(given.lines)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        make_project(folder, given.files)
        path = folder / "train.py"
        buffer = Buffer(f"from pkg.helpers import device\n{text}")
        path.write_text(buffer.text, encoding="utf-8")
        clients = {
            name: Client(command, folder, path.as_uri()) for name, command in SERVERS.items()
        }
        waits: dict[str, list[float]] = {name: [] for name in SERVERS}
        parses, cpu = list[float](), list[float]()
        for client in clients.values():
            client.open(buffer.text)
        used = {name: client.cpu_seconds() for name, client in clients.items()}
        lines = buffer.text.count("\n")
        for version, changes in enumerate(session(buffer, given.edits, seed=1), 2):
            sent = [as_change(*change) for change in changes]
            for name, client in clients.items():
                waits[name].append(client.change(version, sent))
            began = time.process_time()
            if (parsed := parse_time(buffer.text)) is not None:
                parses.append(parsed)
                cpu.append(time.process_time() - began)
        memory = {name: client.megabytes() for name, client in clients.items()}
        used = {name: client.cpu_seconds() - used[name] for name, client in clients.items()}
        for client in clients.values():
            client.close()
    print(f"{len(waits['ruff'])} edits of a file of {lines} lines in a project of {given.files}")
    print("| milliseconds | median | p95 | most | CPU an edit | peak MB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, seconds in (*waits.items(), ("`ast.parse` of the text", parses)):
        row = [statistics.median(seconds), statistics.quantiles(seconds, n=20)[-1], max(seconds)]
        row.append((used[name] if name in used else sum(cpu)) / len(seconds))
        peak = f"{memory[name]:.0f}" if name in memory else ""
        print(f"| {name} | {' | '.join(f'{1000 * one:.1f}' for one in row)} | {peak} |")


if __name__ == "__main__":
    main()
