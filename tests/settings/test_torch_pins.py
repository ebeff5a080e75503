"""What a project's requirements say of torch decides what its fixes may write."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.fixing.fixer import fix_source
from mpslint.settings.file import SettingsFinder
from mpslint.settings.settings import Settings
from mpslint.settings.torch_pins import Pin, Pins
from mpslint.sources.source import SourceFile

FILES = Path(__file__).resolve().parents[2] / "fixtures" / "engine" / "pinned"


def said(folder: Path, name: str, text: str) -> Pin | None:
    folder.joinpath(name).write_text(text)
    return Pins().of(str(folder))


def first(pin: Pin | None) -> tuple[tuple[int, int], str] | None:
    return (pin.oldest, pin.place) if pin is not None else None


def opened(name: str) -> SourceFile:
    return SourceFile(name, (FILES / name).read_bytes())


@pytest.mark.parametrize(
    ("name", "text", "oldest"),
    [
        ("requirements.txt", "numpy\ntorch==1.7.0\n", (1, 7)),
        ("requirements.txt", "torch == 1.7.0  # the one of the paper\n", (1, 7)),
        ("requirements.txt", "torch>=1.4.0,<1.6.0\n", (1, 4)),
        ("requirements.txt", "torch[opt-einsum]>=2.1; sys_platform == 'darwin'\n", (2, 1)),
        ("requirements-train.txt", "torch~=2.1\n", (2, 1)),
        ("requirments.txt", "torch=1.2.0\n", (1, 2)),
        ("requirements.txt", "torch<2.0\n", (1, 13)),
        ("setup.py", "setup(install_requires=['numpy', 'torch>=1.3.0', 'gym'])\n", (1, 3)),
        ("setup.cfg", "[options]\ninstall_requires =\n    torch>=1.8\n", (1, 8)),
        ("pyproject.toml", '[project]\ndependencies = ["torch>=2.6"]\n', (2, 6)),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntorch = "^2.0"\n', (2, 0)),
        ("pyproject.toml", 'torch = {version = ">=1.13", source = "cpu"}\n', (1, 13)),
        ("environment.yml", "dependencies:\n  - pytorch::pytorch=1.9.1\n", (1, 9)),
        ("environment.yaml", "  - pip:\n    - torch==1.12.1+cu113\n", (1, 12)),
    ],
)
def test_a_requirement_says_which_torch_is_the_oldest(
    project: Path, name: str, text: str, oldest: tuple[int, int]
) -> None:
    pin = said(project, name, text)
    assert pin is not None
    assert pin.oldest == oldest


@pytest.mark.parametrize(
    ("text", "newest"),
    [
        ("torch==2.5.*\n", (2, 5)),
        ("torch>=2.1,<2.6\n", (2, 5)),
        ("torch<=2.4.1\n", (2, 4)),
        ("torch>=2.1\n", None),
        ("torch~=2.1\n", None),
        ("torch~=2.1.2\n", (2, 1)),
        ("torch~=1.7\n", (1, 13)),
        ("torch~=1.7.1\n", (1, 7)),
        ("torch==2.5.1; python_version < '3.9'\ntorch>=2.6\n", None),
        ("torch<2.7; python_version < '3.9'\ntorch==2.6; python_version >= '3.9'\n", None),
        ("torch==2.2\ntorch==2.4\n", (2, 4)),
        ("torch>=2.0,<2.7\ntorch\n", None),
    ],
)
def test_a_requirement_says_which_torch_is_the_newest(
    project: Path, text: str, newest: tuple[int, int] | None
) -> None:
    pin = said(project, "requirements.txt", text)
    assert pin is not None
    assert pin.newest == newest


def test_what_a_package_declares_bounds_its_torch_whatever_an_environment_asks(
    project: Path,
) -> None:
    said(project, "environment.yml", "dependencies:\n  - pytorch>=2.0\n")
    pin = said(project, "pyproject.toml", '[project]\ndependencies = [\n  "torch==2.5.*",\n]\n')
    assert pin == Pin((2, 0), "environment.yml:2", (2, 5))


@pytest.mark.parametrize("name", ["env.yaml", "environment.yml"])
@pytest.mark.parametrize(
    "channels",
    ["channels:\n  - pytorch\n  - nvidia\n", "channels:\n- pytorch\n", 'name: "torch"\n'],
)
def test_a_channel_of_conda_is_no_requirement_of_any_torch(
    project: Path, name: str, channels: str
) -> None:
    asked = "dependencies:\n- python=3.11\n- pip:\n  - torch==2.1.0\n"
    assert said(project, name, channels + asked) == Pin(
        (2, 1), f"{name}:{channels.count(chr(10)) + 4}", (2, 1)
    )
    pin = said(project, name, asked + channels)
    assert pin is not None
    assert pin.newest == (2, 1)


def test_an_environment_that_asks_for_any_torch_beside_a_release_binds_none(project: Path) -> None:
    pin = said(project, "env.yaml", "dependencies:\n  - pytorch\n  - pip:\n    - torch>=2.0,<2.2\n")
    assert pin is not None
    assert pin.newest is None


@pytest.mark.parametrize(
    "text",
    ["torch\n", "torchvision==0.2\n", "torch-scatter>=2.0\n", "# torch==1.1\n", "torch!=1.8\n"],
)
def test_what_bounds_no_torch_says_nothing(project: Path, text: str) -> None:
    assert said(project, "requirements.txt", text) is None


def test_the_oldest_of_all_that_a_project_declares_counts(project: Path) -> None:
    said(project, "requirements.txt", "torch==2.9.1\n")
    pin = said(project, "pyproject.toml", '[project]\ndependencies = [\n  "torch>=1.10",\n]\n')
    assert first(pin) == ((1, 10), "pyproject.toml:3")


def test_a_list_for_one_purpose_counts_only_where_the_project_says_nothing(project: Path) -> None:
    said(project, "requirements-docs.txt", "torch==1.13\n")
    assert first(said(project, "requirements.txt", "torch>=2.6\n")) == (
        (2, 6),
        "requirements.txt:1",
    )


def test_an_environment_of_conda_is_known_by_its_dependencies(project: Path) -> None:
    said(project, "settings.yml", "model:\n  - pytorch=1.7.0\n")
    conda = "name: mae\ndependencies:\n  - python=3.8\n  - pytorch=1.7.0=py3.8_cuda10.2\n"
    assert first(said(project, "mae_env.yml", conda)) == ((1, 7), "mae_env.yml:4")


@pytest.mark.parametrize(
    ("name", "text", "oldest"),
    [
        (
            "INSTALL.md",
            "# Setup\n\nconda install pytorch=1.8 torchvision cudatoolkit=10\n",
            (1, 8),
        ),
        ("README.md", "Run\n\n`pip install torch==1.8.0 torchvision==0.9.0`\n", (1, 8)),
        ("Dockerfile", "FROM ubuntu\nUSER me\nRUN pip3 install 'torch==1.8.1' numpy\n", (1, 8)),
    ],
)
def test_a_command_that_installs_torch_counts_where_no_list_does(
    project: Path, name: str, text: str, oldest: tuple[int, int]
) -> None:
    assert first(said(project, name, text)) == (oldest, f"{name}:3")
    assert first(said(project, "requirements.txt", "torch>=2.6\n")) == (
        (2, 6),
        "requirements.txt:1",
    )


@pytest.mark.parametrize(
    ("place", "text", "oldest"),
    [
        ("requirements/train.txt", "numpy\ntorch==1.4.0\n", (1, 4)),
        ("installation/requirements.txt", "numpy\ntorch==1.4.0\n", (1, 4)),
        ("environment/gpu/conda.yml", "dependencies:\n  - pytorch=1.8\n", (1, 8)),
        ("docker/Dockerfile", "FROM ubuntu\nRUN pip install torch==1.8.1\n", (1, 8)),
    ],
)
def test_a_list_in_a_folder_without_code_is_one_of_the_whole_project(
    project: Path, place: str, text: str, oldest: tuple[int, int]
) -> None:
    (project / "README.md").write_text("# A model\n")
    (project / place).parent.mkdir(parents=True)
    (project / place).write_text(text)
    (project / "lib").mkdir()
    assert first(Pins().of(str(project / "lib"))) == (oldest, f"{place}:2")


def test_a_list_beside_code_is_for_what_lies_beside_and_below_it(project: Path) -> None:
    (project / "README.md").write_text("# A model\n")
    example = project / "examples" / "small"
    (example / "parts").mkdir(parents=True)
    (example / "train.py").write_text("import torch\n")
    said(example, "requirements.txt", "torch==1.4\n")
    assert first(Pins().of(str(example / "parts"))) == ((1, 4), "requirements.txt:1")
    assert Pins().of(str(project)) is None


def test_what_the_project_itself_lists_goes_over_the_lists_in_its_folders(project: Path) -> None:
    (project / "docker").mkdir()
    (project / "docker" / "requirements.txt").write_text("torch==1.4\n")
    assert first(said(project, "setup.py", "setup(install_requires=['torch>=2.1'])\n")) == (
        (2, 1),
        "setup.py:1",
    )


def test_what_a_readme_tells_of_a_torch_is_no_command(project: Path) -> None:
    assert said(project, "README.md", "We used torch==1.3 in 2019.\n") is None


def test_an_example_of_a_project_has_the_torch_of_the_project(project: Path) -> None:
    said(project, "pyproject.toml", '[project]\ndependencies = ["torch>=2.6"]\n')
    example = project / "examples" / "small"
    example.mkdir(parents=True)
    pin = said(example, "requirements.txt", "torch==1.3\n")
    assert first(pin) == ((2, 6), "pyproject.toml:2")


def test_a_package_within_a_project_has_the_torch_of_the_project_where_it_names_none(
    project: Path,
) -> None:
    (project / "README.md").write_text("# Detection\n\n    conda install pytorch=1.5.1\n")
    operators = project / "models" / "ops"
    (operators / "functions").mkdir(parents=True)
    (operators / "setup.py").write_text("setup(name='ops', ext_modules=[])\n")
    assert first(Pins().of(str(operators / "functions"))) == ((1, 5), "README.md:3")
    (operators / "setup.py").write_text("setup(name='ops', install_requires=['torch>=2.1'])\n")
    assert first(Pins().of(str(operators / "functions"))) == ((2, 1), "setup.py:1")


def test_what_lies_above_a_repository_says_nothing_of_it(project: Path) -> None:
    (project / "requirements.txt").write_text("torch==1.5.1\n")
    (project / "clone" / ".git").mkdir(parents=True)
    assert Pins().of(str(project / "clone")) is None


def test_what_lies_in_a_folder_where_projects_are_kept_says_nothing_of_them(
    project: Path,
) -> None:
    (project / "setup.sh").write_text("pip install torch==1.5.1\n")
    kept = project / "clones" / "gan"
    kept.mkdir(parents=True)
    (kept / "README.md").write_text("# A model\n")
    assert Pins().of(str(kept)) is None
    (project / "README.md").write_text("# Models\n")
    assert first(Pins().of(str(kept))) == ((1, 5), "setup.sh:1")


def test_the_module_of_torch_is_asked_for_where_importing_torch_does_not_bring_it(
    tmp_path: Path,
) -> None:
    text = b"import torch\n\nwhile True:\n    torch.cuda.empty_cache()\n"
    source = SourceFile(str(tmp_path / "chat.py"), text)
    for oldest, asked in (((2, 0), True), ((2, 1), False)):
        fixed = fix_source(source, Settings(pin=Pin(oldest, "requirements.txt:1"))).text
        assert ("hasattr(torch, 'mps') and torch.backends" in fixed.replace('"', "'")) == asked


def test_the_setting_goes_over_what_the_project_requires(project: Path) -> None:
    said(project, "requirements.txt", "torch==1.7\n")
    assert SettingsFinder().for_folder(str(project)).oldest_torch == (1, 7)
    assert SettingsFinder({"min_torch": (2, 5)}).for_folder(str(project)).oldest_torch == (2, 5)
    (project / "mpslint.toml").write_text('min-torch = "2.5"\n')
    assert SettingsFinder().for_folder(str(project)).oldest_torch == (2, 5)


def test_who_reads_no_settings_still_fixes_for_the_torch_of_the_project(project: Path) -> None:
    said(project, "requirements.txt", "torch==1.7\n")
    assert SettingsFinder(isolated=True).for_folder(str(project)).oldest_torch == (1, 7)


@pytest.mark.parametrize(
    ("oldest", "test"),
    [
        ((1, 7), 'hasattr(torch.backends, "mps") and torch.backends.mps.is_available()'),
        ((1, 12), "torch.backends.mps.is_available()"),
    ],
)
def test_a_torch_without_the_backend_is_asked_whether_it_has_it(
    oldest: tuple[int, int], test: str
) -> None:
    settings = Settings(pin=Pin(oldest, "requirements.txt:3"))
    text = fix_source(opened("train.py"), settings).text
    assert ("if hasattr" in " ".join(text.split())) == test.startswith("hasattr")
    assert test in " ".join(text.split())


def test_no_autocast_is_written_for_a_torch_that_refuses_it_and_the_pin_is_named() -> None:
    settings = Settings(pin=Pin((2, 1), "requirements.txt:3"))
    (finding,) = [one for one in lint(opened("mixed.py"), settings) if one.code == "MPS207"]
    assert finding.fix is None
    assert "requirements.txt:3 lets in torch 2.1" in finding.message
    assert "raise it to 2.5, or set min-torch" in finding.message


def test_autocast_is_written_where_the_requirements_let_no_such_torch_in() -> None:
    settings = Settings(pin=Pin((2, 6), "requirements.txt:3"))
    text = fix_source(opened("mixed.py"), settings).text
    assert "with torch.autocast(device_type=device.type, enabled=device.type != " in text


@pytest.mark.parametrize(
    ("text", "oldest", "newest"),
    [
        ("torchvision==0.15.2\n", (2, 0), (2, 0)),
        ("torch\ntorchvision==0.17.1\n", (2, 2), (2, 2)),
        ("torchvision>=0.13\n", (1, 12), None),
        ("torchaudio==2.2.2\n", (2, 2), (2, 2)),
        ("torchaudio==0.13.1; sys_platform != 'darwin'\n", (1, 13), None),
        ("torch==2.4\ntorchvision==0.15.2\n", (2, 4), (2, 4)),
    ],
)
def test_a_package_that_is_built_for_one_torch_names_it_where_nothing_else_does(
    project: Path, text: str, oldest: tuple[int, int], newest: tuple[int, int] | None
) -> None:
    pin = said(project, "requirements.txt", text)
    assert pin is not None
    assert (pin.oldest, pin.newest) == (oldest, newest)


@pytest.mark.parametrize("text", ["torchvision==0.2.1\n", "torchvision\n", "torchtext==0.14\n"])
def test_a_package_that_says_of_no_torch_that_is_known_names_none(project: Path, text: str) -> None:
    assert said(project, "requirements.txt", text) is None
