"""pygls' protocol without its own copies of the documents.

Those split lines as `str.splitlines` does, so that a form feed or a Unicode separator in a text
moves every later edit to another line, and clip positions in the very messages that come after
them. What is open is kept in `documents` instead.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from lsprotocol import types
from pygls.protocol import LanguageServerProtocol, lsp_method

_Handling = Generator[Any, Any, None]


class Protocol(LanguageServerProtocol):
    """Hands what concerns documents to our own handlers, and to nobody else."""

    def _ours(self, method: str, params: Any) -> _Handling:
        yield self.fm.features[method], (params,), None

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: Any) -> _Handling:
        yield from self._ours(types.TEXT_DOCUMENT_DID_OPEN, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: Any) -> _Handling:
        yield from self._ours(types.TEXT_DOCUMENT_DID_CHANGE, params)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: Any) -> _Handling:
        yield from self._ours(types.TEXT_DOCUMENT_DID_CLOSE, params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def lsp_notebook_document__did_open(self, params: Any) -> _Handling:
        yield from self._ours(types.NOTEBOOK_DOCUMENT_DID_OPEN, params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def lsp_notebook_document__did_change(self, params: Any) -> _Handling:
        yield from self._ours(types.NOTEBOOK_DOCUMENT_DID_CHANGE, params)

    @lsp_method(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def lsp_notebook_document__did_close(self, params: Any) -> _Handling:
        yield from self._ours(types.NOTEBOOK_DOCUMENT_DID_CLOSE, params)
