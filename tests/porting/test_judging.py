"""A fix is safe where the analysis of the fixed text finds nothing against it."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from mpslint.checking.linter import lint
from mpslint.findings.results import FileResult
from mpslint.fixing.fixer import FixResult, fix_source
from mpslint.model import Applicability
from mpslint.project.project import Project
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile
from mpslint.together.together import Job, Together

DEVICE = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
HEAD = """\
import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader

"""


def program(text: str) -> str:
    return HEAD + DEVICE + textwrap.dedent(text)


def fixed(text: str, *, unsafe: bool = False) -> FixResult:
    return fix_source(SourceFile("program.py", text.encode()), Settings(), unsafe=unsafe)


def selects_mps(text: str) -> bool:
    return '"mps"' in fixed(text).text


LEFT_BEHIND = """
net = nn.Linear(2, 2).to(device)
sample = torch.randn(4, 2)
net(sample)
"""


def test_a_selection_is_opened_where_all_that_meets_moves() -> None:
    assert selects_mps(
        program("net = nn.Linear(2, 2).to(device)\nnet(torch.ones(1, 2).to(device))")
    )


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(LEFT_BEHIND, id="a sample"),
        pytest.param(
            """
            net = nn.Linear(2, 2).to(device)
            for batch, target in DataLoader([]):
                loss = nn.MSELoss()(net(batch.to(device)), target)
            """,
            id="the target of a batch",
        ),
        pytest.param(
            """
            class Net(nn.Module):
                def __init__(self):
                    super().__init__()
                    self.layer = nn.Linear(2, 2)

                def forward(self, x):
                    return self.layer(x)

            net = Net()
            net.to(device)
            net(torch.zeros(3, 2))
            """,
            id="the input of a module of the file",
        ),
        pytest.param(
            """
            mean = torch.zeros(3)
            image = torch.rand(2, 3).to(device)
            centred = image - mean
            """,
            id="an operand",
        ),
        pytest.param(
            """
            image = torch.rand(2, 3).to(device)
            both = torch.cat([image, torch.zeros(1, 3)])
            """,
            id="an item of a list",
        ),
    ],
)
def test_a_selection_stays_where_something_would_be_left_on_the_cpu(body: str) -> None:
    assert not selects_mps(program(body))


@pytest.mark.parametrize(
    "body",
    [
        "scale = torch.tensor(0.5)\nprint(torch.ones(2, 2).to(device) * scale)",
        "total = torch.zeros(3).sum()\nprint(torch.ones(2, 2).to(device) + total)",
        "weights = torch.zeros(3)\nweights.copy_(torch.ones(3).to(device))",
    ],
)
def test_tensors_without_dimensions_and_copies_may_meet_others(body: str) -> None:
    assert selects_mps(program(body))


OPERATOR = "def gather(x):\n    return torch.ops.{library}.gather(x, 0)\n"


@pytest.mark.parametrize(("library", "goes"), [("my_ops", False), ("aten", True)])
def test_an_operator_that_a_project_has_compiled_has_no_kernel_for_mps(
    library: str, goes: bool
) -> None:
    body = OPERATOR.format(library=library) + "\n\ngather(torch.zeros(3, device=device))\n"
    assert selects_mps(program(body)) == goes


@pytest.mark.parametrize(("library", "goes"), [("my_ops", False), ("aten", True)])
def test_an_operator_behind_a_function_of_the_project_has_none_either(
    tmp_path: Path, library: str, goes: bool
) -> None:
    text = "import torch\n\n\n" + OPERATOR.format(library=library)
    (tmp_path / "gathering.py").write_text(text)
    body = "from gathering import gather\n\ngather(torch.zeros(3, device=device))\n"
    source = SourceFile(str(tmp_path / "use.py"), program(body).encode())
    settings = Settings(root=str(tmp_path))
    result = fix_source(source, settings, elsewhere=Project(settings))
    assert ("mps" in result.text) == goes


PARTS = """
class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.{name} = {made}

    def forward(self, x):
        return self.{name}(x)


