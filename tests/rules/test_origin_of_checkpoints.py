"""Where a checkpoint comes from is known where the same file saves one, and guessed elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.model import Confidence
from mpslint.project.neighbours import Neighbours
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

LOAD = """
import torch

def resume(model, args):
    model.load_state_dict(torch.load(args.resume))
"""
SAVE = """
def keep(model, path):
    model.to(device)
    torch.save({"net": model.state_dict()}, path)
"""
DATA = """
def keep(features, path):
    torch.save(features, path)
"""


def confidence(text: str) -> Confidence:
    (found,) = lint(SourceFile("program.py", text.encode()), Settings(select=("MPS413",)))
    return found.confidence


def test_a_file_that_saves_models_as_they_lie_on_the_device_reads_what_cuda_wrote() -> None:
    assert confidence(LOAD + SAVE) is Confidence.CERTAIN


def test_what_is_fetched_from_an_address_is_none_of_what_the_program_saves() -> None:
    fetched = LOAD.replace("torch.load(", "torch.hub.load_state_dict_from_url(")
    assert fetched != LOAD
    assert confidence(fetched + SAVE) is Confidence.INFERRED


FILLED = """
def keep(nets, path):
    for name in nets:
        state = {}
        state["net"] = nets[name].state_dict()
        torch.save(state, path + name)
"""


def test_a_table_that_is_filled_key_by_key_with_states_is_a_checkpoint() -> None:
    assert confidence(LOAD + FILLED) is Confidence.CERTAIN


LISTED = """
def keep(policy, ranges, path, device):
    policy.to(device)
    torch.save([policy, ranges], path)
"""


def test_what_is_moved_in_place_and_saved_in_a_list_is_a_model() -> None:
    assert confidence(LOAD + LISTED) is Confidence.CERTAIN


GIVEN = """
class Trainer:
    def __init__(self, model, device):
        self.model = model
        self.optimizer = torch.optim.Adam(self.model.{0}())

    def keep(self, path):
        torch.save(self.model, path)
"""
HANDED = """
def keep(net, path):
    net.{0}
    torch.save(net, path)
"""


@pytest.mark.parametrize("method", ["parameters", "state_dict", "named_parameters"])
def test_what_is_asked_for_its_parameters_is_a_model_whoever_made_it(method: str) -> None:
    assert confidence(LOAD + GIVEN.format(method)) is Confidence.CERTAIN


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("eval()", Confidence.CERTAIN),
        ("zero_grad()", Confidence.CERTAIN),
        ('eval("a > b")', Confidence.INFERRED),
        ("train(rows)", Confidence.INFERRED),
        ("mean()", Confidence.INFERRED),
    ],
)
def test_what_is_told_its_mode_is_a_model(asked: str, expected: Confidence) -> None:
    assert confidence(LOAD + HANDED.format(asked)) is expected


def test_what_is_asked_so_in_another_class_may_be_data() -> None:
    other = GIVEN.format("parameters").replace("    def keep", "class Kept:\n    def keep")
    assert confidence(LOAD + other) is Confidence.INFERRED


def test_what_is_moved_to_another_name_may_be_data() -> None:
    moved = LISTED.replace("policy.to(device)", "there = policy.to(device)")
    assert confidence(LOAD + moved) is Confidence.INFERRED


@pytest.mark.parametrize("beside", ["", DATA])
def test_who_writes_the_checkpoints_elsewhere_is_not_known(beside: str) -> None:
    assert confidence(LOAD + beside) is Confidence.INFERRED


TRAINING = """
import torch
from utils import save_checkpoint

model = torch.nn.Linear(2, 2).cuda()
{0}
"""
HELPERS = """
import torch

def save_checkpoint(state, path):
    torch.save({0}, path)
