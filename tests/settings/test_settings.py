"""Settings come from the nearest file, options go over it, and mistakes are named."""

from __future__ import annotations

import pickle
from pathlib import Path

import jsonschema
import pytest
from published import validate

from mpslint.errors import BadSettings
from mpslint.model import Confidence, Severity
from mpslint.settings.file import SettingsFinder, read
from mpslint.settings.settings import Settings
from mpslint.settings.table import EXTEND, KEYS, NOT_A_KEY, convert, schema


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_without_a_file_the_defaults_hold(project: Path) -> None:
    assert SettingsFinder().for_folder(str(project)) == Settings()


def test_the_nearest_file_holds_and_not_the_one_above_it(project: Path) -> None:
    write(project / "pyproject.toml", '[tool.mpslint]\ndevice-name = "outer"\n')
    write(project / "sub" / "pyproject.toml", '[tool.mpslint]\nstyle = "helper"\n')
    settings = SettingsFinder().for_folder(str(project / "sub" / "deep"))
    assert (settings.style, settings.device_name) == ("helper", "device")


def test_a_pyproject_about_other_tools_does_not_hide_the_one_above(project: Path) -> None:
    write(project / "pyproject.toml", '[tool.mpslint]\ndevice-name = "outer"\n')
    write(project / "sub" / "pyproject.toml", "[tool.black]\nline-length = 90\n# mpslint\n")
    assert SettingsFinder().for_folder(str(project / "sub")).device_name == "outer"


def test_mpslint_toml_goes_before_pyproject_in_one_folder(project: Path) -> None:
    write(project / "pyproject.toml", '[tool.mpslint]\ndevice-name = "one"\n')
    write(project / "mpslint.toml", 'device-name = "other"\n')
    assert SettingsFinder().for_folder(str(project)).device_name == "other"


def test_every_key_is_read(project: Path) -> None:
    path = write(
        project / "mpslint.toml",
        """
        select = ["ALL"]
        ignore = ["MPS201"]
        extend-select = ["MPS2"]
        exclude = ["old"]
        extend-exclude = ["vendored/*"]
        min-torch = "2.6"
        max-torch = "2.13"
        device-order = ["cuda", "mps", "cpu"]
        style = "accelerator"
        device-name = "dev"
        helper-module = "pkg/device.py"
        severity = "breaks"
        min-confidence = "certain"
        respect-gitignore = false
        force-exclude = true
        max-file-size = 1000
        fixable = ["MPS1", "MPS2"]
        unfixable = ["MPS201"]
        baseline = "known.json"
        extend-per-file-ignores = { "docs/*" = ["MPS1"] }
        [per-file-ignores]
        "tests/*" = ["MPS201"]
        """,
    )
    settings = read(str(path))
    assert settings == Settings(
        select=("ALL",),
        ignore=("MPS201",),
        extend_select=("MPS2",),
        per_file_ignores=(("tests/*", ("MPS201",)),),
        exclude=("old",),
        extend_exclude=("vendored/*",),
        min_torch=(2, 6),
        min_torch_is_set=True,
        max_torch=(2, 13),
        device_order=("cuda", "mps", "cpu"),
        device_order_is_set=True,
        style="accelerator",
        device_name="dev",
        helper_module="pkg/device.py",
        severity=Severity.BREAKS,
        min_confidence=Confidence.CERTAIN,
        respect_gitignore=False,
        force_exclude=True,
        max_file_size=1000,
        fixable=("MPS1", "MPS2"),
        unfixable=("MPS201",),
        baseline=str(project / "known.json"),
        extend_per_file_ignores=(("docs/*", ("MPS1",)),),
        root=str(project),
        origin=str(path),
    )


