"""A project that holds MPS back, or has modules that cannot go there, is not opened safely."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.project.project import Project
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

PROJECTS = Path(__file__).resolve().parents[2] / "fixtures" / "engine" / "held_back"
FILES = ("train.py", "embed.py")


def fixed(project: str, name: str, *, unsafe: bool = False, **changes: object) -> tuple[str, str]:
    path = PROJECTS / project / name
    source = SourceFile(str(path), path.read_bytes())
    settings = Settings()._replace(**changes)
    result = fix_source(source, settings, unsafe=unsafe, elsewhere=Project(settings))
    assert result.error is None
    return source.text, result.text


@pytest.fixture(autouse=True)
def projects_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies, because the folder that this repository versions is a project as well."""
    import shutil

    shutil.copytree(PROJECTS, tmp_path / "projects")
    monkeypatch.setattr(f"{__name__}.PROJECTS", tmp_path / "projects")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("project", ["policy", "switch", "sparse", "graph"])
def test_a_project_that_holds_mps_back_keeps_its_selections(project: str, name: str) -> None:
    before, after = fixed(project, name)
    assert after == before


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("project", ["policy", "switch", "sparse", "graph"])
def test_unsafe_fixes_open_it(project: str, name: str) -> None:
    assert '"mps"' in fixed(project, name, unsafe=True)[1]


@pytest.mark.parametrize("name", FILES)
def test_a_project_that_only_lets_its_users_opt_out_is_opened(name: str) -> None:
    assert '"mps"' in fixed("opted_out", name)[1]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("project", ["sparse", "graph"])
def test_sparse_tensors_do_no_harm_where_torch_has_sparse_mps(project: str, name: str) -> None:
    assert '"mps"' in fixed(project, name, min_torch=(2, 9))[1]


@pytest.mark.parametrize("name", FILES)
def test_a_sparse_tensor_that_stays_on_the_cpu_holds_nothing_back(name: str) -> None:
    assert '"mps"' in fixed("host_graph", name)[1]


@pytest.mark.parametrize("name", FILES)
def test_what_a_test_suite_asks_for_is_no_policy(name: str) -> None:
    package = PROJECTS / "policy" / "lib"
    package.rename(PROJECTS / "policy" / "tests")
    program = PROJECTS / "policy" / name
    program.write_text(program.read_text().replace("from lib", "from tests"))
    assert '"mps"' in fixed("policy", name)[1]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("project", ["policy", "switch", "sparse", "graph"])
def test_a_file_that_imports_nothing_of_it_is_not_held_back_by_its_neighbour(
    project: str, name: str
) -> None:
    program = PROJECTS / project / name
    lines = program.read_text().splitlines(keepends=True)
    program.write_text("".join(line for line in lines if not line.startswith("from lib")))
    assert '"mps"' in fixed(project, name)[1]


def test_a_module_is_held_back_by_the_program_that_imports_it() -> None:
    program = PROJECTS / "sparse" / "train.py"
    model = PROJECTS / "sparse" / "lib" / "model.py"
    both = program.read_text(), model.read_text()
    program.write_text("from lib import model\n" + both[1])
    model.write_text(both[0].replace("from lib import model\n", ""))
    before, after = fixed("sparse", "lib/model.py")
    assert after == before


def test_the_file_that_holds_mps_back_is_named_by_its_place_in_the_project() -> None:
    path = PROJECTS / "policy" / "train.py"
    settings = Settings()._replace(root=str(PROJECTS / "policy"))
    assert Project(settings).holds_back(str(path)).startswith("lib/devices.py, line 12: ")