"""


def among(tmp_path: Path, training: str, helpers: str = "") -> Confidence:
    """How sure the finding in LOAD is, beside a program that trains."""
    (tmp_path / "train.py").write_text(TRAINING.format(training))
    (tmp_path / "utils.py").write_text(helpers)
    path = tmp_path / "program.py"
    path.write_text(LOAD)
    settings = Settings(select=("MPS413",))
    source = SourceFile(str(path), path.read_bytes())
    (found,) = lint(source, settings, elsewhere=Neighbours(settings))
    return found.confidence


@pytest.mark.parametrize(
    ("training", "kept", "expected"),
    [
        ("torch.save(model.state_dict(), path)", "{}", Confidence.CERTAIN),
        ('save_checkpoint({"net": model.state_dict()}, path)', "state", Confidence.CERTAIN),
        ("save_checkpoint(model, path)", "state", Confidence.CERTAIN),
        ('torch.save({"net": model, "epoch": 1}, path)', "{}", Confidence.CERTAIN),
        ('torch.save({"net": features, "epoch": 1}, path)', "{}", Confidence.INFERRED),
        ("torch.save(model.cpu().state_dict(), path)", "{}", Confidence.INFERRED),
        ("save_checkpoint(model, path)", "state.cpu()", Confidence.INFERRED),
        ("save_checkpoint(features, path)", "state", Confidence.INFERRED),
    ],
    ids=[
        *("itself", "a state", "a whole model", "objects", "data in a table", "a copy"),
        *("a helper that copies", "data"),
    ],
)
def test_a_program_beside_it_tells_what_is_read(
    tmp_path: Path, training: str, kept: str, expected: Confidence
) -> None:
    assert among(tmp_path, training, HELPERS.format(kept)) is expected


def test_a_program_beside_it_that_never_leaves_the_cpu_tells_nothing(tmp_path: Path) -> None:
    converts = "torch.save(torch.load(old).state_dict(), new)"
    assert among(tmp_path, converts) is Confidence.CERTAIN
    (tmp_path / "train.py").write_text("import torch\n" + converts)
    path = tmp_path / "program.py"
    settings = Settings(select=("MPS413",))
    source = SourceFile(str(path), path.read_bytes())
    (found,) = lint(source, settings, elsewhere=Neighbours(settings))
    assert found.confidence is Confidence.INFERRED


BELOW = """
import torch
from {0} import trained

model = torch.nn.Linear(2, 2).cuda()
{1}
"""
SAVER = """
import torch

def trained(model, path):
    torch.save({"net": model.state_dict()}, path)
"""


@pytest.mark.parametrize(
    ("module", "used", "expected"),
    [
        ("lib.saver", "trained(model, path)", Confidence.CERTAIN),
        ("lib.copies", "trained(model, path)", Confidence.INFERRED),
        ("lib.saver", "", Confidence.INFERRED),
        ("lib.other", "trained(model, path)", Confidence.INFERRED),
    ],
    ids=["asked to", "with another that copies", "imported alone", "of the same name"],
)
def test_a_program_beside_it_has_what_it_trained_saved_by_a_module_in_a_folder_below(
    tmp_path: Path, module: str, used: str, expected: Confidence
) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "saver.py").write_text(SAVER)
    copies = SAVER + "\ndef kept(model, path):\n    torch.save(model.cpu().state_dict(), path)\n"
    (tmp_path / "lib" / "copies.py").write_text(copies)
    (tmp_path / "lib" / "other.py").write_text("def trained(model, path): ...")
    (tmp_path / "train.py").write_text(BELOW.format(module, used))
    path = tmp_path / "program.py"
    path.write_text("from lib import shown\n" + LOAD)
    settings = Settings(select=("MPS413",))
    source = SourceFile(str(path), path.read_bytes())
    (found,) = lint(source, settings, elsewhere=Neighbours(settings))
    assert found.confidence is expected


@pytest.mark.parametrize(
    ("training", "expected"),
    [
        ("torch.save(model.state_dict(), path)", Confidence.CERTAIN),
        ("torch.save(model.cpu().state_dict(), path)", Confidence.INFERRED),
    ],
)
def test_a_program_in_another_folder_of_the_project_tells_what_is_read(
    tmp_path: Path, training: str, expected: Confidence
) -> None:
    (tmp_path / "README.md").write_text("# A project\n")
    for folder in ("training/first", "checks/last"):
        (tmp_path / folder).mkdir(parents=True)
    program = "import torch\nmodel = torch.nn.Linear(2, 2).cuda()\n" + training
    (tmp_path / "training" / "first" / "train.py").write_text(program)
    path = tmp_path / "checks" / "last" / "program.py"
    path.write_text(LOAD)
    settings = Settings(select=("MPS413",))
    source = SourceFile(str(path), path.read_bytes())
    (found,) = lint(source, settings, elsewhere=Neighbours(settings))
    assert found.confidence is expected


HELPER = """
import torch

def load(path, {parameter}=None):
    return torch.load(path)

def resume(model, path):
    model.load_state_dict(load(path))