coder = Coder()
coder.to(device)
coder(torch.zeros(1, 2).to(device))
coder.decoder(torch.zeros(1, 2))
"""


def test_a_part_is_where_its_module_was_moved() -> None:
    part = "nn.Sequential(nn.Linear(2, 2), nn.ReLU())"
    assert not selects_mps(program(PARTS.format(name="decoder", made=part)))


@pytest.mark.parametrize(
    ("name", "made"),
    [("decoder", "nn.ReLU()"), ("decoder", "None"), ("encoder", "nn.Linear(2, 2)")],
)
def test_what_is_no_part_with_weights_stays_where_its_input_is(name: str, made: str) -> None:
    assert selects_mps(program(PARTS.format(name=name, made=made)))


def test_what_is_left_on_the_cpu_is_named_by_an_unsafe_fix() -> None:
    (applied,) = fixed(program(LEFT_BEHIND), unsafe=True).applied
    assert applied.applicability is Applicability.UNSAFE
    assert "line 10: net(sample) would be given tensors of the CPU and of MPS" in applied.message


def test_a_finding_whose_fix_is_not_safe_says_why() -> None:
    (finding,) = fixed(program(LEFT_BEHIND)).remaining
    assert finding.fix is not None
    assert finding.applicability is Applicability.UNSAFE
    assert "net(sample)" in finding.fix.message


@pytest.mark.parametrize(
    "body",
    [
        "x = torch.from_numpy(np.array([1.0, 2.0])).to(device)",
        "points = np.sin(np.linspace(0, 1, 9))\nx = torch.tensor(np.stack([points])).to(device)",
        """
        import gymnasium as gym

        env = gym.make("Pendulum-v1")
        _, reward, _, _, _ = env.step(0)
        x = torch.tensor(reward).to(device)
        """,
    ],
)
def test_float64_that_arrives_is_narrowed_on_mps_in_the_same_run(body: str) -> None:
    text = fixed(program(body)).text
    assert 'device = torch.device("mps")\n' in text
    assert 'torch.float32 if device.type == "mps" else' in text


def test_a_module_of_float64_keeps_its_selection() -> None:
    body = """
    class Net(nn.Module):
        def forward(self, x):
            return x

    net = Net()
    net.double()
    net.to(pick())
    """
    head = "def pick():\n    return " + DEVICE.removeprefix("device = ") + "\n\n"
    assert not selects_mps(HEAD + head + textwrap.dedent(body))


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from torch_scatter import scatter_add", "scatter_add(x, x)"),
        (
            "from torch.utils.cpp_extension import load\n\nops = load('ops', ['a.cpp'])",
            "ops.forward(x)",
        ),
    ],
)
def test_an_operator_without_a_kernel_for_mps_keeps_the_selection(imports: str, call: str) -> None:
    body = f"x = torch.zeros(3).to(device)\nprint({call})\n"
    assert not selects_mps(f"{imports}\n{program(body)}")


def test_an_arm_that_no_mac_comes_to_is_not_written() -> None:
    text = """\
    import torch

    use_cuda = torch.cuda.is_available()


    def move(model, batch, args):
        if use_cuda:
            model.cuda()
        if args.cuda:
            batch = batch.cuda()
        if not torch.cuda.is_available():
            print("slow")
        else:
            model = model.cuda()
        return model, batch
    """
    assert fixed(textwrap.dedent(text)).applied == ()


# files of one project


def together(folder: Path, *names: str, watched: str = "") -> dict[str, str]:
    def project(settings: Settings, planned: dict[str, bytes]) -> Project:
        return Project(settings, planned)

    files = Together(project)
    for name in names:
        files.add(Job(str(folder / name), (folder / name).read_bytes(), Settings()))
    if watched:
        path = folder / watched
        findings = lint(SourceFile(str(path), path.read_bytes()), Settings())
        known = FileResult(str(path), tuple(findings))
        files.watch(Job(str(path), path.read_bytes(), Settings()), known)
    found = {}
    for path, planned in files.planned(unsafe=False).items():
        assert not isinstance(planned, str)
        found[Path(path).name] = planned.result.text
    return found


@pytest.fixture
def model(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(program("net = nn.Linear(2, 2).to(device)\n"))
    return tmp_path


def test_a_file_that_uses_what_changes_speaks_against_it(model: Path) -> None:
    (model / "use.py").write_text("import torch\nfrom model import net\n\nnet(torch.zeros(1, 2))\n")
    texts = together(model, "model.py", watched="use.py")
    assert '"mps"' not in texts["model.py"]


def test_files_that_change_together_are_judged_as_they_become(model: Path) -> None:
    text = program("from model import net\n\nnet(torch.zeros(1, 2).to(device))\n")
    (model / "use.py").write_text(text)
    texts = together(model, "model.py", "use.py")
    assert '"mps"' in texts["model.py"]
    assert '"mps"' in texts["use.py"]


UNREAD = """\
import torch


