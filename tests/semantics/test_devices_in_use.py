"""What things around a place are sent to is used there too, in place of another guess."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.project.project import Project
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

FILES = Path(__file__).resolve().parents[2] / "fixtures" / "engine" / "devices_in_use"


@pytest.fixture
def fixed(tmp_path: Path):  # type: ignore[no-untyped-def]
    """Fixes copies, because the folder that this repository versions is a project as well."""

    def fix(name: str, *, unsafe: bool = False) -> str:
        for path in FILES.iterdir():
            (tmp_path / path.name).write_bytes(path.read_bytes())
        source = SourceFile(str(tmp_path / name), (tmp_path / name).read_bytes())
        settings = Settings()
        return fix_source(source, settings, unsafe=unsafe, elsewhere=Project(settings)).text

    return fix


def test_a_device_that_a_base_in_another_file_selects_is_used(fixed) -> None:  # type: ignore[no-untyped-def]
    text = fixed("selected.py")
    assert "self.blur = nn.Conv2d(3, 3, 3).to(self.device)" in text
    assert "self.queue = torch.zeros(8, 3, 4, 4).to(self.device)" in text
    assert "is_available" not in text


def test_a_device_that_a_base_is_told_may_not_be_cuda_so_that_its_use_is_unsafe(fixed) -> None:  # type: ignore[no-untyped-def]
    assert fixed("asked.py") == (FILES / "asked.py").read_text()
    text = fixed("asked.py", unsafe=True)
    assert text.count(".to(self.device)") == 3
    assert "is_available" not in text


def test_a_device_is_not_used_before_the_base_has_set_it(fixed) -> None:  # type: ignore[no-untyped-def]
    assert "nn.Conv2d(3, 3, 3).to(self.device)" not in fixed("before.py", unsafe=True)


def test_what_the_user_asks_for_is_used_where_a_model_was_sent_to_it(fixed) -> None:  # type: ignore[no-untyped-def]
    assert "torch.zeros(3, 4).to(args.device)" not in fixed("options.py")
    main, other = fixed("options.py", unsafe=True).split("def other")
    assert "images = torch.zeros(3, 4).to(args.device)" in main
    assert "args.device" not in other


def test_mixed_precision_is_of_the_type_of_what_an_object_holds(fixed) -> None:  # type: ignore[no-untyped-def]
    text = " ".join(fixed("agent.py").split())
    assert "torch.autocast( torch.device(self.ppo_device).type, enabled=" in text
    assert "torch.autocast(latents.device.type, enabled=latents.device.type != " in text


def test_what_a_loop_names_further_down_has_no_device_at_its_first_turn(fixed) -> None:  # type: ignore[no-untyped-def]
    assert "images.to(found.device)" not in fixed("later_turn.py", unsafe=True)
