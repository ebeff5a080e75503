"""An editor for tests: pygls' own client, which talks to `mpslint server` over stdio."""

from __future__ import annotations

import asyncio
import atexit
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types
from pygls.lsp.client import LanguageClient

_Result = TypeVar("_Result")
PATIENCE = 600.0
"""Seconds without any news after which an answer counts as missing."""


def capabilities(
    *, pull: bool = False, encodings: tuple[str, ...] = (), **more: Any
) -> types.ClientCapabilities:
    """What a modern editor says of itself."""
    document = types.TextDocumentClientCapabilities(
        publish_diagnostics=types.PublishDiagnosticsClientCapabilities(related_information=True),
        code_action=types.CodeActionClientCapabilities(
            code_action_literal_support=types.ClientCodeActionLiteralOptions(
                types.ClientCodeActionKindOptions([types.CodeActionKind.QuickFix])
            ),
            data_support=True,
            resolve_support=types.ClientCodeActionResolveOptions(["edit"]),
        ),
    )
    if pull:
        document.diagnostic = types.DiagnosticClientCapabilities()
    workspace = types.WorkspaceClientCapabilities(
        workspace_edit=types.WorkspaceEditClientCapabilities(
            document_changes=True, resource_operations=[types.ResourceOperationKind.Create]
        ),
        did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(
            dynamic_registration=True
        ),
    )
    general = types.GeneralClientCapabilities(
        position_encodings=[types.PositionEncodingKind(one) for one in encodings] or None
    )
    return types.ClientCapabilities(
        text_document=document,
        workspace=workspace,
        general=general,
        notebook_document=types.NotebookDocumentClientCapabilities(
            types.NotebookDocumentSyncClientCapabilities()
        ),
        **more,
    )


class Editor(LanguageClient):
    """Knows what it was told last of each text, and can wait for more."""

    def __init__(self) -> None:
        super().__init__("an editor", "1")
        self.told: dict[str, types.PublishDiagnosticsParams] = {}
        self.versions: dict[str, list[int | None]] = {}
        self.messages: list[str] = []
        self.settings: dict[str | None, Any] = {}
        self.watched: list[str] = []
        self.refreshed = 0
        self.told_by_server: types.InitializeResult
        self._open: set[str] = set()
        self._notebooks: set[str] = set()
        self._news = asyncio.Event()
        self._listen()

    def _listen(self) -> None:
        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def published(params: types.PublishDiagnosticsParams) -> None:
            self.told[params.uri] = params
            self.versions.setdefault(params.uri, []).append(params.version)
            self._news.set()

        @self.feature(types.WINDOW_SHOW_MESSAGE)
        def shown(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)
            self._news.set()

        @self.feature(types.WINDOW_LOG_MESSAGE)
        def logged(params: types.LogMessageParams) -> None:
            self.messages.append(params.message)
            self._news.set()

        @self.feature(types.WORKSPACE_CONFIGURATION)
        def asked(params: types.ConfigurationParams) -> list[Any]:
            return [self.settings.get(item.scope_uri) for item in params.items]

        @self.feature(types.CLIENT_REGISTER_CAPABILITY)
        def registered(params: types.RegistrationParams) -> None:
            self.watched += [one.method for one in params.registrations]
            self._news.set()

        @self.feature(types.WORKSPACE_DIAGNOSTIC_REFRESH)
        def refreshed(params: None) -> None:
            self.refreshed += 1
            self._news.set()

    async def until(self, happened: Callable[[], bool]) -> None:
        """Wait until something is so; fails after a long time without news."""
        while not happened():
            self._news.clear()
            await asyncio.wait_for(self._news.wait(), PATIENCE)

    def forget(self) -> None:
        """What earlier scenarios were told."""
        for known in (self.told, self.versions, self.messages):
            known.clear()

    def fold(self, joined: list[types.WorkspaceFolder], left: list[types.WorkspaceFolder]) -> None:
        event = types.WorkspaceFoldersChangeEvent(joined, left)
        self.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))

    def close_all(self) -> None:
        for uri in self._open:
            identifier = types.TextDocumentIdentifier(uri)
            self.text_document_did_close(types.DidCloseTextDocumentParams(identifier))
        for uri in self._notebooks:
            notebook = types.NotebookDocumentIdentifier(uri)
            self.notebook_document_did_close(types.DidCloseNotebookDocumentParams(notebook, []))
        self._open.clear()
        self._notebooks.clear()

    def open_notebook(self, params: types.DidOpenNotebookDocumentParams) -> None:
        self._notebooks.add(params.notebook_document.uri)
        self.notebook_document_did_open(params)

    def open(self, uri: str, text: str, version: int = 1) -> None:
        self._open.add(uri)
        item = types.TextDocumentItem(uri, "python", version, text)
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))

    def change(self, uri: str, version: int, *changes: Any) -> None:
        """Changes: a text for the whole, or (line, column, end line, end column, text)."""
        events = [
            types.TextDocumentContentChangeWholeDocument(change)
            if isinstance(change, str)
            else types.TextDocumentContentChangePartial(span(*change[:4]), change[4])
            for change in changes
        ]
        identifier = types.VersionedTextDocumentIdentifier(version, uri)
        self.text_document_did_change(types.DidChangeTextDocumentParams(identifier, events))

    async def diagnostics(self, uri: str, version: int | None = 1) -> list[types.Diagnostic]:
        """What was told of that version of a text."""
        await self.until(lambda: uri in self.told and self.told[uri].version == version)
        return list(self.told[uri].diagnostics)

    async def pull(self, uri: str, known: str | None = None) -> Any:
        return await self.text_document_diagnostic_async(
            types.DocumentDiagnosticParams(
                types.TextDocumentIdentifier(uri), previous_result_id=known
            )
        )

    async def actions(
        self, uri: str, line: int, column: int = 0, only: list[Any] | None = None
    ) -> list[types.CodeAction]:
        context = types.CodeActionContext(list(self.told[uri].diagnostics), only)
        found = await self.text_document_code_action_async(
            types.CodeActionParams(
                types.TextDocumentIdentifier(uri), span(line, column, line, column), context
            )
        )
        return [one for one in found or () if isinstance(one, types.CodeAction)]


