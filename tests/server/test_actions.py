"""What can be done at a finding: fix it, its like, all that is safe; or silence it."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

import pytest
from conftest import CUDA_ONLY, FIXTURES, PORTABLE, Cli
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from server.client import Editor, capabilities, in_editor, uri_of
from server.model import Buffer

TWO = """\
import torch

torch.cuda.synchronize()
x = 1  # größer 😀
torch.cuda.synchronize()
torch.cuda.empty_cache()
"""
FIX_ALL = "source.fixAll.mpslint"


def edits_of(action: types.CodeAction, uri: str) -> list[types.TextEdit]:
    """The edits of one text."""
    assert action.edit is not None
    if action.edit.changes is not None:
        return list(action.edit.changes[uri])
    return [
        edit
        for change in action.edit.document_changes or ()
        if isinstance(change, types.TextDocumentEdit) and change.text_document.uri == uri
        for edit in change.edits
        if isinstance(edit, types.TextEdit)
    ]


async def chosen(editor: Editor, uri: str, line: int, column: int, start: str) -> types.CodeAction:
    """The one action with that title, with its edit."""
    found = await editor.actions(uri, line, column)
    (action,) = [one for one in found if one.title.startswith(start)]
    return action if action.edit else await editor.code_action_resolve_async(action)


def after(
    project: Path,
    text: str,
    start: str,
    line: int = 2,
    client: types.ClientCapabilities | None = None,
) -> str:
    """The text after the action with that title, chosen at a line."""
    path = project / "train.py"
    path.write_text(text, encoding="utf-8")
    uri = uri_of(path)

    async def scenario(editor: Editor) -> str:
        editor.open(uri, text)
        await editor.diagnostics(uri)
        action = await chosen(editor, uri, line, 3, start)
        return Buffer(text).applied(edits_of(action, uri))

    return in_editor(scenario, [project], client)


def test_the_fix_of_a_finding_is_that_of_mpslint_fix(project: Path) -> None:
    assert after(project, CUDA_ONLY, "MPS201: ") == PORTABLE


def test_all_of_a_rule_leaves_the_other_rules_alone(project: Path, cli: Cli) -> None:
    got = after(project, TWO, "Fix all MPS201 in this file")
    cli("fix", "--no-verify", "--select", "MPS201", project / "train.py")
    assert got == (project / "train.py").read_text(encoding="utf-8")
    assert "torch.cuda.empty_cache()\n" in got


def test_all_that_is_safe_is_what_mpslint_fix_does(project: Path, cli: Cli) -> None:
    got = after(project, TWO, "Fix all that mpslint can fix safely")
    cli("fix", "--no-verify", project / "train.py")
    assert got == (project / "train.py").read_text(encoding="utf-8") != TWO


@pytest.mark.parametrize(
    ("text", "line", "silenced"),
    [
        (CUDA_ONLY, 2, "torch.cuda.synchronize()  # noqa: MPS201\n"),
        (
            CUDA_ONLY.replace("ize()", "ize()  # noqa: E501"),
            2,
            "torch.cuda.synchronize()  # noqa: E501, MPS201\n",
        ),
        (
            CUDA_ONLY.replace("ize()", "ize()  # why  "),
            2,
            "torch.cuda.synchronize()  # why  # noqa: MPS201\n",
        ),
    ],
)
def test_silence_joins_the_comment_that_is_there(
    project: Path, cli: Cli, text: str, line: int, silenced: str
) -> None:
    got = after(project, text, "Silence MPS201 ", line)
    assert got.splitlines(keepends=True)[line] == silenced
    (project / "train.py").write_text(got)
    assert cli("check", project / "train.py").code == 0


def test_a_fix_by_an_editor_without_versions_or_later_edits_is_the_same(project: Path) -> None:
    plain = types.ClientCapabilities()
    assert after(project, CUDA_ONLY, "MPS201: ", client=plain) == PORTABLE
    whole = after(project, TWO, "Fix all that mpslint", client=plain)
    assert whole == after(project, TWO, "Fix all that mpslint")


def test_an_editor_that_shows_what_cannot_be_done_is_told_why(project: Path) -> None:
    text = "import torch\n\nprint(torch.ones(2).cuda(input()))\n"
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> list[types.CodeAction]:
        editor.open(uri, text)
        await editor.diagnostics(uri)
        return await editor.actions(uri, 2, 22)

    shown = capabilities()
    assert shown.text_document is not None
    assert shown.text_document.code_action is not None
    shown.text_document.code_action.disabled_support = True
    (told,) = [one for one in in_editor(scenario, [project], client=shown) if one.disabled]
    assert told.title == "MPS102: no fix"
    assert told.disabled is not None
    assert "`input()`" in told.disabled.reason
    assert not [one for one in in_editor(scenario, [project]) if one.disabled]


def test_an_editor_gets_only_the_kinds_that_it_asks_for(project: Path) -> None:
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> dict[str, set[str]]:
        editor.open(uri, TWO)
        await editor.diagnostics(uri)
        asked = ("source", "source.fixAll", FIX_ALL, "quickfix", "refactor", "source.fixAll.other")
        return {
            kind: {str(one.kind) for one in await editor.actions(uri, 2, 3, [kind])}
            for kind in asked
        }

    kinds = in_editor(scenario, [project])
    assert kinds["source"] == kinds["source.fixAll"] == kinds[FIX_ALL] == {FIX_ALL}
    assert kinds["quickfix"] == {"quickfix"}
    assert kinds["refactor"] == kinds["source.fixAll.other"] == set()


def test_what_the_editor_shows_on_the_line_counts_wherever_the_cursor_is(project: Path) -> None:
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> tuple[list[str], list[str]]:
        editor.open(uri, CUDA_ONLY)
        told = await editor.diagnostics(uri)
        with_it = [one.title for one in await editor.actions(uri, 0, 0, ["quickfix"])]
        editor.told[uri].diagnostics = []
        without = [one.title for one in await editor.actions(uri, 0, 0, ["quickfix"])]
        assert told
        return with_it, without

    with_it, without = in_editor(scenario, [project])
    assert any(title.startswith("MPS201") for title in with_it)
    assert without == []


def test_actions_are_preferred_where_they_are_safe_and_marked_where_not(project: Path) -> None:
    folder = FIXTURES / "rules" / "unsynchronised-timing"
    source = min(folder.glob("*.unsafe.py"))
    text = source.with_name(source.name.replace(".unsafe", "")).read_text()
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> tuple[types.CodeAction, types.CodeAction]:
        editor.open(uri, text)
        (finding, *_) = await editor.diagnostics(uri)
        start = finding.range.start
        (unsafe, *_) = await editor.actions(uri, start.line, start.character, ["quickfix"])
        editor.change(uri, 2, CUDA_ONLY)
        await editor.diagnostics(uri, 2)
        (safe, *_) = await editor.actions(uri, 2, 3, ["quickfix"])
        return unsafe, safe

    unsafe, safe = in_editor(scenario, [project])
    assert unsafe.title.endswith("(unsafe)")
    assert not unsafe.is_preferred
    assert safe.is_preferred
    assert safe.diagnostics is not None
    assert [one.code for one in safe.diagnostics] == ["MPS201"]


def test_an_action_chosen_after_the_text_has_changed_is_refused(project: Path) -> None:
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> str:
        editor.open(uri, TWO)
        await editor.diagnostics(uri)
        (action,) = await editor.actions(uri, 2, 3, [FIX_ALL])
        editor.change(uri, 2, (0, 0, 0, 0, "\n"))
        with pytest.raises(JsonRpcException) as refused:
            await editor.code_action_resolve_async(action)
        return str(refused.value)

    assert "changed" in in_editor(scenario, [project])


def test_the_edit_names_the_version_that_it_is_for(project: Path) -> None:
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> types.CodeAction:
        editor.open(uri, "", 7)
        editor.change(uri, 9, CUDA_ONLY)
        await editor.diagnostics(uri, 9)
        return await chosen(editor, uri, 2, 3, "MPS201: ")

    edit = in_editor(scenario, [project]).edit
    assert edit is not None
    assert edit.document_changes is not None
    (change,) = edit.document_changes
    assert isinstance(change, types.TextDocumentEdit)
    assert change.text_document.version == 9


def test_a_fix_that_imports_the_projects_helper_makes_it_where_it_is_not_there(
    project: Path,
) -> None:
    (project / "mpslint.toml").write_text('style = "helper"\nhelper-module = "device.py"\n')
    text = "import torch\n\nx = torch.ones(3).cuda()\n"
    uri = uri_of(project / "train.py")
    (project / "train.py").write_text(text)

    async def scenario(editor: Editor) -> types.CodeAction:
        editor.open(uri, text)
        (finding,) = await editor.diagnostics(uri)
        start = finding.range.start
        return await chosen(editor, uri, start.line, start.character, "MPS102: ")

    action = in_editor(scenario, [project])
    assert "from device import get_device" in Buffer(text).applied(edits_of(action, uri))
    assert action.edit is not None
    made = action.edit.document_changes
    assert made is not None
    assert isinstance(made[0], types.CreateFile)
    assert made[0].uri == uri_of(project / "device.py")
    assert "def get_device" in edits_of(action, made[0].uri)[0].new_text
    assert not (project / "device.py").exists(), "the editor makes it, not the server"

    cannot = capabilities()
    assert cannot.workspace is not None
    cannot.workspace.workspace_edit = None

    async def without(editor: Editor) -> list[str]:
        editor.open(uri, text)
        (finding,) = await editor.diagnostics(uri)
        start = finding.range.start
        return [one.title for one in await editor.actions(uri, start.line, start.character)]

    assert not [title for title in in_editor(without, [project], cannot) if "Silence" not in title]


def test_where_the_project_holds_mps_back_nothing_is_offered_as_safe(project: Path) -> None:
    shutil.copytree(FIXTURES / "engine" / "held_back" / "policy", project, dirs_exist_ok=True)
    path = project / "train.py"
    uri, text = uri_of(path), path.read_text()

    async def scenario(editor: Editor) -> list[types.CodeAction]:
        editor.open(uri, text)
        start = (await editor.diagnostics(uri))[0].range.start
        return await editor.actions(uri, start.line, start.character)

    fixes = [one for one in in_editor(scenario, [project]) if "Silence" not in one.title]
    assert fixes
    assert all(one.title.endswith("(unsafe)") for one in fixes)
    assert not any(one.is_preferred or one.kind == FIX_ALL for one in fixes)


def test_actions_of_two_places_asked_at_once_are_both_answered(project: Path) -> None:
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> list[int]:
        editor.open(uri, TWO)
        await editor.diagnostics(uri)
        both = await asyncio.gather(editor.actions(uri, 2, 3), editor.actions(uri, 5, 3))
        return [len(one) for one in both]

    one, two = in_editor(scenario, [project])
    assert one > 1
    assert two > 1


def test_all_comments_that_silence_nothing_go_at_once(project: Path) -> None:
    text = (
        "import torch\n\nx = 1  # noqa: MPS201\ny = 2  # noqa: MPS101\ntorch.cuda.synchronize()\n"
    )
    got = after(project, text, "Fix all MPS900", 2)
    assert got == "import torch\n\nx = 1\ny = 2\ntorch.cuda.synchronize()\n"


def test_a_comment_that_silences_nothing_is_not_silenced_by_another(project: Path) -> None:
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> list[str]:
        editor.open(uri, "import torch\nx = 1  # noqa: MPS201\n")
        await editor.diagnostics(uri)
        return [one.title for one in await editor.actions(uri, 1, 8, ["quickfix"])]

    titles = in_editor(scenario, [project])
    assert any(title.startswith("MPS900: ") for title in titles)
    assert not any(title.startswith("Silence") for title in titles)


NO_KERNEL = """\
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
loss = torch.nn.CTCLoss()
x = torch.ones(4, 1, 2).to(device)
print(loss(x, torch.ones(1, 1).to(device), (4,), (1,)))
"""
WIDE = """\
import numpy as np
import torch

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
x = torch.from_numpy(np.array([1.0, 2.0])).to(device)
"""

HALF_WAY = """\
import torch

