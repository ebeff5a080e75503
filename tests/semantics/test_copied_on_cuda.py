"""A copy to the CPU that only CUDA makes, of what somebody takes who does not see that."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from mpslint.fixing.fixer import fix_source
from mpslint.project.project import Project
from mpslint.semantics.context import Context
from mpslint.semantics.destinations.copied_on_cuda import copied_on_cuda
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

HEAD = "import torch\nimport numpy as np\nGPU = torch.cuda.is_available()\nkept = []\n"


def rows(text: str) -> list[int]:
    source = SourceFile("program.py", (HEAD + textwrap.dedent(text)).encode())
    context = Context(source, source.parse(), Settings(), None)
    return [node.lineno - HEAD.count("\n") for node in copied_on_cuda(context)]


GOING_ON = {
    "a function that is given to NumPy": (
        2,
        """\
        def host(t):
            return t.detach().cpu() if GPU else t.detach()

        def seen(t):
            return np.asarray(host(t))
        """,
    ),
    "a method": (
        6,
        """\
        class Matcher:
            def __init__(self, gpu):
                self.gpu = gpu

            def host(self, t):
                return t.cpu() if self.gpu else t

            def __call__(self, t):
                return solve(self.host(t))
        """,
    ),
    "a list": (2, "def keep(t):\n    kept.append(t.to('cpu') if GPU else t)\n"),
    "a sum": (3, "def add(t):\n    global kept\n    kept += t if not GPU else t.cpu()\n"),
    "a name": (
        3,
        """\
        def add(t):
            if GPU:
                t = t.cpu()
            kept.append(t)
        """,
    ),
    "a hook's table": (
        4,
        """\
        acts = {}
        def keep(name):
            def hook(module, inputs, output):
                acts[name] = output if not output.is_cuda else output.detach().cpu()
            return hook
        """,
    ),
    "a test that asks for an attribute": (
        2,
        """\
        def host(t):
            return t.cpu() if getattr(t, "is_cuda", False) else t

        print({"x": host(torch.ones(1))})
        """,
    ),
}


@pytest.mark.parametrize("name", GOING_ON)
def test_what_only_cuda_copies_goes_on(name: str) -> None:
    row, text = GOING_ON[name]
    assert rows(text) == [row]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("def keep(t):\n    kept.append(t.cpu())\n", id="on each machine"),
        pytest.param(
            "def seen(t):\n    return (t.cpu() if GPU else t).numpy()\n", id="a read that is mended"
        ),
        pytest.param(
            """\
            def host(t):
                return t.cpu() if GPU else t

            def seen(t):
                return host(t).numpy()
            """,
            id="a read of a result that is mended",
        ),
        pytest.param(
            "def keep(t):\n    kept.append(t.cpu().numpy() if GPU else t.numpy())\n",
            id="a read in each arm that is mended",
        ),
        pytest.param(
            """\
            def made(args, net):
                if not args.cuda:
                    net = net.cpu()
                return fitted(net)
            """,
            id="where CUDA is not",
        ),
        pytest.param(
            "def show(t):\n    t = t.cpu() if GPU else t\n    print(t, t.item())\n", id="only shown"
        ),
        pytest.param(
            """\
            def keep(t):
                if not GPU:
                    return
                kept.append(t.cpu() if torch.is_tensor(t) else t)
            """,
            id="no Mac comes to the test",
        ),
        pytest.param(
            "def keep(t):\n    kept.append(t.cpu() if GPU else t.to('cpu'))\n", id="both copy"
        ),
    ],
)
def test_nothing_goes_on_that_a_mac_has_on_its_gpu(text: str) -> None:
    assert rows(text) == []


def test_a_choice_is_in_doubt_where_another_file_copies_for_cuda_alone(tmp_path: Path) -> None:
    (tmp_path / "util.py").write_text(
        "import torch\nGPU = torch.cuda.is_available()\n"
        "def host(t):\n    return t.cpu() if GPU else t\n"
    )
    text = (
        "import torch\nfrom util import host\n"
        'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")\n'
        "print(host(torch.ones(2).to(device)).numpy())\n"
    )
    settings = Settings(root=str(tmp_path))
    source = SourceFile(str(tmp_path / "program.py"), text.encode())
    result = fix_source(source, settings, elsewhere=Project(settings))
    assert result.text == text
    messages = [one.fix.message for one in result.remaining if one.fix is not None]
    assert any("util.py, line 4: t.cpu() is copied to the CPU" in one for one in messages)
