"""Events of mixed precision, refusals, checkpoints, wide dtypes, counts and reads."""

# ruff: noqa: E501 - programs stand on one line, that tables of them can be read

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.semantics.worlds.events import Kind
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

from .conftest import EVERYWHERE, Program, by_machine, found, told

# mixed precision


@pytest.mark.parametrize(
    ("call", "where"),
    [
        ("torch.cuda.amp.autocast()", "cuda"),
        ('torch.autocast("cuda")', "cuda"),
        ('torch.autocast(device_type="cuda", dtype=torch.float16)', "cuda"),
        ('torch.amp.autocast("cuda")', "cuda"),
        ('torch.autocast("cpu")', "cpu"),
    ],
)
def test_autocast_is_for_a_type_of_device(call: str, where: str) -> None:
    (event,) = Program(f"with {call}:\n    work()\n").events(Kind.AUTOCAST)
    assert by_machine(event.value) == " ".join([where] * 5)
    assert event.on_mac


def test_autocast_of_a_variable_is_followed() -> None:
    text = 'kind = "cuda"\nwith torch.autocast(kind):\n    work()\n'
    (event,) = Program(text).events(Kind.AUTOCAST)
    assert by_machine(event.value) == "cuda cuda cuda cuda cuda"


def test_autocast_in_a_name_is_told_of() -> None:
    text = "amp = torch.cuda.amp.autocast\nwith amp():\n    work()\n"
    assert len(Program(text).events(Kind.AUTOCAST)) == 1


@pytest.mark.parametrize(
    "enabled", ["torch.cuda.is_available()", 'device.type == "cuda"', "False", "use_amp"]
)
def test_autocast_that_is_off_on_a_mac_is_not_one_of_a_mac(enabled: str) -> None:
    text = f"""
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        use_amp = device.type == "cuda"
        with torch.autocast("cuda", enabled={enabled}):
            work()
    """
    assert not any(event.on_mac for event in Program(text).events(Kind.AUTOCAST))


# refusals


def refusals(text: str) -> list[str]:
    return found(text, "MPS118")


def test_an_assertion_of_cuda_turns_a_mac_away() -> None:
    text = "assert torch.cuda.is_available()\nx = torch.zeros(3)\nwork(x)\n"
    assert refusals(text) == ["MPS118 assert torch.cuda.is_available()"]


def test_an_exit_without_cuda_turns_a_mac_away() -> None:
    text = 'import sys\n\nif not torch.cuda.is_available():\n    sys.exit("no GPU")\nx = torch.zeros(3)\n'
    assert refusals(text) == ["MPS118 if not torch.cuda.is_available():"]


def test_a_raise_in_the_else_arm_turns_a_mac_away() -> None:
    text = """
        if torch.cuda.is_available():
            device = torch.device("cuda")
        else:
            raise RuntimeError("no GPU")
        x = torch.zeros(3, device=device)
    """
    assert refusals(text) == ["MPS118 if torch.cuda.is_available():"]


def test_a_refusal_of_what_only_cuda_has_is_meant_so() -> None:
    text = """
        def capture(model, x):
            assert torch.cuda.is_available()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                model(x)
            return graph
    """
    assert refusals(text) == []


def test_a_refusal_that_lets_mps_in_is_none() -> None:
    text = "assert torch.cuda.is_available() or torch.backends.mps.is_available()\nx = torch.zeros(3)\n"
    assert refusals(text) == []


def test_a_refusal_of_a_device_that_somebody_chose_is_theirs() -> None:
    text = """
        def check(device):
            if device == "cuda" and not torch.cuda.is_available():
                raise ValueError("no CUDA here")
            return torch.zeros(3, device=device)
    """
    assert refusals(text) == []


def test_a_refusal_that_is_caught_is_none() -> None:
    text = """
        try:
            assert torch.cuda.is_available()
        except AssertionError:
            print("slow")
        x = torch.zeros(3)
    """
    assert refusals(text) == []


# loading


def test_a_load_without_a_place_is_told_of() -> None:
    assert told('x = torch.load("a.pt")\n', Kind.LOADED) == [
        f'x = torch.load("a.pt"): {EVERYWHERE}'
    ]


@pytest.mark.parametrize(
    "load",
    [
        'torch.load("a.pt", map_location="cpu")',
        'torch.load("a.pt", "cpu")',
        'torch.load("a.pt", map_location=lambda storage, loc: storage)',
        'torch.load("a.pt", **options)',
        "torch.load(io.BytesIO(data))",
        'np.load("a.npy")',
    ],
)
def test_a_load_with_a_place_raises_nothing(load: str) -> None:
    assert found(f"import io\nimport numpy as np\n\nx = {load}\n", "MPS413") == []


# wide dtypes


CHOICE = 'device = "cuda" if torch.cuda.is_available() else "cpu"\n'


