"""What names stand for, however they came into the file."""

from __future__ import annotations

import pytest
from probing import probe


@pytest.mark.parametrize(
    "program",
    [
        "import torch\nprobe(torch.cuda.is_available)",
        "import torch as th\nprobe(th.cuda.is_available)",
        "import torch.cuda\nprobe(torch.cuda.is_available)",
        "from torch import cuda\nprobe(cuda.is_available)",
        "from torch.cuda import is_available as ready\nprobe(ready)",
        "def f():\n    import torch\n    probe(torch.cuda.is_available)",
        "import torch\ncuda = torch.cuda\nprobe(cuda.is_available)",
        "try:\n    import torch\nexcept ImportError:\n    torch = None\n"
        "probe(torch.cuda.is_available)",
        'import pytest\ntorch = pytest.importorskip("torch")\nprobe(torch.cuda.is_available)',
        'import importlib\nt = importlib.import_module("torch")\nprobe(t.cuda.is_available)',
    ],
)
def test_every_way_to_import_torch_leads_to_the_same_name(program: str) -> None:
    context, node = probe(program)
    assert context.resolve(node) == "torch.cuda.is_available"


@pytest.mark.parametrize(
    "program",
    [
        "import torch\ndef f(torch):\n    probe(torch.cuda.is_available)",
        "import torch\ntorch = make()\nprobe(torch.cuda.is_available)",
        "from mylib import torch\nprobe(torch.cuda.is_available)",
        "probe(torch.cuda.is_available)",
        "def f():\n    import torch\nprobe(torch.cuda.is_available)",
        "import torch\nprobe([torch.cuda.is_available for torch in mocks][0])",
    ],
)
def test_a_name_that_something_else_shadows_is_not_torch(program: str) -> None:
    context, node = probe(program)
    assert context.resolve(node) != "torch.cuda.is_available"


def test_a_class_hides_its_names_from_its_methods() -> None:
    context, node = probe(
        """
        import torch
        class Runner:
            torch = None
            def run(self):
                probe(torch.device)
        """
    )
    assert context.resolve(node) == "torch.device"


def test_what_has_several_homes_in_torch_has_one_name() -> None:
    context, node = probe("from torch.amp.autocast_mode import autocast\nprobe(autocast)")
    assert context.resolve(node) == "torch.autocast"


def test_relative_imports_keep_their_dots() -> None:
    context, node = probe("from .torch import cuda\nprobe(cuda.is_available)")
    assert context.resolve(node) == ".torch.cuda.is_available"


def test_two_names_that_are_bound_to_each_other_end() -> None:
    context, node = probe("a = b\nb = a\nprobe(a.x)")
    assert context.resolve(node) is None


def test_a_module_that_an_object_keeps_is_the_same_module() -> None:
    context, node = probe(
        """
        import torch as th
        class Beam:
            def __init__(self, size):
                self.tt = th.cuda
            def first(self):
                probe(self.tt.LongTensor)
        """
    )
    assert context.resolve(node) == "torch.cuda.LongTensor"


@pytest.mark.parametrize(
    "program",
    [
        "class Beam:\n    def __init__(self, cuda):\n        self.tt = torch.cuda\n"
        "        if not cuda:\n            self.tt = torch\n"
        "    def f(self):\n        probe(self.tt.X)",
        "class Beam:\n    def __init__(self):\n        self.tt = torch.cuda\n"
        "class Other:\n    def f(self):\n        probe(self.tt.X)",
        "class Beam:\n    tt = None\n    def __init__(self):\n        self.tt = torch.cuda\n"
        "    def f(self):\n        probe(self.tt.X)",
        "class Beam:\n    def __init__(self, torch):\n        self.tt = torch.cuda\n"
        "    def f(self):\n        probe(self.tt.X)",
        "class Beam:\n    def __init__(self, other):\n        other.tt = torch.cuda\n"
        "    def f(self):\n        probe(self.tt.X)",
        "class Beam:\n    def __init__(self):\n        self.tt = torch.cuda\n"
        "    def f(self, other):\n        probe(other.tt.X)",
        "class Beam:\n    def __init__(self):\n        self.tt = torch.cuda\n"
        "def swap(beam):\n    beam.tt = torch\n"
        "class Late(Beam):\n    def f(self):\n        probe(self.tt.X)",
    ],
)
def test_what_may_be_another_module_than_the_one_that_was_kept_has_no_name(program: str) -> None:
    context, node = probe(f"import torch\n{program}")
    assert context.resolve(node) is None