def test_every_setting_has_a_key_and_every_key_a_setting() -> None:
    keys = {key.replace("-", "_") for key in KEYS} - {EXTEND}
    assert keys == set(Settings._fields) - set(NOT_A_KEY)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("selct = ['MPS1']", "unknown key 'selct'; did you mean 'select'?"),
        ("min_torch = '2.6'", "unknown key 'min_torch'; did you mean 'min-torch'?"),
        ("zzz = 1", "unknown key 'zzz'; `mpslint config` lists the keys"),
        ("select = 'MPS1'", "'select' must be a list of strings, not 'MPS1'"),
        ("min-torch = 2.6", "'min-torch' must be a torch version such as \"2.5\", not 2.6"),
        ("min-torch = '2'", "'min-torch' must be a torch version"),
        ("device-order = ['mps', 'cuda']", 'must be a list of "mps" and "cuda" that ends with'),
        ("device-order = []", 'must be a list of "mps"'),
        ("style = 'fancy'", 'must be one of "inline", "helper", "accelerator", not \'fancy\''),
        ("device-name = 'my device'", "'device-name' must be a Python name"),
        ("device-name = 'class'", "'device-name' must be a Python name"),
        ("severity = 'bad'", 'must be one of "slow", "ignores", "breaks"'),
        ("respect-gitignore = 1", "must be true or false, not 1"),
        ("max-file-size = -1", "must be a number of bytes"),
        ("max-file-size = true", "must be a number of bytes"),
        ("per-file-ignores = ['x']", "must be a table of glob = [rules]"),
        ("per-file-ignores = {'x.py' = 'MPS1'}", "must be a table of glob = [rules]"),
        ("helper-module = 'pkg.device'", "must be the path of a Python module"),
        ("min-torch = '2.9'\nmax-torch = '2.6'", "max-torch is older than min-torch"),
        ("select = [", "not valid TOML"),
        ("baseline = 1", "'baseline' must be the path of a file, not 1"),
        ("extend = ['a']", "'extend' must be the path of a file"),
        ("extend = 'absent.toml'", "'extend' names absent.toml, which is no file"),
        ("extend = 'pyproject.toml'", "'extend' leads back to "),
    ],
)
def test_a_mistake_names_file_key_and_what_was_expected(
    project: Path, line: str, expected: str
) -> None:
    path = write(project / "pyproject.toml", f"[tool.mpslint]\n{line}\n")
    with pytest.raises(BadSettings) as caught:
        SettingsFinder().for_folder(str(project))
    assert str(caught.value).startswith(f"{path}: ")
    assert expected in str(caught.value)


def test_a_settings_file_that_is_no_utf8_is_named(project: Path) -> None:
    path = project / "mpslint.toml"
    path.write_bytes(b"style = '\xff'\n")
    with pytest.raises(BadSettings, match=r"mpslint\.toml: not valid UTF-8 at byte 9"):
        SettingsFinder().for_folder(str(project))


def test_options_go_over_the_file(project: Path) -> None:
    write(project / "mpslint.toml", 'style = "helper"\ndevice-name = "dev"\n')
    settings = SettingsFinder({"style": "inline"}).for_folder(str(project))
    assert (settings.style, settings.device_name) == ("inline", "dev")


def test_a_selection_by_hand_replaces_the_files_but_an_ignore_adds_to_it(project: Path) -> None:
    write(project / "mpslint.toml", 'select = ["ALL"]\nignore = ["MPS2"]\n')
    by_hand = SettingsFinder({"select": ("MPS201",)}).for_folder(str(project))
    assert (by_hand.select, by_hand.ignore) == (("MPS201",), ())
    added = SettingsFinder({"ignore": ("MPS3",)}).for_folder(str(project))
    assert (added.select, added.ignore) == (("ALL",), ("MPS2", "MPS3"))


def test_isolated_reads_no_file(project: Path) -> None:
    write(project / "mpslint.toml", "broken = [")
    assert SettingsFinder(isolated=True).for_folder(str(project)) == Settings()


def test_a_settings_file_named_outright_must_be_there_and_speak_of_mpslint(project: Path) -> None:
    with pytest.raises(BadSettings, match="no such settings file"):
        SettingsFinder(config=str(project / "absent.toml"))
    path = write(project / "pyproject.toml", "[tool.black]\n")
    with pytest.raises(BadSettings, match=r"has no \[tool.mpslint\] table"):
        SettingsFinder(config=str(path))


def test_settings_travel_to_other_processes(project: Path) -> None:
    path = write(project / "mpslint.toml", 'min-torch = "2.9"\nseverity = "breaks"\n')
    settings = read(str(path))
    assert pickle.loads(pickle.dumps(settings)) == settings


# extend


def test_what_a_file_extends_holds_where_the_file_is_silent(project: Path) -> None:
    write(project / "base.toml", 'style = "helper"\ndevice-name = "base"\n')
    write(project / "mpslint.toml", 'extend = "base.toml"\ndevice-name = "own"\n')
    settings = SettingsFinder().for_folder(str(project))
    assert (settings.style, settings.device_name) == ("helper", "own")
    assert settings.origin == str(project / "mpslint.toml")


def test_lists_that_extend_grow_along_the_chain_and_the_others_are_replaced(project: Path) -> None:
    write(project / "one.toml", 'extend-select = ["MPS1"]\nignore = ["MPS2"]\n')
    write(project / "two.toml", 'extend = "one.toml"\nextend-select = ["MPS3"]\n')
    write(project / "mpslint.toml", 'extend = "two.toml"\nignore = ["MPS4"]\n')
    settings = SettingsFinder().for_folder(str(project))
    assert (settings.extend_select, settings.ignore) == (("MPS1", "MPS3"), ("MPS4",))


