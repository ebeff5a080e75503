"""Many copies of the same dispatch become one function of the file."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Cli

_HEAD = """import torch

device = torch.device("mps" if torch.backends.mps.is_available() else "cuda")
"""
_HELPER = """

def {name}():
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    elif torch.backends.mps.is_available():
        torch.mps.synchronize()
"""
_WAITS = """

def {name}(x):
    y = x @ x
    torch.cuda.synchronize()
    return y
"""


def test_three_calls_share_a_function_below_the_device_that_it_asks(
    cli: Cli, project: Path
) -> None:
    text = _fixed(cli, project, _HEAD + "".join(_WAITS.format(name=name) for name in "abc"))

    helper = _HELPER.format(name="synchronize")
    helper = helper.replace("torch.cuda.is_available()", 'device.type == "cuda"')
    helper = helper.replace("torch.backends.mps.is_available()", 'device.type == "mps"')
    assert text.startswith(_HEAD + helper + "\n\ndef a")
    assert text.count("    synchronize()\n    return y") == 3


def test_the_function_asks_the_machine_where_each_call_has_a_device_of_its_own(
    cli: Cli, project: Path
) -> None:
    waits = "".join(_WAITS.format(name=name) for name in "abc")
    text = _fixed(cli, project, _HEAD + waits.replace("(x):", "(x, device: torch.device):"))

    assert text.startswith("import torch\n" + _HELPER.format(name="synchronize") + "\n\ndevice")


def test_the_function_stands_behind_what_is_chosen_with_the_device(cli: Cli, project: Path) -> None:
    head = _HEAD + "place = None if torch.cuda.is_available() else 'cpu'\n"
    text = _fixed(cli, project, head + "".join(_WAITS.format(name=name) for name in "abc"))

    assert text.index("place = ") < text.index("def synchronize")


def test_it_stands_below_a_device_that_fixes_choose(cli: Cli, project: Path) -> None:
    moves = "net = torch.nn.Linear(2, 2).cuda()\n"
    text = "import torch\n\n" + "".join(_WAITS.format(name=name) for name in "abc") + "\n\n" + moves
    fixed = _fixed(cli, project, text)

    assert fixed.index("    device = ") < fixed.index("def synchronize")


def test_so_do_two_that_ask_the_same(cli: Cli, project: Path) -> None:
    text = _fixed(cli, project, _HEAD + "".join(_WAITS.format(name=name) for name in "ab"))

    assert text.count('elif device.type == "mps":') == 1
    assert text.count("    synchronize()\n    return y") == 2


def test_two_that_ask_devices_of_their_own_are_written_in_place(cli: Cli, project: Path) -> None:
    waits = "".join(_WAITS.format(name=name) for name in "ab")
    text = _fixed(cli, project, _HEAD + waits.replace("(x):", "(x, device: torch.device):"))

    assert text.count('elif device.type == "mps":') == 2
    assert "def synchronize" not in text


def test_one_call_is_written_in_place(cli: Cli, project: Path) -> None:
    assert "def synchronize" not in _fixed(cli, project, _HEAD + _WAITS.format(name="a"))


def test_a_function_that_is_there_serves_one_call(cli: Cli, project: Path) -> None:
    script = _HEAD + _HELPER.format(name="wait_here") + _WAITS.format(name="a")

    text = _fixed(cli, project, script)

    assert "    wait_here()\n    return y" in text


def test_a_function_that_asks_an_old_torch_first_serves_as_well(cli: Cli, project: Path) -> None:
    helper = _HELPER.format(name="wait_here").replace("elif ", 'elif hasattr(torch, "mps") and ')

    text = _fixed(cli, project, _HEAD + helper + _WAITS.format(name="a"))

    assert "    wait_here()\n    return y" in text


def test_one_that_does_more_serves_none(cli: Cli, project: Path) -> None:
    helper = _HELPER.format(name="wait_here") + "    print('waited')\n"

    text = _fixed(cli, project, _HEAD + helper + _WAITS.format(name="a"))

    assert "    wait_here()" not in text
    assert text.count("torch.mps.synchronize()") == 2


def test_a_name_that_is_taken_is_left_alone(cli: Cli, project: Path) -> None:
    taken = "from tools import synchronize\n"

    text = _fixed(cli, project, taken + _HEAD + "".join(_WAITS.format(name=name) for name in "abc"))

    assert "def synchronize_device():" in text
    assert text.count("    synchronize_device()\n    return y") == 3


def test_calls_with_a_device_stay_as_they_are_asked(cli: Cli, project: Path) -> None:
    waits = "".join(_WAITS.format(name=name) for name in "abc").replace("nize()", "nize(0)")

    text = _fixed(cli, project, _HEAD + waits)

    assert "def synchronize" not in text
    assert text.count("torch.cuda.synchronize(0)") == 3


def test_memory_is_released_by_one_function(cli: Cli, project: Path) -> None:
    body = "def run(net, loader):\n    net.to(device)\n    for x in loader:\n"
    step = "        net(x.to(device))\n        torch.cuda.empty_cache()\n"
    script = f"{_HEAD}\n\n{body}{step * 3}        net(x.to(device))\n\n\nrun(torch.nn.ReLU(), [])\n"

    text = _fixed(cli, project, script)

    assert text.count("        empty_cache()\n") == 3
    assert text.count("torch.mps.empty_cache()") == 1


def _fixed(cli: Cli, project: Path, text: str) -> str:
    script = project / "run.py"
    script.write_text(text)
    ran = cli("fix", "--no-verify", "--no-cache", "run.py")
    assert ran.code in (0, 1), ran.err
    return script.read_text()