"""


@pytest.mark.parametrize(
    ("parameter", "expected"),
    [("map_location", Confidence.CERTAIN), ("strict", Confidence.INFERRED)],
)
def test_a_function_that_takes_a_place_and_does_not_hand_it_on_is_not_heard(
    parameter: str, expected: Confidence
) -> None:
    assert confidence(HELPER.format(parameter=parameter)) is expected


@pytest.mark.parametrize(("name", "told"), [("model.pt", 0), ("best.pt", 1)])
def test_what_an_imported_helper_wrote_before_is_read_where_it_was_written(
    tmp_path: Path, name: str, told: int
) -> None:
    (tmp_path / "utils.py").write_text(
        "import os\nimport torch\n\ndef save_checkpoint(model, folder):\n"
        f'    torch.save(model.state_dict(), os.path.join(folder, "{name}"))\n'
    )
    path = tmp_path / "program.py"
    path.write_text(
        "import os\nimport torch\nfrom utils import save_checkpoint\n\n"
        "def train(model, folder):\n"
        "    model.cuda() if torch.cuda.is_available() else model\n"
        "    save_checkpoint(model, folder)\n"
        '    model.load_state_dict(torch.load(os.path.join(folder, "model.pt")))\n'
    )
    settings = Settings(select=("MPS413",))
    source = SourceFile(str(path), path.read_bytes())
    assert len(lint(source, settings, elsewhere=Neighbours(settings))) == told


STOPPING = """\
import torch


class EarlyStopping:
    def __call__(self, loss, model, folder):
        if loss < 1:
            self.save_checkpoint(loss, model, folder)

    def save_checkpoint(self, loss, model, folder):
        torch.save(model{copied}.state_dict(), folder + "/" + "checkpoint.pt")
"""
EXPERIMENT = """\
import torch
from tools.stopping import EarlyStopping


def train(model, folder):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = model.to(device)
    stopping = EarlyStopping()
    for loss in range(3):
        stopping(loss, model, folder)
    best = folder + "/" + "checkpoint.pt"
    model.load_state_dict(torch.load(best))
    return model


def predict(model, folder):
    best = folder + "/" + "checkpoint.pt"
    model.load_state_dict(torch.load(best))
    return model
"""


@pytest.mark.parametrize(("copied", "told"), [("", [18]), (".cpu()", [])])
def test_an_object_that_saves_models_when_it_is_called_tells_what_another_run_reads(
    tmp_path: Path, copied: str, told: list[int]
) -> None:
    for folder in ("tools", "runs"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "tools" / "stopping.py").write_text(STOPPING.replace("{copied}", copied))
    path = tmp_path / "runs" / "experiment.py"
    path.write_text(EXPERIMENT)
    (tmp_path / "main.py").write_text("from runs.experiment import train\n\ntrain(None, '.')\n")
    settings = Settings(select=("MPS413",))
    source = SourceFile(str(path), path.read_bytes())
    found = lint(source, settings, elsewhere=Neighbours(settings))
    assert [f.row for f in found if f.confidence is Confidence.CERTAIN] == told


TRYING = """
import torch

def main():
    net = torch.nn.Linear(2, 2)
    net.load_state_dict(torch.load("net.pt"))
    net.cuda()

if __name__ == "__main__":
    main()
"""


def told_in(name: str, text: str) -> int:
    return len(lint(SourceFile(name, text.encode()), Settings(extend_select=("MPS413",))))


def test_a_program_that_tries_a_net_out_is_no_test_by_its_name_alone() -> None:
    assert told_in("portrait_test.py", TRYING) == told_in("portrait.py", TRYING) > 0


@pytest.mark.parametrize(
    "line",
    ["import pytest", "import unittest", "def test_net():\n    main()", "class TestNet: ..."],
)
def test_what_pytest_finds_tests_in_reads_what_it_wrote(line: str) -> None:
    text = f"{TRYING}\n{line}\n"
    assert told_in("portrait_test.py", text) < told_in("portrait.py", text)


KEPT = """
import torch

def evaluate(model, path):
    state = torch.load(path){key}
    model.load_state_dict(state)
"""
KEEPER = """
from lightning.pytorch import Trainer
from lightning.pytorch.callbacks import ModelCheckpoint

def train(module, data):
    Trainer(callbacks=[ModelCheckpoint("models")]).fit(module, data)
"""


def beside(folder: Path, program: str, training: str) -> Confidence:
    (folder / "train.py").write_text(training)
    path = folder / "evaluate.py"
    path.write_text(program)
    source = SourceFile(str(path), path.read_bytes())
    settings = Settings(select=("MPS413",))
    (found,) = lint(source, settings, elsewhere=Neighbours(settings))
    return found.confidence


def test_the_state_below_its_key_was_kept_by_lightning_where_a_program_beside_has_it_keep_some(
    tmp_path: Path,
) -> None:
    found = beside(tmp_path, KEPT.format(key='["state_dict"]'), KEEPER)
    assert found is Confidence.CERTAIN


def test_what_is_a_state_itself_was_not(tmp_path: Path) -> None:
    assert beside(tmp_path, KEPT.format(key=""), KEEPER) is Confidence.INFERRED


def test_a_keeper_of_another_library_says_nothing_of_devices(tmp_path: Path) -> None:
    other = KEEPER.replace("lightning.pytorch.callbacks", "keras.callbacks")
    found = beside(tmp_path, KEPT.format(key='["state_dict"]'), other)
    assert found is Confidence.INFERRED


KEYED = """
import torch

