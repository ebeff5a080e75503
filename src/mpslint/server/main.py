"""The handlers of the protocol: each takes a message to where its work is done."""

from __future__ import annotations

import logging
import os
import sys
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcContentModified, JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path

from mpslint import __version__
from mpslint.errors import BadSettings
from mpslint.server.actions import KINDS, Actions, chosen
from mpslint.server.desk import Superseded
from mpslint.server.diagnostics import SOURCE, diagnostics_of
from mpslint.server.documents import Unknown
from mpslint.server.hover import hover
from mpslint.server.protocol import Protocol
from mpslint.server.session import Session

if TYPE_CHECKING:
    from mpslint.server.analysis import Analysis, Pause
    from mpslint.server.fixes import Fixes

_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    notebook_selector=[
        types.NotebookDocumentFilterWithNotebook(
            notebook="jupyter-notebook", cells=[types.NotebookCellLanguage("python")]
        )
    ],
    save=True,
)
_PULL = types.DiagnosticOptions(
    inter_file_dependencies=True, workspace_diagnostics=False, identifier=SOURCE
)


def serve() -> int:
    """Serve one editor over stdin and stdout until it leaves; the exit code."""
    # What should ever print goes to the editor's log, not between the messages.
    out, sys.stdout = sys.stdout.buffer, sys.stderr
    logging.basicConfig(stream=sys.stderr, format="%(name)s: %(message)s", level=logging.ERROR)
    # The thread that reads messages must not wait long for the one that analyses.
    sys.setswitchinterval(0.001)
    server, session = make_server()
    server.start_io(sys.stdin.buffer, out)
    session.desk.close()
    return 0 if session.orderly else 1


def make_server() -> tuple[LanguageServer, Session]:
    server = LanguageServer(
        SOURCE, __version__, notebook_document_sync=_NOTEBOOKS, protocol_cls=Protocol
    )
    session = Session(server)
    _install_lifecycle(server, session)
    _install_documents(server, session)
    _install_notebooks(server, session)
    _install_watching(server, session)
    _install_requests(server, session)
    return server, session


def _install_lifecycle(server: LanguageServer, session: Session) -> None:
    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        session.begin(params)

    @server.feature(types.INITIALIZED)
    async def initialized(params: types.InitializedParams) -> None:
        await session.began()

    @server.feature(types.SHUTDOWN)
    def shutdown(params: Any) -> None:
        session.orderly = True
        session.desk.close()


def _install_documents(server: LanguageServer, session: Session) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        session.changed(session.documents.open(params.text_document))

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        try:
            uri = session.documents.change(document.uri, document.version, params.content_changes)
        except Unknown:
            session.log(f"{document.uri} was changed, but never opened")
            return
        session.changed(uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        session.analyst.forget()
        path = session.documents.path(params.text_document.uri)
        session.look_again(session.desk.resting_on({path, os.path.dirname(path)}))

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        session.documents.close(uri)
        session.desk.closed(uri)
        if not session.pulls:
            session.clear(uri)


def _install_notebooks(server: LanguageServer, session: Session) -> None:
    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenNotebookDocumentParams) -> None:
        opened = session.documents.open_notebook(
            params.notebook_document, params.cell_text_documents
        )
        session.changed(opened)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeNotebookDocumentParams) -> None:
        uri = params.notebook_document.uri
        try:
            gone = session.documents.change_notebook(uri, params.change)
        except Unknown:
            session.log(f"{uri} was changed, but never opened")
            return
        for cell in gone:
            session.clear(cell)
        session.changed(uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveNotebookDocumentParams) -> None:
        session.analyst.forget()

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseNotebookDocumentParams) -> None:
        uri = params.notebook_document.uri
        for cell in session.documents.close_notebook(uri):
            session.clear(cell)
        session.desk.closed(uri)