class Base(torch.nn.Module):
    def __init__(self, gpu):
        super().__init__()
        self.device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
        self.{name} = torch.cuda.FloatTensor if gpu else torch.Tensor

    def move(self, x):
        return x.to(self.device)


print(Base(1).move(torch.ones(2)){use})
"""


def test_a_type_that_nobody_reads_keeps_no_selection_from_mps(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("A project.\n")
    (tmp_path / "main.py").write_text(UNREAD.format(name="kind_of_tensor", use=""))
    assert "mps" in together(tmp_path, "main.py")["main.py"]


def test_a_type_that_somebody_reads_keeps_it(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("A project.\n")
    use = ", Base(1).kind_of_tensor(2)"
    (tmp_path / "main.py").write_text(UNREAD.format(name="kind_of_tensor", use=use))
    assert "mps" not in together(tmp_path, "main.py")["main.py"]


SCORER = """\
import torch


class Scorer:
    def __init__(self, path, device="cuda"):
        there = device == "cpu" or torch.cuda.is_available()
        self.device = torch.device(device if there else "cpu")
        self.net = torch.nn.Linear(3, 4)
        self.net.to(self.device)
"""
ASKING = """\
import argparse

from scorer import Scorer


def asked():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cuda")
    return parser.parse_args()


def main():
    args = asked()
    print(Scorer("a", device=args.device))


