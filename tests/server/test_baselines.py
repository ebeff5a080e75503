"""What a baseline knows the editor does not show, as `check` does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import CUDA_ONLY, Cli
from lsprotocol import types

from server.client import Editor, in_editor, uri_of
from server.model import Buffer
from server.test_actions import edits_of

NEW = f"{CUDA_ONLY}torch.cuda.empty_cache()\n"


@pytest.fixture
def known(project: Path, cli: Cli) -> Path:
    """A file of which the baseline knows the one finding."""
    path = project / "train.py"
    path.write_text(CUDA_ONLY)
    (project / "mpslint.toml").write_text('baseline = "known.json"\nextend-select = ["MPS202"]\n')
    assert cli("check", "--write-baseline").code == 0
    return path


async def all_safe(editor: Editor, uri: str) -> str:
    """The text after everything safe was fixed."""
    (action,) = await editor.actions(uri, 0, 0, ["source.fixAll.mpslint"])
    chosen = action if action.edit else await editor.code_action_resolve_async(action)
    return Buffer(NEW).applied(edits_of(chosen, uri))


def codes(told: list[types.Diagnostic]) -> list[str]:
    return [str(one.code) for one in told]


def test_what_the_baseline_knows_is_not_shown_however_often_it_is_asked(
    project: Path, known: Path
) -> None:
    async def scenario(editor: Editor) -> list[list[str]]:
        editor.open(uri_of(known), CUDA_ONLY)
        first = codes(await editor.diagnostics(uri_of(known)))
        editor.change(uri_of(known), 2, NEW)
        second = codes(await editor.diagnostics(uri_of(known), 2))
        editor.change(uri_of(known), 3, f"# more\n{NEW}")
        return [first, second, codes(await editor.diagnostics(uri_of(known), 3))]

    assert in_editor(scenario, [project]) == [[], ["MPS202"], ["MPS202"]]


def test_what_the_baseline_knows_is_neither_fixed_nor_silenced(project: Path, known: Path) -> None:
    async def scenario(editor: Editor) -> tuple[list[str], str]:
        editor.open(uri_of(known), NEW)
        await editor.diagnostics(uri_of(known))
        offered = [one.title for one in await editor.actions(uri_of(known), 2, 3, ["quickfix"])]
        return offered, await all_safe(editor, uri_of(known))

    offered, fixed = in_editor(scenario, [project])
    assert any("MPS202" in title for title in offered)
    assert not any("MPS201" in title for title in offered)
    assert "\ntorch.cuda.synchronize()\n" in fixed
    assert "\ntorch.cuda.empty_cache()\n" not in fixed


def test_a_baseline_that_is_none_is_said(project: Path, known: Path) -> None:
    (project / "known.json").write_text("{}")

    async def scenario(editor: Editor) -> list[str]:
        editor.open(uri_of(known), CUDA_ONLY)
        await editor.until(lambda: bool(editor.messages))
        return editor.messages

    (message,) = in_editor(scenario, [project])
    assert "known.json: is no baseline; name a file" in message