def test_globs_and_paths_of_an_extended_file_are_relative_to_that_file(project: Path) -> None:
    text = (
        'helper-module = "pkg/device.py"\nbaseline = "known.json"\nextend-exclude = ["sub/old/*"]\n'
    )
    write(project / "pyproject.toml", f"[tool.mpslint]\n{text}")
    below = write(project / "sub" / "mpslint.toml", 'extend = "../pyproject.toml"\n')
    settings = read(str(below))
    assert settings is not None
    assert settings.helper_module == str(project / "pkg" / "device.py")
    assert settings.baseline == str(project / "known.json")
    assert settings.extend_exclude == (str(project / "sub" / "old" / "*"),)


def test_files_that_extend_each_other_are_refused(project: Path) -> None:
    write(project / "one.toml", 'extend = "mpslint.toml"\n')
    write(project / "mpslint.toml", 'extend = "one.toml"\n')
    with pytest.raises(BadSettings, match=r"one\.toml: 'extend' leads back to .*mpslint\.toml"):
        SettingsFinder().for_folder(str(project))


# variables


def test_variables_go_over_the_file_and_options_over_both(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project / "mpslint.toml", 'style = "helper"\ndevice-name = "a"\nmin-torch = "2.5"\n')
    monkeypatch.setenv("MPSLINT_DEVICE_NAME", "b")
    monkeypatch.setenv("MPSLINT_MIN_TORCH", "2.6")
    settings = SettingsFinder({"device_name": "c"}).for_folder(str(project))
    assert (settings.style, settings.device_name, settings.min_torch) == ("helper", "c", (2, 6))


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("select", "MPS1, MPS2", ("MPS1", "MPS2")),
        ("per-file-ignores", "a/*:MPS1,a/*:MPS2", (("a/*", ("MPS1", "MPS2")),)),
        ("force-exclude", "true", True),
        ("max-file-size", "12", 12),
        ("severity", "breaks", Severity.BREAKS),
        ("device-order", "cuda,cpu", ("cuda", "cpu")),
        ("style", "", "inline"),
    ],
)
def test_a_variable_is_written_as_in_its_option(
    project: Path, monkeypatch: pytest.MonkeyPatch, key: str, text: str, value: object
) -> None:
    name = key.replace("-", "_")
    monkeypatch.setenv(f"MPSLINT_{name.upper()}", text)
    assert getattr(SettingsFinder().for_folder(str(project)), name) == value


def test_a_mistake_in_a_variable_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPSLINT_MAX_FILE_SIZE", "big")
    with pytest.raises(BadSettings, match=r"^MPSLINT_MAX_FILE_SIZE: 'max-file-size' must be a num"):
        SettingsFinder()


def test_a_variable_names_the_settings_file(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(project / "elsewhere" / "my.toml", 'device-name = "dev"\n')
    monkeypatch.setenv("MPSLINT_CONFIG", str(path))
    assert SettingsFinder().for_folder(str(project)).device_name == "dev"


# the schema


def valid(table: object) -> bool:
    try:
        validate(table, schema())
    except jsonschema.ValidationError:
        return False
    return True


def test_the_schema_takes_the_defaults_that_it_names() -> None:
    defaults = {k: v["default"] for k, v in schema()["properties"].items() if "default" in v}
    assert set(KEYS) - set(defaults) == {
        "extend",
        "select",
        "baseline",
        "max-torch",
        "helper-module",
    }
    assert valid(defaults)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("select", ["MPS1"]),
        ("select", "MPS1"),
        ("select", [1]),
        ("per-file-ignores", {"a": ["MPS1"]}),
        ("per-file-ignores", {"a": "MPS1"}),
        ("min-torch", "2.6"),
        ("min-torch", "2"),
        ("min-torch", 2.6),
        ("device-order", ["cuda", "cpu"]),
        ("device-order", ["cuda"]),
        ("device-order", ["cpu", "cpu"]),
        ("device-order", ["tpu", "cpu"]),
        ("severity", "breaks"),
        ("severity", "bad"),
        ("style", "helper"),
        ("style", "own"),
        ("device-name", "dev"),
        ("device-name", "my dev"),
        ("helper-module", "a/b.py"),
        ("helper-module", "a.b"),
        ("max-file-size", 0),
        ("max-file-size", -1),
        ("force-exclude", True),
        ("force-exclude", "true"),
        ("baseline", "a.json"),
        ("baseline", ""),
        ("selct", []),
    ],
)
def test_the_schema_takes_what_mpslint_takes_and_nothing_else(key: str, value: object) -> None:
    try:
        convert(key, value, "here")
        taken = True
    except BadSettings:
        taken = False
    assert valid({key: value}) is taken


def test_settings_that_extend_others_without_end_are_one_line(project: Path) -> None:
    for number in range(2000):
        (project / f"{number}.toml").write_text(f'extend = "{number + 1}.toml"\n')
    (project / "2000.toml").write_text("")
    with pytest.raises(BadSettings, match=r"20\.toml: 'extend' leads on through more than 20 "):
        SettingsFinder(config=str(project / "0.toml"))