main()
"""


def test_a_default_of_the_command_line_that_another_file_places_with_is_opened(
    tmp_path: Path,
) -> None:
    (tmp_path / "scorer.py").write_text(SCORER)
    (tmp_path / "run.py").write_text(ASKING)
    assert "mps" in together(tmp_path, "scorer.py", "run.py")["run.py"]


def imported_parts(folder: Path, text: str) -> str:
    """The text that a module becomes which others import."""
    (folder / "parts.py").write_text("import torch\n\n\n" + textwrap.dedent(text).lstrip())
    (folder / "main.py").write_text("import parts\n")
    return together(folder, "parts.py")["parts.py"]


def test_a_module_that_others_import_asks_in_the_one_function_that_needs_a_device(
    tmp_path: Path,
) -> None:
    text = imported_parts(
        tmp_path,
        """
        def move(x):
            print(x)
            return x.cuda()
        """,
    )
    assert "    print(x)\n    if torch." in text
    assert '    else:\n        device = torch.device("cpu")\n' in text
    assert "return x.to(device)" in text
    assert "\ndevice = " not in text


def test_a_module_that_others_import_asks_when_it_is_called(tmp_path: Path) -> None:
    text = imported_parts(
        tmp_path,
        """
        def move(x):
            return x.cuda()


        def move_all(batches):
            for batch in batches:
                yield batch.cuda()
        """,
    )
    assert text.count("def get_device() -> torch.device:") == 1
    assert "return x.to(get_device())" in text
    assert "    device = get_device()\n    for batch in batches:\n" in text
    assert "yield batch.to(device)" in text
    assert "\ndevice = " not in text


def test_a_script_asks_at_its_top(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("import torch\n\n\ndef move(x):\n    return x.cuda()\n")
    assert "return x.to(device)" in together(tmp_path, "main.py")["main.py"]


def test_what_raises_in_a_function_of_another_file_speaks_against_its_caller(model: Path) -> None:
    (model / "score.py").write_text(
        "import torch\n\n\ndef score(out, target):\n    return (out == target).double()\n"
        "\n\ndef accuracy(out, target):\n    return target.eq(out).double().sum()\n"
    )
    body = """
    from score import accuracy

    out = torch.zeros(3).to(device)
    print(accuracy(out, torch.zeros(3).to(device)))
    """
    (model / "use.py").write_text(program(body))
    assert '"mps"' not in together(model, "use.py")["use.py"]


def test_what_raises_there_unless_a_switch_is_off_speaks_against_its_caller(
    tmp_path: Path,
) -> None:
    (tmp_path / "score.py").write_text(
        "import torch\n\n\ndef accuracy(out, target):\n"
        "    return out.type_as(target).eq(target).double().sum()\n"
    )
    text = """
    import argparse

    import torch

    from score import accuracy

    parser = argparse.ArgumentParser()
    parser.add_argument("--no-cuda", action="store_true", default=False)
    args = parser.parse_args()
    args.cuda = not args.no_cuda and torch.cuda.is_available()
    out, target = torch.zeros(3), torch.zeros(3)
    if args.cuda:
        out = out.cuda()
        target = target.cuda()
    print(accuracy(out, target))
    """
    (tmp_path / "use.py").write_text(textwrap.dedent(text).lstrip())
    assert "mps" not in together(tmp_path, "use.py")["use.py"]
    harmless = (tmp_path / "score.py").read_text().replace(".double()", ".float()")
    (tmp_path / "score.py").write_text(harmless)
    assert "mps" in together(tmp_path, "use.py")["use.py"]


def test_check_does_not_promise_what_fix_will_not_make() -> None:
    (finding,) = lint(SourceFile("program.py", program(LEFT_BEHIND).encode()), Settings())
    assert finding.applicability is Applicability.UNSAFE
    assert finding.fix is not None
    assert "line 10: net(sample)" in finding.fix.message


def test_a_file_that_stays_on_the_cpu_keeps_those_that_import_it_there(tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text(program(LEFT_BEHIND))
    text = program("from parts import net\n\nprint(torch.ones(1, 2).to(device))\n")
    (tmp_path / "use.py").write_text(text)
    texts = together(tmp_path, "parts.py", "use.py")
    assert '"mps"' not in texts["parts.py"]
    assert '"mps"' not in texts["use.py"]


ON_THE_DEVICE_GIVEN = """\
import torch


def doubled(x, device):
    if torch.cuda.is_available():
        x = x.cuda()
    return x * 2


def pick():
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device({})


print(doubled(torch.zeros(3), pick()))
"""


def test_no_machine_is_asked_for_a_device_that_it_lacks() -> None:
    result = fixed(ON_THE_DEVICE_GIVEN.format('"cuda"'), unsafe=True)
    (applied,) = [one for one in result.applied if one.code == "MPS103"]
    assert applied.applicability is Applicability.UNSAFE
    assert "x.to(device) would ask for cuda on a CPU" in applied.message


def test_a_device_that_every_machine_has_is_used() -> None:
    choice = '"cuda" if torch.cuda.is_available() else "cpu"'
    assert "    x = x.to(device)\n" in fixed(ON_THE_DEVICE_GIVEN.format(choice)).text


BATCHES = """\
import torch
from torch.utils.data import DataLoader

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
for images, extra in DataLoader([]):
    {} = {}.cuda(non_blocking=True)
