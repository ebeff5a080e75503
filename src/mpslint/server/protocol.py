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


def _handed_on(method: str) -> Any:
    @lsp_method(method)
    def handle(self: Protocol, params: Any) -> _Handling:
        yield self.fm.features[method], (params,), None

    return handle


class Protocol(LanguageServerProtocol):
    """Hands what concerns documents to our own handlers, and to nobody else."""

    lsp_text_document__did_open = _handed_on(types.TEXT_DOCUMENT_DID_OPEN)
    lsp_text_document__did_change = _handed_on(types.TEXT_DOCUMENT_DID_CHANGE)
    lsp_text_document__did_close = _handed_on(types.TEXT_DOCUMENT_DID_CLOSE)
    lsp_notebook_document__did_open = _handed_on(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    lsp_notebook_document__did_change = _handed_on(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    lsp_notebook_document__did_close = _handed_on(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