net = torch.nn.Linear(1, 2).cuda()
print(net(torch.ones(1, 1).cuda()))
print(torch.cuda.current_device())
"""


def offered_everywhere(project: Path, text: str) -> list[types.CodeAction]:
    """All fixes that are offered at the findings of a text."""
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> list[types.CodeAction]:
        editor.open(uri, text)
        found = []
        for one in await editor.diagnostics(uri):
            start = one.range.start
            found += await editor.actions(uri, start.line, start.character, ["quickfix"])
        return [one for one in found if one.title.startswith("MPS")]

    return in_editor(scenario, [project])


def test_a_fix_that_is_known_to_end_its_program_is_not_offered(project: Path, cli: Cli) -> None:
    (project / "train.py").write_text(NO_KERNEL)
    cli("fix", "--no-verify", "--unsafe-fixes", project / "train.py")
    assert (project / "train.py").read_text() == NO_KERNEL
    assert offered_everywhere(project, NO_KERNEL) == []


def test_what_would_stop_half_way_in_its_file_is_offered_as_unsafe(project: Path, cli: Cli) -> None:
    (project / "train.py").write_text(HALF_WAY)
    cli("fix", "--no-verify", project / "train.py")
    assert (project / "train.py").read_text() == HALF_WAY
    offered = offered_everywhere(project, HALF_WAY)
    assert offered
    assert all("torch.cuda.current_device()" in one.title for one in offered)
    assert all(one.title.endswith("(unsafe)") and not one.is_preferred for one in offered)


def test_nothing_is_fixed_at_once_that_would_stop_half_way(project: Path) -> None:
    uri = uri_of(project / "train.py")

    async def scenario(editor: Editor) -> list[str]:
        editor.open(uri, HALF_WAY)
        await editor.diagnostics(uri)
        return [one.title for one in await editor.actions(uri, 2, 27)]

    titles = in_editor(scenario, [project])
    assert [title for title in titles if title.startswith("Fix all")] == [
        "Fix all MPS102 in this file (unsafe)"
    ]


def test_a_fix_that_is_safe_only_beside_another_is_not_offered_as_safe_alone(
    project: Path, cli: Cli
) -> None:
    (project / "train.py").write_text(WIDE)
    cli("fix", "--no-verify", project / "train.py")
    fixed = (project / "train.py").read_text()
    assert '"mps"' in fixed
    offered = offered_everywhere(project, WIDE)
    (selection,) = [one for one in offered if one.title.startswith("MPS103")]
    assert selection.title.endswith("(unsafe)")
    assert after(project, WIDE, "Fix all that mpslint", 3) == fixed