model = torch.nn.Linear(2, 2).cuda()
checkpoint = torch.load(path)
model.load_state_dict(checkpoint["{0}"])
{1}
"""
KEEPS = """
def train(trainer, epoch):
    trainer.keep({"epoch": epoch, "network": trainer.net.state_dict(), "model": 1}, epoch)
"""


@pytest.mark.parametrize(
    ("keeps", "key", "more", "expected"),
    [
        (KEEPS, "network", "", Confidence.CERTAIN),
        (KEEPS, "network", "start = checkpoint['epoch']", Confidence.CERTAIN),
        (KEEPS, "generator", "", Confidence.INFERRED),
        (KEEPS.replace(".state_dict()", ".cpu().state_dict()"), "network", "", Confidence.INFERRED),
        (KEEPS.replace('"network"', '"state_dict"'), "state_dict", "", Confidence.INFERRED),
        (
            KEEPS.replace('"network"', '"state_dict"'),
            "state_dict",
            "start = checkpoint['epoch']",
            Confidence.CERTAIN,
        ),
    ],
    ids=["its key", "its keys", "another key", "a copy", "the key of all", "more than that"],
)
def test_a_program_of_the_project_keeps_what_is_read_under_its_keys(
    tmp_path: Path, keeps: str, key: str, more: str, expected: Confidence
) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "main").mkdir()
    (tmp_path / "main" / "train.py").write_text("import torch\n" + keeps)
    (tmp_path / "demo" / "show").mkdir(parents=True)
    path = tmp_path / "demo" / "show" / "program.py"
    path.write_text(KEYED.format(key, more))
    settings = Settings(select=("MPS413",))
    source = SourceFile(str(path), path.read_bytes())
    (found,) = lint(source, settings, elsewhere=Neighbours(settings))
    assert found.confidence is expected


ARMS = """
import torch

def resume(model, path, optimizer):
    if {test}:
        state = torch.load(path)
    else:
        state = torch.load(path, map_location="cpu")
    model.load_state_dict(state)
    torch.save(model.state_dict(), "{{}}.pt".format(path))

if not torch.cuda.is_available():
    raise SystemExit("needs a GPU")
resume(make().cuda(), "net.pth", chosen())
"""


def test_a_file_that_who_has_no_cuda_reads_onto_the_cpu_is_read_everywhere() -> None:
    assert not told(ARMS.format(test="torch.cuda.is_available()"))
    assert told(ARMS.format(test="optimizer is not None"))


NAMED = """
import os
import torch

class Model:
    def save_optimizer(self, optimizer, label):
        name = "%s_optim_%s.pth" % (self.epoch, label)
        path = os.path.join(self.folder, name)
        torch.save(optimizer.state_dict(), path)

    def save_network(self, network, label):
        name = "%s_net_%s.pth" % (self.epoch, label)
        path = os.path.join(self.folder, name)
        torch.save(network{}.state_dict(), path)
        network.cuda()

    def load_network(self, network, label, folder):
        name = "%s_net_%s.pth" % (self.epoch, label)
        path = os.path.join(folder, name)
        network.load_state_dict(torch.load(path))
"""


def test_what_is_read_is_what_is_saved_under_a_name_that_is_made_alike() -> None:
    assert not told(NAMED.format(".cpu()"))
    assert told(NAMED.format(""))


def told(text: str) -> list[int]:
    found = lint(SourceFile("program.py", text.encode()), Settings(select=("MPS413",)))
    return [finding.row for finding in found]


STATES = """
import torch

def keep(tasks, path):
    states = {{}}
    for name, task in tasks.items():
        task.model.to(task.device)
        states[name] = {{}}
        states[name]["batches"] = task.batches
        states[name]["{key}"] = {value}
    torch.save(states, path + "_states.pth")

def resume(tasks, optimizer, path):
    states = torch.load(path + "_states.pth")
    for name, state in states.items():
        tasks[name].batches = state["batches"]
    optimizer.load_state_dict(states["all"])
"""


@pytest.mark.parametrize(
    ("key", "value", "is_told"),
    [("optimizer", "task.optimizer.state_dict()", True), ("best", "task.best", False)],
)
def test_tables_in_a_table_that_hold_states_are_no_numbers(
    key: str, value: str, is_told: bool
) -> None:
    text = STATES.format(key=key, value=value)
    found = lint(SourceFile("program.py", text.encode()), Settings())
    assert [item.code for item in found if item.code == "MPS413"] == ["MPS413"] * is_told