@pytest.mark.parametrize(
    "wide",
    [
        "x = torch.zeros(3, dtype=torch.float64, device=device)",
        "x = torch.zeros(3, dtype=torch.double).to(device)",
        "x = torch.zeros(3).to(device).double()",
        "x = torch.zeros(3).to(device, torch.float64)",
        "x = torch.zeros(3).to(device=device, dtype=torch.float64)",
        "x = torch.zeros(3, device=device).type(torch.float64)",
        "x = torch.zeros(3, dtype=float, device=device)",
        "x = torch.from_numpy(np.zeros(3)).to(device)",
        "x = torch.tensor(np.zeros(3), device=device)",
        "x = torch.as_tensor(np.random.rand(3)).to(device)",
        "model = torch.nn.Linear(3, 3).double().to(device)",
        "model = torch.nn.Linear(3, 3).to(device).double()",
        "x = torch.zeros(3, dtype=torch.complex128, device=device)",
        "def make():\n    return torch.zeros(3, dtype=torch.float64)\n\nx = make().to(device)",
        "def put(x):\n    return x.to(device)\n\nx = put(torch.zeros(3, dtype=torch.float64))",
    ],
)
def test_a_wide_tensor_on_the_ported_mac_is_told_of(wide: str) -> None:
    text = f"import numpy as np\n\n{CHOICE}{wide}\n"
    worlds = [line.rpartition(": ")[2] for line in told(text, Kind.WIDE)]
    assert worlds == ["PORTED"]


@pytest.mark.parametrize(
    "narrow",
    [
        "x = torch.zeros(3, dtype=torch.float64)",
        "x = torch.zeros(3, dtype=torch.float32, device=device)",
        "x = torch.zeros(3, dtype=torch.float64).float().to(device)",
        "x = torch.zeros(3, device=device).cpu().double()",
        "x = torch.from_numpy(np.zeros(3)).float().to(device)",
        "x = torch.from_numpy(np.zeros(3, dtype=np.float32)).to(device)",
        "x = torch.from_numpy(np.zeros(3).astype(np.float32)).to(device)",
        "x = torch.from_numpy(np.zeros(3).astype('float32')).to(device)",
        "x = torch.tensor(np.zeros(3), dtype=torch.float32, device=device)",
        "x = torch.tensor([1.0, 2.0], device=device)",
        'x = torch.zeros(3, dtype=torch.float64, device="cpu")',
        "x = torch.zeros(3, dtype=torch.float64).to(torch.float32).to(device)",
        "if torch.device(device).type == 'cuda':\n    x = torch.zeros(3, dtype=torch.float64, device=device)",
        "x = torch.zeros(3).to(device, torch.float16)",
    ],
)
def test_what_is_not_wide_on_a_mac_is_not(narrow: str) -> None:
    assert told(f"import numpy as np\n\n{CHOICE}{narrow}\n", Kind.WIDE) == []


# counting, distributed, pinned


@pytest.mark.parametrize(
    "made", ["x = [None] * torch.cuda.device_count()", "batch = 64 * torch.cuda.device_count()",
             "batch = 64 // torch.cuda.device_count()", "n = 64 / torch.cuda.device_count()"]
)  # fmt: skip
def test_something_made_of_the_number_of_gpus_is_told_of(made: str) -> None:
    assert len(Program(made + "\n").events(Kind.COUNTED)) == 1


@pytest.mark.parametrize(
    "made",
    [
        "print(torch.cuda.device_count())",
        "n = max(1, torch.cuda.device_count())",
        "if torch.cuda.device_count() > 1:\n    batch = 64 * torch.cuda.device_count()",
        "if torch.cuda.is_available():\n    batch = 64 * torch.cuda.device_count()",
    ],
)
def test_a_number_that_is_not_0_or_only_shown_is_not(made: str) -> None:
    assert Program(made + "\n").events(Kind.COUNTED) == []


def test_what_only_cuda_can_come_to_is_silent() -> None:
    text = """
        import flash_attn

        x = torch.zeros(3).cuda()
        torch.cuda.synchronize()
    """
    assert found(text, "MPS102", "MPS201", severity="breaks") == []


def test_a_wait_is_told_with_the_move_that_raises_before_it() -> None:
    text = b"import torch\n\nx = torch.zeros(3).cuda()\ntorch.cuda.synchronize()\n"
    move, wait = lint(SourceFile("net.py", text), Settings())
    assert (move.code, wait.code) == ("MPS102", "MPS201")
    assert [label.row for label in wait.labels] == [move.row]


# reading


@pytest.mark.parametrize(
    "read", ["y.numpy()", "np.asarray(y)", "np.array(y)", "y.detach().numpy()"]
)
def test_numpy_of_a_tensor_on_the_ported_mac_is_a_read_there(read: str) -> None:
    text = f"import numpy as np\n\n{CHOICE}y = torch.zeros(3).to(device)\nz = {read}\n"
    (event,) = Program(text).events(Kind.READ)
    assert by_machine(event.value) == "cuda cuda cpu mps cpu"