def span(line: int, column: int, end_line: int, end_column: int) -> types.Range:
    return types.Range(types.Position(line, column), types.Position(end_line, end_column))


def uri_of(path: Path) -> str:
    return path.as_uri()


def in_editor(
    scenario: Callable[[Editor], Awaitable[_Result]],
    folders: list[Path],
    client: types.ClientCapabilities | None = None,
    options: Any = None,
    settings: dict[str | None, Any] | None = None,
    *,
    fresh: bool = False,
) -> _Result:
    """Run a scenario in an editor that has these folders open.

    One that asks for nothing else shares its server with the scenarios before it, as long as all
    goes well; the others (and `fresh` ones) start one, which leaves in good order.
    """
    if client is None and options is None and settings is None and not fresh:
        return _SHARED.run(scenario, folders)

    async def run() -> _Result:
        editor = await _started(folders, client or capabilities(), options, settings or {})
        try:
            result = await scenario(editor)
            await _ended(editor)
            return result
        finally:
            _kill(editor)

    return asyncio.run(run())


async def _started(
    folders: list[Path],
    client: types.ClientCapabilities,
    options: Any = None,
    settings: dict[str | None, Any] | None = None,
) -> Editor:
    editor = Editor()
    editor.settings = settings or {}
    await editor.start_io(sys.executable, "-m", "mpslint", "server")
    editor.told_by_server = await editor.initialize_async(
        types.InitializeParams(
            capabilities=client,
            workspace_folders=[_folder(folder) for folder in folders],
            initialization_options=options,
        )
    )
    editor.initialized(types.InitializedParams())
    return editor


async def _ended(editor: Editor) -> None:
    await editor.shutdown_async(None)
    editor.exit(None)
    await editor.stop()
    assert editor._server is not None
    assert await editor._server.wait() == 0


def _kill(editor: Editor) -> None:
    if editor._server is not None and editor._server.returncode is None:
        editor._server.kill()


def _folder(path: Path) -> types.WorkspaceFolder:
    return types.WorkspaceFolder(uri_of(path), path.name)


class _Shared:
    """A server that many scenarios use, one after the other, each in folders of its own."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._editor: Editor | None = None

    def run(self, scenario: Callable[[Editor], Awaitable[_Result]], folders: list[Path]) -> _Result:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            atexit.register(self._close)
        return self._loop.run_until_complete(self._run(scenario, folders))

    async def _run(
        self, scenario: Callable[[Editor], Awaitable[_Result]], folders: list[Path]
    ) -> _Result:
        editor, self._editor = self._editor, None
        if editor is None:
            editor = await _started([], capabilities())
        editor.forget()
        joined = [_folder(folder) for folder in folders]
        editor.fold(joined, [])
        try:
            result = await scenario(editor)
        except BaseException:
            _kill(editor)
            raise
        editor.close_all()
        editor.fold([], joined)
        self._editor = editor
        return result

    def _close(self) -> None:
        if self._loop is not None and self._editor is not None:
            self._loop.run_until_complete(_ended(self._editor))


_SHARED = _Shared()
