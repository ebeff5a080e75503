"""Which settings hold for an open file, and what happens when they or its neighbours change."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from conftest import CUDA_ONLY
from lsprotocol import types

from mpslint.errors import BadSettings
from mpslint.server.workspace import Workspace, options_from
from server.client import Editor, capabilities, in_editor, uri_of

FROM_NEIGHBOUR = "from device import require\nimport torch\n\nrequire()\ntorch.cuda.synchronize()\n"
REQUIRES = "import torch\n\n\ndef require():\n    torch.distributed.init_process_group('nccl')\n"
REQUIRES_NOTHING = "import torch\n\n\ndef require():\n    pass\n"


def tells_settings() -> types.ClientCapabilities:
    client = capabilities()
    assert client.workspace is not None
    client.workspace.configuration = True
    return client


def codes(diagnostics: list[types.Diagnostic]) -> list[str]:
    return [str(one.code) for one in diagnostics]


def changed(path: Path, kind: types.FileChangeType = types.FileChangeType.Changed) -> Any:
    return types.DidChangeWatchedFilesParams([types.FileEvent(uri_of(path), kind)])


def test_each_folder_has_its_own_settings_file(project: Path) -> None:
    one, two = project / "one", project / "two"
    for folder in (one, two):
        folder.mkdir()
    (two / "pyproject.toml").write_text("[tool.mpslint]\nignore = ['MPS201']\n")

    async def scenario(editor: Editor) -> list[list[str]]:
        uris = [uri_of(folder / "train.py") for folder in (one, two)]
        for uri in uris:
            editor.open(uri, CUDA_ONLY)
        return [codes(await editor.diagnostics(uri)) for uri in uris]

    assert in_editor(scenario, [one, two]) == [["MPS201"], []]


def test_the_editor_may_say_other_settings_for_each_folder(project: Path) -> None:
    one, two = project / "one", project / "two"
    for folder in (one, two):
        folder.mkdir()
    (one / "mpslint.toml").write_text("ignore = []\n")
    settings = {
        None: None,
        uri_of(one): {"ignore": ["MPS201"]},
        uri_of(two): {"extendSelect": ["MPS603"], "minTorch": "2.6", "severity": None},
    }

    async def scenario(editor: Editor) -> list[list[str]]:
        uris = [uri_of(folder / "train.py") for folder in (one, two)]
        text = CUDA_ONLY + "import time\n\nstart = time.time()\ny = f()\nt = time.time() - start\n"
        for uri in uris:
            editor.open(uri, text)
        await editor.until(lambda: all(uri in editor.told for uri in uris))
        await editor.until(lambda: not has(editor, uris[0], "MPS201"))
        await editor.until(lambda: has(editor, uris[1], "MPS603"))
        return [codes(list(editor.told[uri].diagnostics)) for uri in uris]

    def has(editor: Editor, uri: str, code: str) -> bool:
        return code in codes(list(editor.told[uri].diagnostics))

    first, second = in_editor(scenario, [one, two], tells_settings(), settings=settings)
    assert first == []
    assert set(second) >= {"MPS201", "MPS603"}


@pytest.mark.parametrize(
    "options",
    [
        {"ignore": ["MPS201"]},
        {"mpslint": {"ignore": ["cuda-synchronize"]}},
        {"settings": {"select": ["MPS1"]}},
        {"enable": False},
    ],
)
def test_what_the_editor_says_when_it_starts_holds(project: Path, options: Any) -> None:
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> list[str]:
        editor.open(uri, CUDA_ONLY)
        return codes(await editor.diagnostics(uri))

    assert in_editor(scenario, [project], options=options) == []


@pytest.mark.parametrize("empty", [None, {}, [], {"mpslint": []}, {"settings": []}])
def test_settings_without_a_word_are_no_settings_however_an_editor_writes_an_empty_table(
    project: Path, empty: Any
) -> None:
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> tuple[list[str], list[str]]:
        editor.open(uri, CUDA_ONLY)
        return codes(await editor.diagnostics(uri)), editor.messages

    settings = {None: empty, uri_of(project): empty}
    found = in_editor(scenario, [project], tells_settings(), options=empty, settings=settings)
    assert found == (["MPS201"], [])


@pytest.mark.parametrize("empty", [{}, []])
def test_pushed_settings_without_a_word_take_back_what_was_pushed_before(
    project: Path, empty: Any
) -> None:
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> list[str]:
        editor.open(uri, CUDA_ONLY)
        await editor.diagnostics(uri)
        for told in ({"ignore": ["MPS201"]}, empty):
            editor.workspace_did_change_configuration(
                types.DidChangeConfigurationParams({"mpslint": told})
            )
            off = bool(told)
            await editor.until(lambda off=off: bool(editor.told[uri].diagnostics) != off)
        return editor.messages

    assert in_editor(scenario, [project]) == []


def test_the_editor_may_name_a_settings_file_for_every_file(project: Path) -> None:
    (project / "strict.toml").write_text("ignore = ['MPS201']\n")
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> list[str]:
        editor.open(uri, CUDA_ONLY)
        return codes(await editor.diagnostics(uri))

    assert in_editor(scenario, [project], options={"configuration": "strict.toml"}) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ingore": ["MPS201"]}, "unknown key 'ingore'; did you mean 'ignore'?"),
        ({"minTorch": 2.6}, "'min-torch' must be a torch version"),
        ({"enable": "no"}, "'enable' must be true or false"),
        ("all", "mpslint must be a table"),
        ({"configuration": "nowhere.toml"}, "nowhere.toml: no such settings file"),
        ({"select": ["MPS999"]}, "unknown rule 'MPS999'"),
    ],
)
def test_settings_that_are_not_understood_are_said_once_in_one_line(
    project: Path, options: Any, said: str
) -> None:
    one, two = uri_of(project / "one.py"), uri_of(project / "two.py")

    async def scenario(editor: Editor) -> list[str]:
        for uri in (one, two):
            editor.open(uri, CUDA_ONLY)
            await editor.diagnostics(uri)
        return editor.messages

    (message,) = in_editor(scenario, [project], options=options)
    assert message.startswith("mpslint: ")
    assert said in message
    assert "\n" not in message


def test_a_broken_settings_file_is_said_and_mended_without_a_restart(project: Path) -> None:
    settings = project / "pyproject.toml"
    settings.write_text("[tool.mpslint]\nsellect = ['MPS1']\n")
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> tuple[list[str], list[str], list[str]]:
        editor.open(uri, CUDA_ONLY)
        broken = codes(await editor.diagnostics(uri))
        settings.write_text("[tool.mpslint]\n")
        editor.workspace_did_change_watched_files(changed(settings))
        await editor.until(lambda: bool(editor.told[uri].diagnostics))
        return broken, codes(list(editor.told[uri].diagnostics)), editor.messages

    broken, mended, (message,) = in_editor(scenario, [project])
    assert (broken, mended) == ([], ["MPS201"])
    assert "unknown key 'sellect'" in message


def test_settings_pushed_by_the_editor_hold_from_then_on(project: Path) -> None:
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> None:
        editor.open(uri, CUDA_ONLY)
        assert codes(await editor.diagnostics(uri)) == ["MPS201"]
        for ignored in (["MPS201"], []):
            editor.workspace_did_change_configuration(
                types.DidChangeConfigurationParams({"mpslint": {"ignore": ignored}})
            )
            await editor.until(lambda off=bool(ignored): bool(editor.told[uri].diagnostics) != off)

    in_editor(scenario, [project])


def test_an_editor_that_watches_files_is_asked_to(project: Path) -> None:
    async def scenario(editor: Editor) -> list[str]:
        await editor.until(lambda: bool(editor.watched))
        return editor.watched

    watched = in_editor(scenario, [project], fresh=True)
    assert watched == [types.WORKSPACE_DID_CHANGE_WATCHED_FILES]


def test_a_change_of_a_neighbour_is_seen_when_the_editor_tells_of_it(project: Path) -> None:
    helper = project / "device.py"
    uri, other = uri_of(project / "train.py"), uri_of(project / "other.py")

    async def scenario(editor: Editor) -> list[list[str]]:
        editor.open(uri, FROM_NEIGHBOUR)
        editor.open(other, "import torch\n")
        seen = [codes(await editor.diagnostics(uri))]
        for text, kind in (
            (REQUIRES, types.FileChangeType.Created),
            (REQUIRES_NOTHING, types.FileChangeType.Changed),
        ):
            before = len(editor.versions[uri])
            helper.write_text(text)
            editor.workspace_did_change_watched_files(changed(helper, kind))
            await editor.until(lambda known=before: len(editor.versions[uri]) > known)
            seen.append(codes(list(editor.told[uri].diagnostics)))
        assert len(editor.versions[other]) == 1, "it does not rest on that file"
        return seen

    assert in_editor(scenario, [project]) == [["MPS201"], [], ["MPS201"]]


def test_without_any_word_of_it_the_next_keystroke_sees_a_neighbours_change(
    project: Path,
) -> None:
    helper = project / "device.py"
    helper.write_text(REQUIRES_NOTHING)
    uri = uri_of(project / "train.py")
    silent = types.ClientCapabilities()

    async def scenario(editor: Editor) -> list[list[str]]:
        editor.open(uri, FROM_NEIGHBOUR)
        seen = [codes(await editor.diagnostics(uri))]
        for version, text in enumerate((REQUIRES, REQUIRES_NOTHING, None), 2):
            if text is None:
                helper.unlink()
            else:
                helper.write_text(text)
            editor.change(uri, version, (0, 0, 0, 0, "#\n"))
            seen.append(codes(await editor.diagnostics(uri, version)))
        return seen

    before, required, again, gone = in_editor(scenario, [project], silent)
    assert before == again == gone == ["MPS201"]
    assert required == []


def test_saving_a_neighbour_in_the_editor_is_enough(project: Path) -> None:
    helper = project / "device.py"
    helper.write_text(REQUIRES_NOTHING)
    uri, saved = uri_of(project / "train.py"), uri_of(helper)

    async def scenario(editor: Editor) -> None:
        editor.open(uri, FROM_NEIGHBOUR)
        assert codes(await editor.diagnostics(uri)) == ["MPS201"]
        editor.open(saved, REQUIRES_NOTHING)
        editor.change(saved, 2, REQUIRES)
        await editor.diagnostics(saved, 2)
        assert codes(await editor.diagnostics(uri)) == ["MPS201"], "as `check` sees it: not saved"
        helper.write_text(REQUIRES)
        editor.text_document_did_save(
            types.DidSaveTextDocumentParams(types.TextDocumentIdentifier(saved))
        )
        await editor.until(lambda: codes(list(editor.told[uri].diagnostics)) != ["MPS201"])

    in_editor(scenario, [project], types.ClientCapabilities())


def test_an_editor_that_asks_for_diagnostics_is_told_to_ask_again(project: Path) -> None:
    client = capabilities(pull=True)
    assert client.workspace is not None
    client.workspace.diagnostics = types.DiagnosticWorkspaceClientCapabilities(True)
    helper = project / "device.py"
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> tuple[Any, Any]:
        editor.open(uri, FROM_NEIGHBOUR)
        first = await editor.pull(uri)
        helper.write_text(REQUIRES)
        editor.workspace_did_change_watched_files(changed(helper, types.FileChangeType.Created))
        await editor.until(lambda: editor.refreshed > 0)
        return first, await editor.pull(uri, first.result_id)

    first, second = in_editor(scenario, [project], client)
    assert codes(list(first.items)) == ["MPS201"]
    assert second.kind == "full"
    assert codes(list(second.items)) != ["MPS201"]


def test_a_settings_file_that_changes_unannounced_holds_from_the_next_keystroke(
    project: Path,
) -> None:
    uri = uri_of(project / "pkg" / "train.py")

    async def scenario(editor: Editor) -> list[list[str]]:
        editor.open(uri, CUDA_ONLY)
        seen = [codes(await editor.diagnostics(uri))]
        for version, text in enumerate(("ignore = ['MPS201']\n", "ignore = []\n"), 2):
            (project / "mpslint.toml").write_text(text)
            editor.change(uri, version, (0, 0, 0, 0, "#\n"))
            seen.append(codes(await editor.diagnostics(uri, version)))
        return seen

    seen = in_editor(scenario, [project], types.ClientCapabilities())
    assert seen == [["MPS201"], [], ["MPS201"]]


def test_a_folder_that_joins_later_brings_its_settings(project: Path) -> None:
    late = project / "late"
    late.mkdir()
    uri = uri_of(late / "train.py")

    async def scenario(editor: Editor) -> None:
        editor.settings[uri_of(late)] = {"ignore": ["MPS201"]}
        editor.open(uri, CUDA_ONLY)
        assert codes(await editor.diagnostics(uri)) == ["MPS201"]
        joined = [types.WorkspaceFolder(uri_of(late), "late")]
        event = types.WorkspaceFoldersChangeEvent(joined, [])
        editor.workspace_did_change_workspace_folders(types.DidChangeWorkspaceFoldersParams(event))
        await editor.until(lambda: not editor.told[uri].diagnostics)

    other = project / "other"
    other.mkdir()
    in_editor(scenario, [other], tells_settings())


def test_without_any_word_of_it_the_next_keystroke_sees_a_change_of_what_is_extended(
    project: Path,
) -> None:
    (project / "mpslint.toml").write_text('extend = "shared.toml"\n')
    shared = project / "shared.toml"
    shared.write_text("")
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> list[list[str]]:
        editor.open(uri, CUDA_ONLY)
        seen = [codes(await editor.diagnostics(uri))]
        for version, text in enumerate(('ignore = ["MPS201"]\n', ""), 2):
            shared.write_text(text)
            editor.change(uri, version, (0, 0, 0, 0, "#\n"))
            seen.append(codes(await editor.diagnostics(uri, version)))
        return seen

    seen = in_editor(scenario, [project], types.ClientCapabilities())
    assert seen == [["MPS201"], [], ["MPS201"]]


def test_folders_that_extend_other_files_are_read_once(project: Path) -> None:
    for name in ("one", "two"):
        (project / name).mkdir()
        (project / name / "mpslint.toml").write_text('extend = "shared.toml"\n')
        (project / name / "shared.toml").write_text("")
        for file in ("mpslint.toml", "shared.toml"):
            os.utime(project / name / file, (1, 1))
    workspace = Workspace()
    paths = [str(project / name / "train.py") for name in ("one", "two")]
    first = [workspace.settings(path) for path in paths]
    again = [workspace.settings(path) for path in paths * 2]
    assert all(one is other for one, other in zip(again, first * 2, strict=True))


def test_an_editor_cannot_say_what_its_settings_extend(project: Path) -> None:
    with pytest.raises(BadSettings, match="editor settings: 'extend' belongs into a settings file"):
        options_from({"extend": "shared.toml"}, str(project))