"""


@pytest.mark.parametrize(
    ("name", "written"),
    [
        pytest.param("images", 'device.type == "cuda"', id="nobody holds the batch any more"),
        pytest.param("moved", "True", id="the loop's name holds it"),
    ],
)
def test_a_copy_whose_source_is_let_go_waits_on_mps(name: str, written: str) -> None:
    text = fixed(BATCHES.format(name, "images"), unsafe=True).text
    assert f"{name} = images.to(device, non_blocking={written})" in text


COPIES = """\
import torch
from torch.utils.data import DataLoader

device = torch.device({})


def run(model, shown):
    for images, labels in DataLoader([]):
        images = images.to(device, non_blocking=True)
        seen = labels.to(device, non_blocking=True)
    batch = {{key: torch.stack([row[key] for row in shown], dim=1) for key in shown[0]}}
    batch = {{key: rows.to(device, non_blocking=True) for key, rows in batch.items()}}
    held = {{key: rows.to(device, non_blocking=True) for key, rows in shown.items()}}
    return model(images), seen, batch, held
"""
CHOICE = '"cuda" if torch.cuda.is_available() else "cpu"'
WAITING = 'non_blocking=device.type == "cuda"'


@pytest.mark.parametrize(
    "copy",
    [
        pytest.param(f"images = images.to(device, {WAITING})", id="a batch"),
        pytest.param(f"key: rows.to(device, {WAITING})\n", id="each tensor that was just made"),
    ],
)
def test_a_copy_that_a_selection_opens_waits_on_mps_where_its_source_is_let_go(copy: str) -> None:
    assert copy in fixed(COPIES.format(CHOICE)).text


@pytest.mark.parametrize("name", ["seen = labels", "held = {key: rows"])
def test_a_copy_whose_source_is_held_does_not_wait(name: str) -> None:
    assert f"{name}.to(device, non_blocking=True)" in fixed(COPIES.format(CHOICE)).text


def test_a_batch_that_goes_to_mps_already_is_left_as_it_is() -> None:
    text = COPIES.format('"mps" if torch.backends.mps.is_available() else "cpu"')
    assert fixed(text).text == text


FLAG_IN_A_CLASS = """\
import torch
from torch import nn


class Base:
    def __init__(self):
        print("made")


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)


class Trainer(Base):
    def __init__(self, cuda=True):
        super().__init__()
        self.cuda = cuda
        self.create()

    def create(self):
        self.model = Layers()
        if self.cuda:
            self.model.cuda()


trainer = Trainer(cuda={})
"""


def test_what_a_flag_of_the_machine_decides_in_a_class_is_not_moved_alone() -> None:
    text = FLAG_IN_A_CLASS.format("torch.cuda.is_available()")
    assert fixed(text).text == text


def test_what_a_switch_of_the_users_decides_in_a_class_is_moved() -> None:
    assert "self.model.to(device)" in fixed(FLAG_IN_A_CLASS.format("True")).text


def test_no_arm_is_written_that_asks_what_the_arm_before_asked() -> None:
    text = FLAG_IN_A_CLASS.format("torch.cuda.is_available()")
    assert fixed(text, unsafe=True).text == text


PARTS_OF_PARTS = """
def moved(part):
    if isinstance(part, dict):
        return {key: moved(value) for key, value in part.items()}
    return part.to(device)


net = nn.Linear(2, 2).to(device)
batch = moved({"inputs": {"x": torch.from_numpy(np.ones(2)), "mask": torch.ones(2)}})
print(net(batch["inputs"]["x"].float()))
"""


def test_what_moves_batches_of_several_dtypes_is_no_safe_fix_for_check_either() -> None:
    text = program(PARTS_OF_PARTS)
    (told,) = lint(SourceFile("program.py", text.encode()), Settings())
    assert told.code == "MPS103"
    assert told.applicability is Applicability.UNSAFE
    assert not selects_mps(text)
