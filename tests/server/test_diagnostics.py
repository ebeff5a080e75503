"""What the editor shows: exactly what `check` says of the saved file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import CUDA_ONLY, FIXTURES, Cli
from lsprotocol import types

from server.client import Editor, capabilities, in_editor, uri_of
from server.model import Buffer, checked

EVERY_RULE = sorted((FIXTURES / "rules").glob("*/*.py"))


def test_every_fixture_shows_the_findings_of_check(project: Path) -> None:
    async def scenario(editor: Editor) -> None:
        for source in EVERY_RULE:
            text = source.read_bytes().decode("utf-8", "replace").removeprefix("\ufeff")
            path = project / f"{source.parent.name}_{source.name}"
            path.write_text(text, encoding="utf-8", newline="")
            uri = uri_of(path)
            editor.open(uri, text)
            told = Buffer(text).rows(await editor.diagnostics(uri))
            assert told == checked(path, text), source
            identifier = types.TextDocumentIdentifier(uri)
            editor.text_document_did_close(types.DidCloseTextDocumentParams(identifier))
            path.unlink()  # Else each one more would be looked for in all that were before it.

    assert len(EVERY_RULE) > 200
    in_editor(scenario, [project])


def test_the_command_line_says_the_same_of_the_saved_file(project: Path, cli: Cli) -> None:
    path = project / "train.py"
    path.write_text(CUDA_ONLY)

    async def scenario(editor: Editor) -> list[types.Diagnostic]:
        editor.open(uri_of(path), CUDA_ONLY)
        return await editor.diagnostics(uri_of(path))

    (told,) = in_editor(scenario, [project])
    (said,) = json.loads(cli("check", "--output-format", "json", path).out)
    assert (told.code, told.message) == (said["code"], said["message"])
    assert told.range.start.line + 1 == said["location"]["row"]
    assert told.range.end.character + 1 == said["end_location"]["column"]
    assert told.code_description is None  # the rule's page has no address yet


def test_the_code_leads_to_the_rules_page_where_it_is_published(
    project: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPSLINT_DOCS_URL", "https://docs.example.org/")
    path = project / "train.py"
    path.write_text(CUDA_ONLY)

    async def scenario(editor: Editor) -> list[types.Diagnostic]:
        editor.open(uri_of(path), CUDA_ONLY)
        return await editor.diagnostics(uri_of(path))

    (told,) = in_editor(scenario, [project], fresh=True)
    (said,) = json.loads(cli("check", "--output-format", "json", path).out)
    assert told.code_description is not None
    assert told.code_description.href == said["url"]
    assert said["url"].startswith("https://docs.example.org/rules/")


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("torch.cuda.synchronize()", types.DiagnosticSeverity.Error),
        ("x.to('cpu', non_blocking=True).numpy()", types.DiagnosticSeverity.Warning),
    ],
)
def test_what_breaks_is_an_error_and_what_is_ignored_a_warning(
    project: Path, line: str, shown: types.DiagnosticSeverity
) -> None:
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> list[types.Diagnostic]:
        editor.open(uri, f"import torch\n\n{line}\n")
        return await editor.diagnostics(uri)

    (told,) = in_editor(scenario, [project])
    assert told.severity == shown


def test_text_that_does_not_parse_has_one_error_where_python_stops(project: Path) -> None:
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> tuple[list[types.Diagnostic], list[types.Diagnostic]]:
        editor.open(uri, CUDA_ONLY + "def f(:\n")
        broken = await editor.diagnostics(uri)
        editor.change(uri, 2, CUDA_ONLY)
        return broken, await editor.diagnostics(uri, 2)

    (broken,), (mended,) = in_editor(scenario, [project])
    assert broken.message.startswith("syntax error")
    assert broken.range.start.line == 3
    assert mended.code == "MPS201"


def test_a_file_that_is_not_about_torch_shows_nothing_even_if_it_does_not_parse(
    project: Path,
) -> None:
    uri = uri_of(project / "notes.py")

    async def scenario(editor: Editor) -> list[types.Diagnostic]:
        editor.open(uri, "def f(:\n")
        return await editor.diagnostics(uri)

    assert in_editor(scenario, [project]) == []


def test_a_byte_order_mark_that_the_editor_left_in_moves_nothing(project: Path) -> None:
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> list[types.Diagnostic]:
        editor.open(uri, "\ufeffimport torch; torch.cuda.synchronize()\n")
        return await editor.diagnostics(uri)

    (told,) = in_editor(scenario, [project])
    assert (told.range.start.character, told.range.end.character) == (15, 37)


def test_related_places_are_told_to_an_editor_that_shows_them(project: Path) -> None:
    uri = uri_of(project / "train.py")
    loop = (
        "import torch\n\nmodel = torch.nn.Linear(4, 2).to(torch.device('cuda'))\n"
        "for x in loader:\n    loss = model(x.to('cuda')).sum()\n    loss.backward()\n"
        "    optimizer.step()\n    print(loss.item())\n"
    )

    async def scenario(editor: Editor) -> list[types.Diagnostic]:
        editor.open(uri, loop)
        return await editor.diagnostics(uri)

    related = [
        place for one in in_editor(scenario, [project]) for place in one.related_information or ()
    ]
    assert related
    assert {place.location.uri for place in related} == {uri}
    plain = capabilities()
    assert plain.text_document is not None
    plain.text_document.publish_diagnostics = None
    assert not any(one.related_information for one in in_editor(scenario, [project], plain))


def test_a_closed_file_shows_nothing_any_more(project: Path) -> None:
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> list[types.Diagnostic]:
        editor.open(uri, CUDA_ONLY)
        assert await editor.diagnostics(uri)
        identifier = types.TextDocumentIdentifier(uri)
        editor.text_document_did_close(types.DidCloseTextDocumentParams(identifier))
        return await editor.diagnostics(uri, None)

    assert in_editor(scenario, [project]) == []


def test_what_is_excluded_shows_nothing_and_a_file_opened_alone_is_meant(project: Path) -> None:
    inside = project / ".venv" / "lib" / "train.py"
    alone = project / "build" / "train.py"

    async def scenario(editor: Editor) -> list[types.Diagnostic]:
        for path in (inside, alone):
            editor.open(uri_of(path), CUDA_ONLY)
        return [one for path in (inside, alone) for one in await editor.diagnostics(uri_of(path))]

    assert in_editor(scenario, [project]) == []
    assert len(in_editor(scenario, [])) == 2


def test_a_file_above_the_size_limit_shows_nothing(project: Path) -> None:
    (project / "mpslint.toml").write_text("max-file-size = 20\n")
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> list[types.Diagnostic]:
        editor.open(uri, CUDA_ONLY)
        return await editor.diagnostics(uri)

    assert in_editor(scenario, [project]) == []


def test_a_file_that_was_never_saved_is_checked_as_well(project: Path) -> None:
    async def scenario(editor: Editor) -> list[types.Diagnostic]:
        editor.open("untitled:Untitled-1", CUDA_ONLY)
        return await editor.diagnostics("untitled:Untitled-1")

    assert [one.code for one in in_editor(scenario, [project])] == ["MPS201"]


def test_nothing_of_the_project_is_run_or_imported(project: Path) -> None:
    mark = project / "ran"
    does_harm = f"open({str(mark)!r}, 'w').close()\n"
    (project / "helpers.py").write_text(f"import torch\n{does_harm}device = torch.device('cuda')\n")
    for name in ("conftest.py", "sitecustomize.py", "torch.py"):
        (project / name).write_text(does_harm)
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> list[types.Diagnostic]:
        text = f"import torch\nfrom helpers import device\n{does_harm}x = torch.ones(3).cuda()\n"
        editor.open(uri, text)
        told = await editor.diagnostics(uri)
        assert await editor.actions(uri, 3, 10)
        return told

    assert in_editor(scenario, [project])
    assert not mark.exists()
