"""The server begins and ends as an editor expects, and needs what it needs with clear words."""

from __future__ import annotations

import builtins
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import CUDA_ONLY, Cli
from lsprotocol import types

from server.client import Editor, in_editor, uri_of

COMMAND = [sys.executable, "-m", "mpslint", "server"]
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"processId": None, "rootUri": None, "capabilities": {}},
}


def framed(*messages: Any) -> bytes:
    bodies = [m if isinstance(m, bytes) else json.dumps(m).encode() for m in messages]
    return b"".join(b"Content-Length: %d\r\n\r\n%b" % (len(body), body) for body in bodies)


def talk(data: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*COMMAND, *options], input=data, capture_output=True, timeout=600)


def test_without_pygls_one_line_says_how_to_install_it(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] in ("pygls", "lsprotocol"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest, **more)

    for name in [one for one in sys.modules if one.startswith("mpslint.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", without)
    ran = cli("server")
    assert ran.code == 2
    assert ran.out == ""
    (line,) = ran.err.splitlines()
    assert line.startswith("error: the editor server needs pygls")
    assert line.endswith("pip install 'mpslint[server]'")


def test_the_other_commands_do_without_the_protocol(project: Path) -> None:
    (project / "train.py").write_text(CUDA_ONLY)
    code = (
        "import sys; from mpslint.cli import run; run(['check', 'train.py', '--no-cache']);"
        "sys.exit(any(name.startswith(('pygls', 'lsprotocol')) for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


def test_it_tells_what_it_can_do_and_who_it_is(project: Path) -> None:
    async def scenario(editor: Editor) -> types.InitializeResult:
        return editor.told_by_server

    told = in_editor(scenario, [project])
    assert told.server_info is not None
    assert told.server_info.name == "mpslint"
    can = told.capabilities
    assert isinstance(can.diagnostic_provider, types.DiagnosticOptions)
    assert can.diagnostic_provider.inter_file_dependencies
    assert can.hover_provider
    assert isinstance(can.code_action_provider, types.CodeActionOptions)
    assert list(can.code_action_provider.code_action_kinds or ()) == [
        "quickfix",
        "source.fixAll.mpslint",
    ]
    assert isinstance(can.text_document_sync, types.TextDocumentSyncOptions)
    assert can.text_document_sync.change == types.TextDocumentSyncKind.Incremental


@pytest.mark.parametrize(
    ("offered", "chosen"),
    [((), "utf-16"), (("utf-8", "utf-16"), "utf-8"), (("utf-32", "utf-8"), "utf-32")],
)
def test_positions_are_counted_as_the_editor_prefers(
    project: Path, offered: tuple[str, ...], chosen: str
) -> None:
    from server.client import capabilities

    async def scenario(editor: Editor) -> Any:
        return editor.told_by_server.capabilities.position_encoding

    assert in_editor(scenario, [project], capabilities(encodings=offered)) == chosen


def test_an_editor_that_leaves_without_a_word_ends_the_server(project: Path) -> None:
    ran = talk(framed(INITIALIZE))
    assert b'"result"' in ran.stdout
    assert ran.returncode == 1
    assert ran.stderr == b""


def test_an_exit_without_shutdown_is_an_error_as_the_protocol_says(project: Path) -> None:
    left = {"jsonrpc": "2.0", "method": "exit"}
    assert talk(framed(INITIALIZE, left), "--stdio").returncode == 1


def test_a_message_that_is_not_understood_ends_nothing(project: Path) -> None:
    again = INITIALIZE | {"id": 2}
    ran = talk(framed(b"{no json", {"jsonrpc": "2.0", "id": 9, "method": "no/such"}, again))
    assert b'"id":2' in ran.stdout.replace(b" ", b"")


def test_it_ends_while_a_long_analysis_runs(project: Path) -> None:
    text = "import torch\n" + "x = torch.ones(3).cuda()\n" * 20_000
    item = {"uri": uri_of(project / "train.py"), "languageId": "python", "version": 1, "text": text}
    opened = {"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"textDocument": item}}
    ran = talk(
        framed(
            INITIALIZE,
            {"jsonrpc": "2.0", "method": "initialized", "params": {}},
            opened,
            {"jsonrpc": "2.0", "id": 2, "method": "shutdown"},
            {"jsonrpc": "2.0", "method": "exit"},
        )
    )
    assert ran.returncode == 0
    assert b"publishDiagnostics" not in ran.stdout


def test_help_and_mistakes_are_those_of_every_command(project: Path) -> None:
    helped = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True)
    assert helped.returncode == 0
    assert "Language Server Protocol" in helped.stdout
    wrong = subprocess.run([*COMMAND, "--tcp"], capture_output=True, text=True, env={**os.environ})
    assert wrong.returncode == 2
    assert "--tcp" in wrong.stderr
