"""What the editor asks for: diagnostics on request, pages of rules, and to be left alone."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from conftest import CUDA_ONLY, PORTABLE
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from server.client import Editor, capabilities, in_editor, uri_of
from server.typing_session import real_sized


def hover_at(line: int, column: int, uri: str) -> types.HoverParams:
    return types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(line, column))


def test_an_editor_that_asks_for_diagnostics_is_sent_none_unasked(project: Path) -> None:
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> tuple[Any, Any, Any]:
        editor.open(uri, CUDA_ONLY)
        first = await editor.pull(uri)
        again = await editor.pull(uri, first.result_id)
        editor.change(uri, 2, PORTABLE)
        changed = await editor.pull(uri, first.result_id)
        assert not editor.told
        return first, again, changed

    first, again, changed = in_editor(scenario, [project], capabilities(pull=True))
    assert [one.code for one in first.items] == ["MPS201"]
    assert again.kind == "unchanged"
    assert changed.items == ()


def test_of_a_text_that_is_not_open_nothing_is_known(project: Path) -> None:
    uri = uri_of(project / "closed.py")

    async def scenario(editor: Editor) -> tuple[Any, Any, Any]:
        report = await editor.pull(uri)
        page = await editor.text_document_hover_async(hover_at(0, 0, uri))
        editor.change(uri, 2, CUDA_ONLY)
        await editor.until(lambda: bool(editor.messages))
        return report.items, page, editor.messages

    items, page, messages = in_editor(scenario, [project], capabilities(pull=True))
    assert (items, page) == ((), None)
    assert "was changed, but never opened" in messages[0]


def test_a_request_that_is_cancelled_is_answered_so_and_the_next_one_as_ever(
    project: Path,
) -> None:
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> tuple[str, Any]:
        editor.open(uri, real_sized(3000))
        params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
        asked = asyncio.wrap_future(
            editor.protocol.send_request(types.TEXT_DOCUMENT_DIAGNOSTIC, params, msg_id="one")
        )
        editor.cancel_request(types.CancelParams("one"))
        with pytest.raises(JsonRpcException) as refused:
            await asked
        return str(refused.value), await editor.pull(uri)

    refused, report = in_editor(scenario, [project], capabilities(pull=True))
    assert "cancel" in refused.lower()
    assert report.items


def test_a_burst_of_changes_is_answered_for_the_last_of_them(project: Path) -> None:
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> list[int | None]:
        editor.open(uri, real_sized(1500))
        await editor.diagnostics(uri)
        for version in range(2, 202):
            editor.change(uri, version, (0, 0, 0, 0, "#"))
        await editor.diagnostics(uri, 201)
        return editor.versions[uri]

    versions = in_editor(scenario, [project])
    assert versions[-1] == 201
    assert len(versions) < 100


def test_a_question_about_a_text_that_changes_meanwhile_is_refused_or_answered_for_it(
    project: Path,
) -> None:
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> str | None:
        editor.open(uri, real_sized(3000))
        asked = asyncio.ensure_future(editor.text_document_hover_async(hover_at(0, 0, uri)))
        await asyncio.sleep(0)
        editor.change(uri, 2, CUDA_ONLY)
        try:
            refused = None if await asked is None else "a page of neither text"
        except JsonRpcException as error:
            refused = str(error)
        assert await editor.text_document_hover_async(hover_at(2, 5, uri)) is not None
        return refused

    assert in_editor(scenario, [project]) in (None, "the text has changed meanwhile")


def test_the_page_of_the_rule_is_shown_at_the_finding_and_at_its_code_in_a_comment(
    project: Path,
) -> None:
    uri = uri_of(project / "train.py")
    text = (
        CUDA_ONLY
        + "torch.cuda.synchronize()  # noqa: MPS201\n"
        + "torch.cuda.synchronize()  # mpslint: ignore[cuda-synchronize]\n"
    )

    async def scenario(editor: Editor) -> list[types.Hover | None]:
        editor.open(uri, text)
        places = ((2, 5), (3, 35), (4, 45), (0, 0), (3, 28), (99, 0))
        return [await editor.text_document_hover_async(hover_at(*at, uri)) for at in places]

    *pages, nothing, word, beyond = in_editor(scenario, [project])
    for page in pages:
        assert page is not None
        assert isinstance(page.contents, types.MarkupContent)
        assert "cuda-synchronize" in page.contents.value.splitlines()[0]
        assert "## Why is this bad?" in page.contents.value
        assert page.contents.kind == types.MarkupKind.Markdown
    assert (nothing, word, beyond) == (None, None, None)


def test_an_editor_that_shows_plain_text_gets_plain_text(project: Path) -> None:
    uri = uri_of(project / "train.py")
    plain = capabilities()
    assert plain.text_document is not None
    plain.text_document.hover = types.HoverClientCapabilities(
        content_format=[types.MarkupKind.PlainText]
    )

    async def scenario(editor: Editor) -> types.Hover | None:
        editor.open(uri, CUDA_ONLY)
        return await editor.text_document_hover_async(hover_at(2, 5, uri))

    page = in_editor(scenario, [project], plain)
    assert page is not None
    assert isinstance(page.contents, types.MarkupContent)
    assert page.contents.kind == types.MarkupKind.PlainText
    assert page.contents.value.startswith("# MPS201 cuda-synchronize")
