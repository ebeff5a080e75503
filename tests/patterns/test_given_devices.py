"""What only runs on its backend is asked of the device that the code around it works on."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile
from tests.conftest import Cli

BY_TYPE = """\
    if device.type == "cuda":
        torch.cuda.synchronize()
    elif device.type == "mps":
        torch.mps.synchronize()
"""


def fixed(header: str, before: str = "") -> str:
    return written(f"import torch\n\n\n{header}\n{before}    torch.cuda.synchronize()\n")


def written(text: str) -> str:
    return fix_source(SourceFile("engine.py", text.encode()), Settings()).text


def test_a_device_that_a_function_is_given_is_the_one_to_wait_for() -> None:
    assert BY_TYPE in fixed("def train(model, device: torch.device):")


@pytest.mark.parametrize("sent", ["model(batch).to(device)", "model(batch[:, 1:], 2).to(device)"])
def test_where_results_go_is_not_where_the_work_is_done(sent: str) -> None:
    text = written(EXTRACT.replace("SENT", sent))
    assert "batch = batch.to(torch_device)" in text
    assert sent in text


def test_where_a_target_goes_may_be_where_the_work_is_done() -> None:
    gated = EXTRACT.replace(
        "        batch = batch.cuda()",
        "        if torch.cuda.is_available():\n            batch = batch.cuda()",
    )
    beside = gated.replace("SENT", "model(batch) - target.to(device)")
    assert written(beside) == beside
    assert "torch_device" in written(gated.replace("SENT", "model(batch).to(device)"))


def test_what_is_computed_with_moved_tensors_and_sent_on_goes_elsewhere() -> None:
    text = written(
        "import torch\n\n\ndef extract(model, batch, storage_device: torch.device):\n"
        "    features = model(batch.cuda())\n    return features.to(storage_device)\n"
    )
    assert "batch.to(storage_device)" not in text
    assert "features.to(storage_device)" in text


EXTRACT = """\
import torch


def extract(model, batches, target, device: torch.device):
    found = []
    for batch in batches:
        batch = batch.cuda()
        found.append(SENT)
    return torch.cat(found)
"""
ENGINE = """\
import torch


def run(model, batch, device: torch.device):
    with torch.cuda.amp.autocast():
        return model(batch.to(device))


def weights(n, device: torch.device):
    return torch.linspace(0, 1, n, dtype=torch.float64, device=device)
