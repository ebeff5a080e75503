"""One editor's session: what is open, what the editor can do and wants, and what it is told."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.uris import to_fs_path

from mpslint.errors import BadSettings
from mpslint.server.analysis import Analyst
from mpslint.server.desk import Desk
from mpslint.server.diagnostics import diagnostics_of
from mpslint.server.documents import Documents
from mpslint.server.workspace import (
    SECTION,
    Options,
    Workspace,
    is_table,
    options_from,
    says_something,
)

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

    from mpslint.server.analysis import Analysis

_WATCHED = ("**/*.py", "**/*.toml")
"""Any settings file may be named by another one, or by the editor."""


class Session:
    """What the handlers of the protocol share."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self.client = types.ClientCapabilities()
        self.documents = Documents()
        self.workspace = Workspace()
        self.analyst = Analyst(self.workspace)
        self.desk = Desk(self.documents, self.analyst, self.publish)
        self.orderly = False
        """Whether the editor has said goodbye."""
        self._said: Any = None
        """What the editor sent when it started, for as long as it says nothing else."""
        self._complaints: set[str] = set()

    # what the client can do

    @property
    def pulls(self) -> bool:
        """Whether the client asks for diagnostics, and is not to be sent any unasked."""
        return get_capability(self.client, "text_document.diagnostic", None) is not None

    @property
    def resolves_edits(self) -> bool:
        """Whether the client fetches the edit of an action when the user has chosen it."""
        how = get_capability(self.client, "text_document.code_action.resolve_support", None)
        data = get_capability(self.client, "text_document.code_action.data_support", False)
        return bool(data) and how is not None and "edit" in how.properties

    # beginning and settings

    def begin(self, params: types.InitializeParams) -> None:
        self.client = params.capabilities
        self.documents.encoding = (
            self._server.workspace.position_encoding or types.PositionEncodingKind.Utf16
        )
        self._said = params.initialization_options
        self._take_options([self._said] * (1 + len(self._folders())))

    async def began(self) -> None:
        """Ask for what only an editor that is ready answers, then import the rules."""
        await self._register()
        await self.configure()
        await self.desk.meanwhile(Analyst.warm_up())
        # What is imported stays: the collector need not walk it again and again.
        gc.freeze()

    async def configure(self, pushed: Any = None) -> None:
        """Take the editor's settings: what it answers, else what it pushed, else what it said in
        the beginning."""
        folders = self._folders()
        said = [pushed if _about_us(pushed) else self._said] * (1 + len(folders))
        if get_capability(self.client, "workspace.configuration", False):
            items = [types.ConfigurationItem(section=SECTION)]
            items += [types.ConfigurationItem(uri, SECTION) for uri in folders]
            request = types.ConfigurationParams(items)
            try:
                answers = await self._server.workspace_configuration_async(request)
            except Exception as error:
                self.log(f"the editor does not tell its settings: {error}")
            else:
                said = [told if says_something(told) else self._said for told in answers]
        if self._take_options(said):
            self.renew()

    def _take_options(self, said: list[Any]) -> bool:
        """Whether they are others than before."""
        folders = self._folders()
        self.documents.folder = next(iter(folders.values()), os.getcwd())
        try:
            default, *others = (
                options_from(told, folder)
                for told, folder in zip(
                    said, [self.documents.folder, *folders.values()], strict=False
                )
            )
        except BadSettings as error:
            self.complain(str(error))
            default, others = Options(), [Options() for _ in folders]
        return self.workspace.use(default, dict(zip(folders.values(), others, strict=False)))

    def _folders(self) -> dict[str, str]:
        """Address and path of each open folder."""
        workspace = self._server.workspace
        found = {folder.uri: to_fs_path(folder.uri) for folder in workspace.folders.values()}
        if not found and workspace.root_uri is not None:
            found[workspace.root_uri] = workspace.root_path
        return {uri: os.path.abspath(path) for uri, path in found.items() if path}

    async def _register(self) -> None:
        wanted = []
        if get_capability(
            self.client, "workspace.did_change_watched_files.dynamic_registration", False
        ):
            watchers = [types.FileSystemWatcher(glob) for glob in _WATCHED]
            options = types.DidChangeWatchedFilesRegistrationOptions(watchers)
            method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
            wanted.append(types.Registration("mpslint-files", method, options))
        if get_capability(
            self.client, "workspace.did_change_configuration.dynamic_registration", False
        ):
            section = types.DidChangeConfigurationRegistrationOptions(SECTION)
            method = types.WORKSPACE_DID_CHANGE_CONFIGURATION
            wanted.append(types.Registration("mpslint-settings", method, section))
        if wanted:
            try:
                await self._server.client_register_capability_async(
                    types.RegistrationParams(wanted)
                )
            except Exception as error:
                self.log(f"the editor does not watch files: {error}")

    # what changes

    def changed(self, uri: str) -> None:
        """A text has changed: tell what is found, unless the client asks by itself."""
        if self.pulls and not self.documents.is_notebook(uri):
            return
        self.desk.touched(uri)

    def renew(self) -> None:
        """Something that concerns everything has changed: look at all that is open again."""
        self._complaints.clear()
        self.analyst.forget()
        self.documents.renew()
        self.look_again(self.documents.all())

    def look_again(self, uris: list[str]) -> None:
        """Something beside these texts has changed on disk."""
        if self.pulls and get_capability(
            self.client, "workspace.diagnostics.refresh_support", False
        ):
            self._server.workspace_diagnostic_refresh(None)
        self.desk.later(uri for uri in uris if not self.pulls or self.documents.is_notebook(uri))

    # what the editor is told

    def publish(self, analysis: Analysis) -> None:
        self.noted(analysis)
        for part, items in diagnostics_of(analysis, self.client):
            self._server.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(part.uri, items, part.version)
            )

    def clear(self, uri: str) -> None:
        """Take back what was told of a text that is closed."""
        self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def noted(self, analysis: Analysis) -> None:
        """Say what is wrong with the settings, once."""
        if analysis.refused is not None:
            self.complain(analysis.refused)

    def complain(self, message: str) -> None:
        if message not in self._complaints:
            self._complaints.add(message)
            text = f"mpslint: {message}"
            shown = types.ShowMessageParams(types.MessageType.Error, text)
            self._server.window_show_message(shown)

    def log(self, message: str) -> None:
        logged = types.LogMessageParams(types.MessageType.Warning, message)
        self._server.window_log_message(logged)


def _about_us(pushed: Any) -> bool:
    """Whether settings that an editor pushed, perhaps all of them, are ours."""
    return isinstance(pushed, dict) and is_table(pushed.get(SECTION))
