"""Changes of texts as the edits of the protocol."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.capabilities import get_capability
from pygls.uris import from_fs_path

from mpslint.server.positions import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mpslint.model import Edit
    from mpslint.server.documents import Part, Snapshot

Changes = dict[int | None, list[types.TextEdit]]
"""The edits of each cell; those of a file stand under None."""


def placed(part: Part, edits: Iterable[Edit]) -> list[types.TextEdit]:
    """Edits of a file's source as edits of what is open."""
    return [
        types.TextEdit(part.text.range(part.shift + edit.start, part.shift + edit.end), edit.text)
        for edit in edits
    ]


def differing(
    snapshot: Snapshot, before: Mapping[int | None, str], after: Mapping[int | None, str]
) -> Changes:
    """The lines that differ, in each cell that does."""
    return {
        cell: _lines_that_differ(snapshot.parts[cell], before[cell], text)
        for cell, text in after.items()
        if text != before[cell]
    }


def workspace_edit(
    snapshot: Snapshot,
    changes: Changes,
    client: types.ClientCapabilities,
    new_file: tuple[str, str] | None = None,
) -> types.WorkspaceEdit | None:
    """Changes of a snapshot, and a file to make; None where the client cannot make files."""
    if not get_capability(client, "workspace.workspace_edit.document_changes", False):
        if new_file is not None:
            return None
        named = {snapshot.parts[cell].uri: edits for cell, edits in changes.items()}
        return types.WorkspaceEdit(changes=named)
    made: list[types.CreateFile | types.TextDocumentEdit] = []
    if new_file is not None:
        kinds = get_capability(client, "workspace.workspace_edit.resource_operations", None) or ()
        uri = from_fs_path(new_file[0])
        if types.ResourceOperationKind.Create not in kinds or uri is None:
            return None
        start = types.Position(0, 0)
        content = types.TextEdit(types.Range(start, start), new_file[1])
        made.append(types.CreateFile(uri, options=types.CreateFileOptions(overwrite=False)))
        made.append(_document_edit(uri, None, [content]))
    for cell, edits in changes.items():
        part = snapshot.parts[cell]
        made.append(_document_edit(part.uri, part.version, edits))
    return types.WorkspaceEdit(document_changes=made)


def _document_edit(
    uri: str, version: int | None, edits: Sequence[types.TextEdit]
) -> types.TextDocumentEdit:
    return types.TextDocumentEdit(
        types.OptionalVersionedTextDocumentIdentifier(uri, version), list(edits)
    )


def _lines_that_differ(part: Part, before: str, after: str) -> list[types.TextEdit]:
    old, new = _lines(before, part), _lines(after, part)
    same = 0
    while same < min(len(old), len(new)) and old[same] == new[same]:
        same += 1
    tail = 0
    while tail < min(len(old), len(new)) - same and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle = old[same : len(old) - tail], new[same : len(new) - tail]
    offsets = [part.shift]
    for line in old:
        offsets.append(offsets[-1] + len(line))
    edits = []
    matcher = difflib.SequenceMatcher(None, *middle, autojunk=False)
    for kind, start, end, from_, to in matcher.get_opcodes():
        if kind != "equal":
            where = part.text.range(offsets[same + start], offsets[same + end])
            edits.append(types.TextEdit(where, "".join(middle[1][from_:to])))
    return edits


def _lines(content: str, part: Part) -> list[str]:
    starts = Text(content, part.text.encoding).starts
    return [content[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True)]