def _install_watching(server: LanguageServer, session: Session) -> None:
    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    async def did_change_configuration(params: types.DidChangeConfigurationParams) -> None:
        await session.configure(params.settings)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def did_change_folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        await session.configure()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_files(params: types.DidChangeWatchedFilesParams) -> None:
        paths: set[str] = set()
        for change in params.changes:
            path = to_fs_path(change.uri)
            if path is None:
                continue
            path = os.path.abspath(path)
            if path.endswith(".toml"):
                session.workspace.forget()
                session.renew()
                return
            paths.add(path)
            if change.type is not types.FileChangeType.Changed:
                paths.add(os.path.dirname(path))
        session.analyst.forget()
        session.look_again(session.desk.resting_on(paths))


def _install_requests(server: LanguageServer, session: Session) -> None:
    @server.feature(types.TEXT_DOCUMENT_DIAGNOSTIC, _PULL)
    async def pulled(params: types.DocumentDiagnosticParams) -> types.DocumentDiagnosticReport:
        uri = params.text_document.uri
        if session.documents.home(uri) != uri:
            # What is found in the cells of a notebook is sent unasked, to all clients alike.
            return types.RelatedFullDocumentDiagnosticReport([])
        while True:
            try:
                analysis = await session.desk.analysis(uri)
                break
            except Superseded:
                continue
            except Unknown:
                return types.RelatedFullDocumentDiagnosticReport([])
        session.noted(analysis)
        known_by = f"{id(session):x}.{analysis.snapshot.stamp}.{analysis.number}"
        if params.previous_result_id == known_by:
            return types.RelatedUnchangedDocumentDiagnosticReport(known_by)
        items = [item for _, found in diagnostics_of(analysis, session.client) for item in found]
        return types.RelatedFullDocumentDiagnosticReport(items, result_id=known_by)

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def hovered(params: types.HoverParams) -> types.Hover | None:
        analysis = await _current(session, params.text_document.uri)
        if analysis is None:
            return None
        part = session.documents.part(params.text_document.uri)
        return hover(analysis, part, params.position, session.client)

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(code_action_kinds=list(KINDS), resolve_provider=True),
    )
    async def code_actions(params: types.CodeActionParams) -> list[types.CodeAction] | None:
        uri = params.text_document.uri
        analysis = await _current(session, uri)
        if analysis is None:
            return None
        part = session.documents.part(uri)

        def work(fixes: Fixes, pause: Pause) -> list[types.CodeAction]:
            lazily = session.resolves_edits
            actions = Actions(fixes, session.analyst, session.client, pause, lazily=lazily)
            return actions.at(part, params.range, params.context)

        fixes = await _fixes(session, analysis)
        try:
            if fixes is None:
                return None
            return await session.desk.about(analysis.snapshot, work, fixes)
        except Superseded:
            raise _changed() from None

    @server.feature(types.CODE_ACTION_RESOLVE)
    async def resolve(action: types.CodeAction) -> types.CodeAction:
        asked = chosen(action.data)
        if asked is None:
            raise JsonRpcInvalidParams("not an action of mpslint's")
        uri, stamp, code, unsafe = asked
        if session.documents.stamp(uri) != stamp:
            raise JsonRpcContentModified("the text has changed since")
        analysis = await _current(session, uri)
        fixes = await _fixes(session, analysis) if analysis is not None else None
        if analysis is None or fixes is None:
            return action

        def work(fixes: Fixes, pause: Pause) -> types.WorkspaceEdit | None:
            actions = Actions(fixes, session.analyst, session.client, pause, lazily=True)
            return actions.whole_edit(code, unsafe)

        try:
            action.edit = await session.desk.about(analysis.snapshot, work, fixes)
        except Superseded:
            raise _changed() from None
        return action


async def _current(session: Session, uri: str) -> Analysis | None:
    """What is known of the document, or of the notebook that a cell is of."""
    try:
        return await session.desk.analysis(session.documents.home(uri))
    except Unknown:
        return None
    except Superseded:
        raise _changed() from None


async def _fixes(session: Session, analysis: Analysis) -> Fixes | None:
    try:
        return await session.desk.about(analysis.snapshot, session.analyst.fixes, analysis)
    except BadSettings as error:
        session.complain(str(error))
        return None
    except Superseded:
        raise _changed() from None


def _changed() -> JsonRpcContentModified:
    return JsonRpcContentModified("the text has changed meanwhile")
