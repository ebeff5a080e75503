"""What only runs on its backend is asked of the device that the code around it works on."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpslint.fixer import fix_source
from mpslint.settings import Settings
from mpslint.source import SourceFile
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


def test_a_function_that_asks_for_the_type_is_given_a_device() -> None:
    used = '    cuda = device.type != "cpu"\n    model.to(device)\n'
    assert BY_TYPE in fixed("def train(model, device):", used)


def test_so_is_one_whose_only_caller_gives_it_one(cli: Cli, project: Path) -> None:
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


def test_what_may_be_either_is_asked_as_text() -> None:
    text = fixed('def train(model, device="cuda"):', "    model.to(device)\n")
    assert "device.type" not in text
    assert 'if str(device).startswith("cuda"):' in text


def test_an_object_that_keeps_text_is_asked_as_text() -> None:
    text = written(
        "import torch\n\n\nclass Net:\n    def __init__(self, device: str = None):\n"
        "        if device is None:\n"
        '            device = "cuda" if torch.cuda.is_available() else "cpu"\n'
        "        self.device = device\n\n"
        "    def run(self, x):\n        x = x.to(self.device)\n        torch.cuda.synchronize()\n"
    )
    assert 'if str(self.device).startswith("cuda"):' in text
    assert 'elif str(self.device).startswith("mps"):' in text


@pytest.mark.parametrize(
    ("option", "asked"),
    [
        ("'--device', type=str", True),
        ("'-device', default='cuda:0'", True),
        ("'--device', type=int", False),
        ("'--device', type=torch.device", False),
        ("'--device'", False),
    ],
)
def test_an_option_that_is_text_is_asked_as_text(option: str, asked: bool) -> None:
    text = written(
        "import argparse\nimport torch\n\nparser = argparse.ArgumentParser()\n"
        f"parser.add_argument({option})\nargs = parser.parse_args()\n"
        "device = args.device\nnet = torch.nn.Linear(3, 3).to(device)\n"
        "for x in range(9):\n    net(torch.ones(3, device=device))\n    torch.cuda.synchronize()\n"
    )
    assert ("    if str(device).startswith('cuda'):\n" in text) == asked
    assert ("    if torch.cuda.is_available():\n" in text) != asked


def test_the_device_that_the_same_fix_selects_is_asked() -> None:
    text = written(
        "import torch\nfrom torch.utils.data import DataLoader\n\n"
        "loader = DataLoader([], pin_memory=True)\nmodel = torch.nn.Linear(3, 3).cuda()\n"
        "for x in loader:\n    model(x.cuda())\n    torch.cuda.synchronize()\n"
    )
    assert 'pin_memory=device.type == "cuda")' in text
    assert '    if device.type == "cuda":\n        torch.cuda.synchronize()\n' in text


def test_a_device_of_its_own_takes_the_place_of_a_question_for_the_cpu() -> None:
    text = written(
        "import torch\n\n\nclass Engine:\n    def __init__(self, index):\n"
        '        self.device = torch.device("cpu") if index == -1 else torch.device(index)\n'
        '        if self.device != torch.device("cpu"):\n'
        "            torch.cuda.set_device(index)\n\n"
        "    def step(self, x):\n        return x.to(self.device)\n"
    )
    assert '        if self.device.type == "cuda":\n            torch.cuda.set_device(' in text


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
    "rest",
    [
        f"    {_HOST}",
        f"    else:\n        {_HOST}",
        f"    elif name == 'host':\n        {_HOST}    raise ValueError(name)\n",
        f"    try:\n        return torch.device('cuda')\n    except RuntimeError:\n        {_HOST}",
    ],
)
def test_one_that_comes_back_with_a_device_on_all_ways_does(rest: str) -> None:
    assert "if device.type == 'cuda':" in picked(_GPU + rest)


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


def test_what_goes_to_the_device_itself_is_not_past_it() -> None:
    header = "def train(net, on_gpu, data):"
    used = (
        '    device = torch.device("cpu")\n    if on_gpu:\n        device = torch.device("cuda")\n'
        "        net.to(device)\n    data.to(device)\n"
    )
    assert 'if device.type == "cuda":' in fixed(header, used)


def fix_once(used: str) -> str:
    """What becomes of the wait where the device that is written out stays."""
    text = f"import torch\n\n\ndef run(net, device: torch.device):\n{used}"
    text += "    torch.cuda.synchronize()\n    return net(device)\n"
    settings = Settings()
    return fix_source(SourceFile("engine.py", text.encode()), settings).text