"""


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ('"cuda:0"', "torch.device(device).type"),
        ('torch.device("cuda:0")', "device_type=device.type"),
    ],
)
def test_what_somebody_gives_text_is_no_device_whatever_its_annotation_says(
    cli: Cli, project: Path, given: str, asked: str
) -> None:
    (project / "engine.py").write_text(ENGINE)
    (project / "main.py").write_text(
        "import torch\nfrom engine import run, weights\n\n"
        f'device = {given} if torch.cuda.is_available() else "cpu"\n'
        "print(run(torch.nn.Linear(2, 2).to(device), torch.ones(2, 2), device))\n"
        "print(weights(2, device))\n".replace(
            'else "cpu"', 'else "cpu"' if given.startswith('"') else 'else torch.device("cpu")'
        )
    )

    cli("fix", "--no-verify", "--unsafe-fixes", ".")

    text = (project / "engine.py").read_text()
    assert asked in text
    assert ('str(device).startswith("mps")' in text) is given.startswith('"')


def test_what_other_parameters_are_by_default_does_not_matter() -> None:
    assert BY_TYPE in fixed("def train(model, device: torch.device, often: int = 10):")


def test_what_is_asked_besides_cuda_is_asked_for_mps_as_well() -> None:
    text = written(
        "import torch\n\ndevice = torch.device('cuda' if torch.cuda.is_available() else 'mps')\n"
        "net = torch.nn.Linear(3, 3).to(device)\nfor epoch in range(9):\n"
        "    net(torch.ones(3, device=device))\n"
        "    if device.type == 'cuda' and epoch % 3 == 0:\n        torch.cuda.empty_cache()\n"
    )
    assert (
        "    elif device.type == 'mps' and epoch % 3 == 0:\n        torch.mps.empty_cache()" in text
    )


def test_one_whose_only_caller_gives_it_the_device_of_the_machine_asks_it(
    cli: Cli, project: Path
) -> None:
    (project / "README.md").write_text("A project of which all is here.\n")
    (project / "a.py").write_text(
        "import torch\n\n\ndef train(x, device):\n    x = x.to(device)\n"
        "    torch.cuda.synchronize()\n\n\ndef main():\n"
        '    train(torch.ones(3), torch.device("cuda" if torch.cuda.is_available() else "mps"))\n'
        "\n\nmain()\n"
    )
    cli("fix", "--no-verify", "a.py")
    assert BY_TYPE in (project / "a.py").read_text()


@pytest.mark.parametrize(
    ("header", "before"),
    [
        pytest.param("def train(model, device):", "", id="it may be a string"),
        pytest.param("def train(model, device):", "    model.to(device)\n", id="or None"),
        pytest.param(
            "def train(model, device):",
            "    kind = device.type if isinstance(device, torch.device) else device\n",
            id="the function tells them apart",
        ),
        pytest.param(
            "def train(model, device: torch.device = None):",
            "    model.to(device)\n",
            id="it is None unless somebody says otherwise",
        ),
        pytest.param("def train(model):", "", id="there is none"),
        pytest.param(
            "def train(model, device: torch.device):",
            "    device = model.device\n",
            id="it is another one by now",
        ),
        pytest.param(
            "def train(model, device: torch.device):",
            "    model.cuda(model.gpu)\n",
            id="things go to CUDA whatever it is",
        ),
    ],
)
def test_the_machine_is_asked_where_no_device_is_known(header: str, before: str) -> None:
    text = fixed(header, before)
    assert "if torch.cuda.is_available():\n" in text
    assert ".type ==" not in text


def test_a_string_is_asked_as_one() -> None:
    choice = '"cuda:1" if torch.cuda.is_available() else "mps"'
    text = fixed("def train(model):", f"    device = {choice}\n    model.to(device)\n")
    assert '    if device.startswith("cuda"):\n' in text
    assert '    elif device.startswith("mps"):\n' in text


@pytest.mark.parametrize(
    "header",
    [
        'def train(model, device="cuda"):',
        'def train(model, device: str = "cpu"):',
        "def train(model, device):",
    ],
)
def test_what_callers_may_give_is_where_results_go_as_well(header: str) -> None:
    """What runs on CUDA is waited for whatever that is."""
    text = fixed(header, "    model.to(device)\n")
    assert "if torch.cuda.is_available():\n        torch.cuda.synchronize()" in text


def test_an_object_may_keep_where_results_go() -> None:
    text = written(
        "import torch\n\n\nclass Net:\n    def __init__(self, storage='cpu'):\n"
        "        self.device = torch.device(storage)\n\n"
        "    def run(self, x):\n        torch.cuda.synchronize()\n"
        "        return x.to(self.device)\n"
    )
    assert "self.device.type" not in text
    assert "startswith" not in text


def test_an_option_says_where_a_program_shall_run_not_where_it_does() -> None:
    text = written(
        "import argparse\nimport torch\n\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--device', type=str)\nargs = parser.parse_args()\n"
        "device = args.device\nnet = torch.nn.Linear(3, 3).to(device)\n"
        "for x in range(9):\n    net(torch.ones(3, device=device))\n    torch.cuda.synchronize()\n"
    )
    assert "    if torch.cuda.is_available():\n" in text


def test_the_annotation_of_what_returns_text_is_not_believed() -> None:
    text = written(
        "import torch\n\n\ndef get_device() -> torch.device:\n"
        "    return 'cuda' if torch.cuda.is_available() else 'cpu'\n\n\n"
        "device = get_device()\nnet = torch.nn.Linear(3, 3).to(device)\n"
        "net(torch.rand(3, 3).to(device))\ntorch.cuda.synchronize()\n"
    )
    assert "device.type" not in text


def test_a_base_class_may_be_given_another_device(cli: Cli, project: Path) -> None:
    (project / "README.md").write_text("A project of which all is here.\n")
    (project / "base.py").write_text(
        "import torch\n\n\nclass Base:\n    def __init__(self):\n"
        '        self.device = torch.device("cuda" if torch.cuda.is_available() else "mps")\n\n'
        "    def run(self, x):\n        x = x.to(self.device)\n        torch.cuda.synchronize()\n"
    )
    (project / "main.py").write_text(
        "from base import Base\n\nbase = Base()\nbase.device = 'cuda'\nbase.run(1)\n"
    )
    cli("fix", "--no-verify", "base.py")
    assert "self.device.type" not in (project / "base.py").read_text()


def test_the_device_that_the_same_fix_selects_is_asked() -> None:
    text = written(
        "import torch\nfrom torch.utils.data import DataLoader\n\n"
        "loader = DataLoader([], pin_memory=True)\nmodel = torch.nn.Linear(3, 3).cuda()\n"
        "for x in loader:\n    model(x.cuda())\n    torch.cuda.synchronize()\n"
    )
    assert 'pin_memory=device.type == "cuda")' in text
    assert '    if device.type == "cuda":\n        torch.cuda.synchronize()\n' in text


def test_a_torch_without_its_own_module_for_mps_is_not_asked_for_it(
    cli: Cli, project: Path
) -> None:
    (project / "requirements.txt").write_text("torch>=1.12\n")
    (project / "a.py").write_text(
        "import torch\n\n\ndef train(device: torch.device):\n    torch.cuda.synchronize()\n"
    )
    cli("fix", "--no-verify", "a.py")
    assert 'elif hasattr(torch, "mps") and device.type == "mps":' in (project / "a.py").read_text()


def picked(body: str) -> str:
    return written(
        f"import torch\n\n\ndef pick(name):\n{body}\n\ndevice = pick('gpu')\n"
        "net = torch.nn.Linear(3, 3).to(device)\nnet(torch.rand(3, 3).to(device))\n"
        "torch.cuda.synchronize()\n"
    )


_GPU = "    if name == 'gpu':\n        return torch.device('cuda')\n"
_HOST = "return torch.device('cpu')\n"


def test_a_function_that_may_fall_off_its_end_gives_no_sure_device() -> None:
    """`.type` of None raises."""
    assert "device.type" not in picked(f"{_GPU}    elif name == 'host':\n        {_HOST}")


@pytest.mark.parametrize(
    "used",
    [
        '    net.to("cuda")\n',
        '    gpu = "cuda"\n    net.to(gpu)\n',
        '    other = torch.device("cuda")\n    net.to(other)\n',
        '    other = torch.device("cuda:1")\n    x = torch.ones(3, device=other)\n',
        '    layer = torch.nn.Linear(3, 3, device="cuda:1")\n',
    ],
)
def test_a_device_is_not_asked_past_which_things_go_to_cuda(used: str) -> None:
    """The work is on CUDA whatever the function is given."""
    text = fix_once(used)
    assert "device.type ==" not in text


def fix_once(used: str) -> str:
    """What becomes of the wait where the device that is written out stays."""
    text = f"import torch\n\n\ndef run(net, device: torch.device):\n{used}"
    text += "    torch.cuda.synchronize()\n    return net(device)\n"
    settings = Settings()
    return fix_source(SourceFile("engine.py", text.encode()), settings).text
