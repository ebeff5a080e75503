"""The recipes for editors can be read by those editors, and say what the server knows."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from mpslint.cli import COMMANDS
from mpslint.server.actions import FIX_ALL
from mpslint.server.workspace import Options, options_from

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "editors.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    found = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found


def tables() -> list[dict[str, Any]]:
    """What the recipes in TOML say."""
    return [tomllib.loads(block) for block in blocks("toml")]


def vs_code() -> dict[str, Any]:
    (found,) = [one for one in map(json.loads, blocks("json")) if "editor.codeActionsOnSave" in one]
    return dict(found)


def test_every_recipe_in_json_or_toml_parses() -> None:
    assert all(isinstance(json.loads(block), dict) for block in blocks("json"))
    assert all(tables())


def test_every_recipe_starts_the_command_that_there_is() -> None:
    settings = vs_code()
    started = [[settings["glspc.server.command"], *settings["glspc.server.commandArguments"]]]
    for table in tables():
        for server in table.get("language-server", {}).values():
            started.append([server["command"], *server["args"]])
    for words in re.findall(r"cmd = \{(.*?)\}", PAGE):
        started.append(json.loads(f"[{words}]"))
    for words in re.findall(r"-mode \. \((\".*?\")\)\)", PAGE):
        started.append(json.loads(f"[{words.replace(' ', ', ')}]"))
    assert len(started) == 5
    assert all(command == ["mpslint", "server"] for command in started)
    assert "server" in COMMANDS


def test_the_action_on_save_is_one_that_the_server_announces() -> None:
    assert list(vs_code()["editor.codeActionsOnSave"]) == [FIX_ALL]


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(vs_code()["glspc.server.initializationOptions"], id="VS Code"),
        *(
            pytest.param(json.loads(shown), id="PyCharm")
            for shown in re.findall(r'`(\{ "mpslint": .*? \})`', PAGE)
        ),
        *(
            pytest.param({key: json.loads(value)}, id="Helix")
            for key, value in re.findall(r"such as `(\w+) = (\S+)`", PAGE)
        ),
    ],
)
def test_the_settings_that_a_recipe_shows_are_taken(told: dict[str, Any], tmp_path: Path) -> None:
    taken = options_from(told, str(tmp_path))
    assert taken != Options()


def test_a_setting_is_spelled_in_both_ways_that_the_page_names(tmp_path: Path) -> None:
    one, two = re.findall(r"spelled `([\w-]+)` or `(\w+)`", PAGE)[0]
    assert options_from({one: "2.6"}, str(tmp_path)) == options_from({two: "2.6"}, str(tmp_path))
    assert options_from({one: "2.6"}, str(tmp_path)).overrides
