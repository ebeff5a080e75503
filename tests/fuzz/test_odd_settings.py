"""Whatever a settings file holds, it is read or refused in one line that names it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpslint.errors import BadSettings
from mpslint.settings.file import SettingsFinder
from mpslint.settings.table import KEYS

from .budget import tries
from .mutations import mutated

GOOD = b"""\
# what a project would write
select = ["MPS1", "MPS201"]
extend-select = ["MPS303"]
exclude = ["build", "**/old/*.py"]
device-order = ["cuda", "mps", "cpu"]
device-name = "device"
style = "inline"
max-file-size = 1_000_000

[per-file-ignores]
"tests/*" = ["MPS101"]
"""
VALUES = st.recursive(
    st.one_of(
        st.booleans(),
        st.integers(),
        st.sampled_from(["10" * 4_000, "1e999", "nan", "1979-05-27T07:32:00Z", "'''", '"']),
        st.text(max_size=8).map(lambda text: f"'{text}'"),
        st.sampled_from(["'*' * 40", "'" + "*a" * 40 + "'", "'../../**'", "'/'", "''", "'~'"]),
    ),
    lambda inner: st.lists(inner.map(str), max_size=3).map(lambda some: f"[{', '.join(some)}]"),
    max_leaves=4,
).map(str)


def assert_read_or_refused(folder: Path, data: bytes) -> None:
    path = folder / "mpslint.toml"
    path.write_bytes(data)
    try:
        settings = SettingsFinder().for_folder(str(folder))
        settings.enabled(str(folder / "a.py"))
    except BadSettings as error:
        said = str(error)
        assert "mpslint.toml" in said
        assert len(said.splitlines()) == 1


@tries(100)
@given(mutated((GOOD,)))
def test_a_damaged_settings_file_is_read_or_refused_in_a_line(project: Path, data: bytes) -> None:
    assert_read_or_refused(project, data)


@tries(80)
@given(st.sampled_from(sorted(KEYS)), VALUES)
def test_any_value_of_a_key_is_taken_or_refused_in_a_line(
    project: Path, key: str, value: Any
) -> None:
    assert_read_or_refused(project, f"{key} = {value}\n".encode("utf-8", "surrogatepass"))


def test_the_settings_that_are_damaged_here_are_good(project: Path) -> None:
    (project / "mpslint.toml").write_bytes(GOOD)
    assert SettingsFinder().for_folder(str(project)).style == "inline"


def test_a_key_that_is_unknown_is_refused(project: Path) -> None:
    (project / "mpslint.toml").write_bytes(b"selekt = []\n")
    with pytest.raises(BadSettings, match=r"mpslint\.toml"):
        SettingsFinder().for_folder(str(project))
