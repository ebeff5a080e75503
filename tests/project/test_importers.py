"""A module that a program imports does not ask for CUDA before that has said which GPUs it sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.project.project import Project
from mpslint.project.runs.importers import Importers
from mpslint.settings.settings import Settings
from mpslint.sources.opening import open_source

NOISE = """import torch


def noise(size):
    return torch.randn(size).cuda()


def zeros(size):
    return torch.zeros(size).cuda()
"""
AT_IMPORT = "\nmask = torch.zeros(2).cuda()\n"


def fixed(path: Path) -> str:
    settings = Settings()
    source = open_source(str(path), path.read_bytes())
    return fix_source(source, settings, elsewhere=Project(settings)).text


@pytest.fixture
def models(project: Path) -> Path:
    """A module of a package, which programs in a folder beside it use."""
    (project / "README.md").write_text("# Noise\n")
    (project / "scripts").mkdir()
    (project / "net").mkdir()
    (project / "net" / "__init__.py").write_text("")
    path = project / "net" / "models.py"
    path.write_text(NOISE)
    return path


def program(folder: Path, *body: str) -> None:
    lines = ["import os", "", *body]
    (folder / "scripts" / "train.py").write_text("\n".join(lines) + "\n")


def test_a_module_of_a_package_that_scripts_beside_it_import_asks_when_it_is_called(
    project: Path, models: Path
) -> None:
    program(project, "from net.models import noise", "", "noise(2)")
    assert "return torch.randn(size).to(get_device())" in fixed(models)


def test_a_module_that_no_file_imports_asks_once_at_its_top(project: Path, models: Path) -> None:
    models.write_text(NOISE + "\n\nprint(noise(2), zeros(2))\n")
    program(project, "from net.losses import noise", "", "noise(2)")
    assert "return torch.randn(size).to(device)" in fixed(models)


@pytest.mark.parametrize(
    "setting",
    [
        'os.environ["CUDA_VISIBLE_DEVICES"] = gpu',
        'os.environ.setdefault("CUDA_VISIBLE_DEVICES", gpu)',
        'os.environ.update({"CUDA_VISIBLE_DEVICES": gpu})',
        "os.environ.update(CUDA_VISIBLE_DEVICES=gpu)",
    ],
)
def test_what_is_needed_at_import_waits_for_who_sets_the_gpus_later(
    project: Path, models: Path, setting: str
) -> None:
    models.write_text(NOISE + AT_IMPORT)
    program(project, "from net.models import noise", "", "def main(gpu):", f"    {setting}")
    text = fixed(models)
    assert "mask = torch.zeros(2).cuda()" in text
    assert "\ndevice = " not in text


def test_gpus_that_are_set_before_the_import_leave_the_module_as_free_as_ever(
    project: Path, models: Path
) -> None:
    models.write_text(NOISE + AT_IMPORT)
    program(project, 'os.environ["CUDA_VISIBLE_DEVICES"] = "1"', "from net.models import noise")
    assert "mask = torch.zeros(2).to(device)" in fixed(models)


def test_gpus_of_another_process_are_not_those_of_the_program(project: Path, models: Path) -> None:
    models.write_text(NOISE + AT_IMPORT)
    setting = '    env["CUDA_VISIBLE_DEVICES"] = gpu'
    program(project, "from net.models import noise", "", "def start(env, gpu):", setting)
    assert "mask = torch.zeros(2).to(device)" in fixed(models)


def test_a_module_in_between_leads_a_program_to_the_module_as_well(
    project: Path, models: Path
) -> None:
    models.write_text(NOISE + AT_IMPORT)
    (project / "net" / "loops.py").write_text("from net.models import noise\n")
    setting = '    os.environ["CUDA_VISIBLE_DEVICES"] = gpu'
    program(project, "from net.loops import noise", "", "def main(gpu):", setting)
    assert Project(Settings()).sees_gpus_late(str(models)) == "scripts/train.py, line 6"
    assert "mask = torch.zeros(2).cuda()" in fixed(models)


def test_the_programs_around_a_folder_are_looked_at_once_where_nobody_looks_through_all(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / ".git").mkdir(exist_ok=True)
    for folder, count in (("many", 650), ("code/utils", 3), ("code/training", 2)):
        (project / folder).mkdir(parents=True)
        for number in range(count):
            (project / folder / f"m{number}.py").write_text("import torch\n")
    start = "import os\nimport m1\n\nif __name__ == '__main__':\n    os.environ[{0!r}] = '1'\n"
    (project / "code/training/start.py").write_text(start.format("CUDA_VISIBLE_DEVICES"))
    asked: list[str] = []
    look = Importers._set_late

    def counted(self: Importers, path: str, data: bytes) -> int:
        asked.append(path)
        return look(self, path, data)

    monkeypatch.setattr(Importers, "_set_late", counted)
    around = Project(Settings())
    places = {around.sees_gpus_late(str(project / f"code/utils/m{n}.py")) for n in range(3)}
    assert len(places) == 1
    assert next(iter(places)).endswith("start.py, line 5")
    assert len(asked) == len(set(asked)) == 6
