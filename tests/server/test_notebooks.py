"""Notebooks: their cells are one program, and each shows what was found in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from conftest import CUDA_ONLY, FIXTURES, Cli
from lsprotocol import types

from server.client import Editor, capabilities, in_editor, span, uri_of
from server.model import Buffer


def cell_uri(path: Path, name: str) -> str:
    return f"vscode-notebook-cell:{path.as_posix()}#{name}"


def opened(path: Path, cells: dict[str, str]) -> types.DidOpenNotebookDocumentParams:
    documents = [
        types.NotebookCell(types.NotebookCellKind.Code, cell_uri(path, name)) for name in cells
    ]
    texts = [
        types.TextDocumentItem(cell_uri(path, name), "python", 1, text)
        for name, text in cells.items()
    ]
    notebook = types.NotebookDocument(uri_of(path), "jupyter-notebook", 1, documents)
    return types.DidOpenNotebookDocumentParams(notebook, texts)


def change(path: Path, cells: types.NotebookDocumentCellChanges) -> Any:
    return types.DidChangeNotebookDocumentParams(
        types.VersionedNotebookDocumentIdentifier(2, uri_of(path)),
        types.NotebookDocumentChangeEvent(cells=cells),
    )


def codes(editor: Editor, path: Path, name: str) -> list[tuple[int, str]]:
    told = editor.told[cell_uri(path, name)].diagnostics
    return [(one.range.start.line + 1, str(one.code or "error")) for one in told]


def test_the_server_asks_for_the_python_cells_of_jupyter_notebooks(project: Path) -> None:
    async def scenario(editor: Editor) -> types.NotebookDocumentSyncOptions:
        sync = editor.told_by_server.capabilities.notebook_document_sync
        assert isinstance(sync, types.NotebookDocumentSyncOptions)
        return sync

    (selector,) = in_editor(scenario, [project]).notebook_selector
    assert selector.notebook == "jupyter-notebook"
    assert [cell.language for cell in selector.cells or ()] == ["python"]


def test_findings_of_a_notebook_are_those_of_check_cell_by_cell(project: Path, cli: Cli) -> None:
    seen = 0
    for source in ("basic", "magics", "chosen_late", "tight"):
        path = project / f"{source}.ipynb"
        data = (FIXTURES / "notebooks" / path.name).read_bytes()
        path.write_bytes(data)
        cells = {
            str(number): "".join(cell["source"])
            for number, cell in enumerate(json.loads(data)["cells"], 1)
            if cell["cell_type"] == "code" and "vscode" not in cell.get("metadata", {})
        }

        async def scenario(
            editor: Editor, path: Path = path, cells: dict[str, str] = cells
        ) -> list[tuple[int, int, str]]:
            editor.open_notebook(opened(path, cells))
            await editor.until(lambda: all(cell_uri(path, name) in editor.told for name in cells))
            return [
                (int(name), *one)
                for name in cells
                for one in codes(editor, path, name)
                if one[1] != "error"  # of cells that do not parse `check` says so on stderr
            ]

        said = json.loads(cli("check", "--output-format", "json", path).out)
        wanted = [(one["cell"], one["location"]["row"], one["code"]) for one in said]
        assert sorted(in_editor(scenario, [project])) == sorted(wanted)
        seen += len(wanted)
    assert seen == 6


def test_what_one_cell_imports_holds_in_the_next_and_cells_come_and_go(project: Path) -> None:
    (project / "mpslint.toml").write_text('extend-select = ["MPS202"]\n')
    path = project / "train.ipynb"
    first, second, third = "import torch", "torch.cuda.synchronize()", "torch.cuda.empty_cache()"

    async def scenario(editor: Editor) -> list[Any]:
        editor.open_notebook(opened(path, {"a": first, "b": second}))
        await editor.until(lambda: cell_uri(path, "b") in editor.told)
        seen: list[Any] = [codes(editor, path, "b")]

        item = types.TextDocumentItem(cell_uri(path, "c"), "python", 1, third)
        cell = types.NotebookCell(types.NotebookCellKind.Code, item.uri)
        array = types.NotebookCellArrayChange(1, 0, [cell])
        structure = types.NotebookDocumentCellChangeStructure(array, did_open=[item])
        editor.notebook_document_did_change(
            change(path, types.NotebookDocumentCellChanges(structure=structure))
        )
        await editor.until(lambda: cell_uri(path, "c") in editor.told)
        seen.append((codes(editor, path, "b"), codes(editor, path, "c")))

        content = types.NotebookDocumentCellContentChanges(
            types.VersionedTextDocumentIdentifier(2, cell_uri(path, "b")),
            [types.TextDocumentContentChangePartial(span(0, 0, 0, 0), "# 😀\n")],
        )
        editor.notebook_document_did_change(
            change(path, types.NotebookDocumentCellChanges(text_content=[content]))
        )
        await editor.diagnostics(cell_uri(path, "b"), 2)
        seen.append(codes(editor, path, "b"))

        gone = types.TextDocumentIdentifier(cell_uri(path, "b"))
        array = types.NotebookCellArrayChange(2, 1)
        structure = types.NotebookDocumentCellChangeStructure(array, did_close=[gone])
        editor.notebook_document_did_change(
            change(path, types.NotebookDocumentCellChanges(structure=structure))
        )
        await editor.diagnostics(cell_uri(path, "b"), None)
        seen.append(codes(editor, path, "b"))

        editor.notebook_document_did_close(
            types.DidCloseNotebookDocumentParams(
                types.NotebookDocumentIdentifier(uri_of(path)),
                [types.TextDocumentIdentifier(cell_uri(path, name)) for name in "ac"],
            )
        )
        await editor.diagnostics(cell_uri(path, "c"), None)
        seen.append(codes(editor, path, "c"))
        return seen

    assert in_editor(scenario, [project]) == [
        [(1, "MPS201")],
        ([(1, "MPS201")], [(1, "MPS202")]),
        [(2, "MPS201")],
        [],
        [],
    ]


def test_a_cell_that_does_not_parse_says_so_and_leaves_the_others_alone(project: Path) -> None:
    path = project / "train.ipynb"

    async def scenario(editor: Editor) -> list[Any]:
        editor.open_notebook(opened(path, {"a": CUDA_ONLY, "b": "def f(:"}))
        await editor.until(lambda: cell_uri(path, "b") in editor.told)
        return [codes(editor, path, "a"), codes(editor, path, "b")]

    assert in_editor(scenario, [project]) == [[(3, "MPS201")], [(1, "error")]]


def test_fixes_and_silence_stay_in_their_cells(project: Path) -> None:
    (project / "mpslint.toml").write_text('extend-select = ["MPS202"]\n')
    path = project / "train.ipynb"
    cells = {
        "a": "%matplotlib inline\nimport torch",
        "b": "x = 1\ntorch.cuda.synchronize()",
        "c": "torch.cuda.empty_cache()",
    }

    async def scenario(editor: Editor) -> dict[str, dict[str, str]]:
        editor.open_notebook(opened(path, cells))
        await editor.until(lambda: all(cell_uri(path, name) in editor.told for name in cells))
        done = {}
        for action in await editor.actions(cell_uri(path, "b"), 1, 3):
            if action.edit is None:
                action = await editor.code_action_resolve_async(action)
            assert action.edit is not None
            texts = {}
            for edit in action.edit.document_changes or ():
                assert isinstance(edit, types.TextDocumentEdit)
                name = edit.text_document.uri.rpartition("#")[2]
                texts[name] = Buffer(cells[name]).applied(edit.edits)  # type: ignore[arg-type]
            done[action.title] = texts
        return done

    done = in_editor(scenario, [project])
    silenced = {"b": "x = 1\ntorch.cuda.synchronize()  # noqa: MPS201"}
    assert done["Silence MPS201 on this line with a noqa"] == silenced
    (fixed,) = [texts for title, texts in done.items() if title.startswith("MPS201: ")]
    assert set(fixed) == {"b"}
    assert fixed["b"].startswith("x = 1\nif torch.cuda.is_available():\n")
    assert fixed["b"].endswith("torch.mps.synchronize()")
    assert set(done["Fix all that mpslint can fix safely"]) == {"b", "c"}


def test_an_editor_that_asks_for_diagnostics_is_told_of_cells_once(project: Path) -> None:
    path = project / "train.ipynb"

    async def scenario(editor: Editor) -> tuple[Any, Any]:
        editor.open_notebook(opened(path, {"a": CUDA_ONLY}))
        await editor.until(lambda: cell_uri(path, "a") in editor.told)
        report = await editor.pull(cell_uri(path, "a"))
        return codes(editor, path, "a"), report.items

    told, pulled = in_editor(scenario, [project], capabilities(pull=True))
    assert told == [(3, "MPS201")]
    assert pulled == ()


def test_the_json_of_a_notebook_that_is_edited_as_text_is_no_python(project: Path) -> None:
    path = project / "basic.ipynb"
    text = (FIXTURES / "notebooks" / "basic.ipynb").read_text()

    async def scenario(editor: Editor) -> list[types.Diagnostic]:
        editor.open(uri_of(path), text)
        return await editor.diagnostics(uri_of(path))

    assert in_editor(scenario, [project]) == []
