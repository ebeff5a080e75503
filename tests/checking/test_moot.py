"""What only happens on MPS is told of no module whose data never get there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Cli
from tests.worlds.conftest import found

_TRAINING = """
{needs}
import torch


def train(model, graph, labels, steps):
    device = torch.device({device})
    model.to(device)
    total = 0.0
    for _ in range(steps):
        loss = model(graph, torch.rand(3, device=device)).sum()
        loss.backward()
        total += loss.item()
    print(total, torch.cuda.max_memory_allocated())
"""
_CHOICE = '"cuda" if torch.cuda.is_available() else "cpu"'
_WITH_MPS = f'"mps" if torch.backends.mps.is_available() else {_CHOICE}'
_OPTIONAL = "try:\n    import dgl\nexcept ImportError:\n    dgl = None"


def _codes(needs: str, device: str = _CHOICE) -> list[str]:
    text = _TRAINING.format(needs=needs, device=device)
    rules = ("MPS103", "MPS203", "MPS303")
    return [rule for rule in rules if found(text, rule)]


def test_a_program_that_computes_in_float64_waits_for_no_gpu() -> None:
    assert _codes("import torch\ntorch.set_default_dtype(torch.float64)") == []


_WIDE = "import torch\nfrom torch import half\ntorch.set_default_dtype(torch.float64)"


@pytest.mark.parametrize(
    "cast",
    [
        "x.to(torch.float32)",
        "x.to(device, dtype=torch.bfloat16)",
        "x.type(half)",
        "x.type(torch.HalfTensor)",
        "x.float()",
        "(x - y).half()",
    ],
)
def test_a_program_that_casts_to_what_mps_has_may_wait_for_it(cast: str) -> None:
    narrow = f"{_WIDE}\n\n\ndef cast(x, y, device):\n    return {cast}\n"
    assert _codes(narrow) == ["MPS203", "MPS303"]


@pytest.mark.parametrize(
    "cast", ["x.to(torch.float64)", "x.to(torch.int32)", "(x == y).float()", "float(x)", "x.float"]
)
def test_other_casts_leave_it_on_the_cpu(cast: str) -> None:
    wide = f"{_WIDE}\n\n\ndef cast(x, y):\n    return {cast}\n"
    assert _codes(wide) == []


def test_float64_by_a_switch_leaves_a_gpu_to_wait_for() -> None:
    wide = "import sys, torch\nif 'wide' in sys.argv:\n    torch.set_default_dtype(torch.float64)"
    assert _codes(wide) == ["MPS103", "MPS203", "MPS303"]


@pytest.mark.parametrize(
    "needs",
    [
        "import dgl",
        "from dgl.nn import GraphConv",
        "from pytorch3d.renderer import look_at_view_transform, MeshRasterizer",
        "from pytorch3d.loss import chamfer_distance as distance",
        "from pytorch3d.renderer.points import PulsarPointsRenderer",
        "from pytorch3d.renderer.points.pulsar import Renderer",
        "from pytorch3d.renderer.mesh import rasterize_meshes",
        "from kaolin.ops.mesh import check_sign",
        "from natten import NeighborhoodAttention2D",
        "import k2",
        "from pytorch3d.ops import knn_points",
        "from fast_transformers.causal_product import causal_dot_product",
    ],
)
def test_a_module_that_needs_graphs_without_mps_waits_for_no_gpu(needs: str) -> None:
    assert _codes(needs) == []


@pytest.mark.parametrize(
    "needs",
    [
        "",
        _OPTIONAL,
        "import networkx",
        "from pytorch3d.transforms import so3_exp_map",
        "from pytorch3d.renderer.cameras import PerspectiveCameras",
        "from renderer.points import PulsarPointsRenderer",
        "from pytorch3d.ops import cubify",
        "from fast_transformers.builders import TransformerEncoderBuilder",
    ],
)
def test_a_module_that_does_without_them_does(needs: str) -> None:
    assert _codes(needs) == ["MPS103", "MPS203", "MPS303"]


@pytest.mark.parametrize(
    "needs",
    [
        "from torch_sparse import SparseTensor\n\n\n"
        "def load(rows, device):\n    return SparseTensor(row=rows[0], col=rows[1]).to(device)\n",
        "import torch_sparse\n\n\ndef load(rows, device):\n"
        "    edges = torch_sparse.SparseTensor(row=rows[0], col=rows[1])\n"
        "    return edges.to(device)\n",
        "import torch_geometric.transforms as T\n\n\n"
        "def load(read):\n    return read(transform=T.ToSparseTensor())\n",
        "import torch_geometric.transforms as T\n\nif __name__ == '__main__':\n"
        "    print(T.ToSparseTensor())\n",
    ],
)
def test_a_module_that_makes_graphs_without_mps_waits_for_no_gpu(needs: str) -> None:
    assert _codes(needs) == []


@pytest.mark.parametrize(
    "needs",
    [
        "from torch_sparse import SparseTensor\n\n\n"
        "def is_sparse(edges):\n    return isinstance(edges, SparseTensor)\n",
        "from torch_sparse import SparseTensor\n\n\n"
        "def counts(rows):\n    edges = SparseTensor(row=rows[0], col=rows[1])\n"
        "    return edges.sum(dim=1)\n",
        "import torch_geometric.transforms as T\n\n\n"
        "def load(read):\n    return read(transform=T.ToUndirected())\n",
        "import torch_geometric.transforms as T\n\n\n"
        "def load(read):\n    return read(transform=T.ToSparseTensor(layout=torch.sparse_csr))\n",
        "import torch_geometric\nimport torch_geometric.transforms as T\n\nused = []\n"
        "if torch_geometric.typing.WITH_TORCH_SPARSE:\n    used.append(T.ToSparseTensor())\n",
    ],
)
def test_one_that_only_takes_such_graphs_may_be_given_others(needs: str) -> None:
    assert _codes(needs) == ["MPS103", "MPS203", "MPS303"]


_GIVEN = """
import torch
{needs}

class Net(torch.nn.Module):
    def encode(self, graph, x):
        {asked}

    def forward(self, graph, x):
        for part in graph.parts:
            x = x + part.counts.sum().item()
        return x


def train(model, labels, steps):
    model.cuda()
    total = 0.0
    for _ in range(steps):
        loss = model(labels, torch.rand(3, device="cuda")).sum()
        loss.backward()
        total += loss.item()
    print(total)
"""


def _waits_given(asked: str, needs: str = "") -> list[str]:
    text = _GIVEN.format(asked=asked, needs=needs)
    return ["loop" if "loss" in line else "net" for line in found(text, "MPS303")]


@pytest.mark.parametrize(
    "asked",
    [
        "with graph.local_scope():\n            return x",
        "graph.apply_edges(max)",
        "graph.edata['x'] = x + graph.srcdata['x']",
        "return [graph.edata['x'] for _ in graph.srcdata]",
    ],
)
def test_a_class_that_is_given_such_graphs_waits_for_no_gpu(asked: str) -> None:
    assert _waits_given("pass") == ["net", "loop"]
    assert _waits_given(asked) == ["loop"]


@pytest.mark.parametrize(
    "asked",
    [
        "graph.update_all(max)",
        "return graph.ndata",
        "return graph.edata",
        "return graph.edata, x.srcdata",
        "return self.edata, self.srcdata",
        "graph = make()\n        graph.apply_edges(max)",
        "graph.parts.apply_edges(max)",
    ],
)
def test_what_other_data_may_have_says_nothing_of_those_that_are_given(asked: str) -> None:
    assert _waits_given(asked) == ["net", "loop"]


_ASKED = "def pass_on(graph, x):\n    with graph.local_scope():\n        return x\n"


def test_a_function_that_is_given_such_graphs_says_nothing_of_its_module() -> None:
    assert _codes(_ASKED) == ["MPS103", "MPS203", "MPS303"]


@pytest.mark.parametrize(
    "needs",
    [
        "def as_graph(x):\n    import dgl\n    return dgl.graph(x)\n",
        "class Graph:\n    def __init__(self, x):\n        self.srcdata = x\n",
        "class Graph:\n    def local_scope(self):\n        return self.data\n",
    ],
)
def test_a_module_that_makes_graphs_of_its_own_waits_for_the_gpu(needs: str) -> None:
    assert _waits_given("graph.local_scope()") == ["loop"]
    assert _waits_given("graph.local_scope()", needs) == ["net", "loop"]


def test_who_chooses_mps_computes_on_other_data() -> None:
    assert "MPS303" in _codes("import dgl", _WITH_MPS)


def test_what_raises_on_a_mac_raises_without_a_gpu() -> None:
    assert found("import dgl\nimport torch\n\nx = torch.rand(3).cuda()\n", "MPS102") != []


_CUDA = "import torch\n\n\ndef test_sampler():\n    assert torch.rand(3).cuda().sum() > 0\n"


@pytest.mark.parametrize(
    ("folder", "told"),
    [
        ("tests/cuda", False),
        ("test/python/cuda/ops", False),
        ("tests", True),
        ("tests/gpu", True),
        ("tests/cudart", True),
        ("cuda", True),
        ("cuda/tests", True),
    ],
)
def test_tests_in_a_folder_for_cuda_run_where_cuda_is(
    cli: Cli, project: Path, folder: str, told: bool
) -> None:
    (project / folder).mkdir(parents=True)
    (project / folder / "test_sampler.py").write_text(_CUDA)
    assert ("MPS102" in cli("check", ".").out) is told


def test_a_test_in_such_a_folder_that_names_mps_means_that_as_well(cli: Cli, project: Path) -> None:
    (project / "tests" / "cuda").mkdir(parents=True)
    more = "\n\ndef test_mps():\n    assert torch.backends.mps.is_available()\n"
    (project / "tests" / "cuda" / "test_sampler.py").write_text(_CUDA + more)
    assert "MPS102" in cli("check", ".").out


_BENCHMARK = """
import argparse

import {driver}
import torch


def used():
    {driver}.nvmlInit()
    handle = {driver}.nvmlDeviceGetHandleByIndex(0)
    return {driver}.nvmlDeviceGetMemoryInfo(handle).used


def benchmark(model, steps):
    for step in range(steps):
        model(torch.rand(3).cuda())
        {asked}


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--memory", action="store_true")
    args = parser.parse_args()
    benchmark(torch.nn.Linear(3, 3).cuda(), 10)
"""


def _moves(asked: str, driver: str = "pynvml") -> int:
    return len(found(_BENCHMARK.format(asked=asked, driver=driver), "MPS102"))


@pytest.mark.parametrize("driver", ["pynvml", "nvidia_smi"])
def test_a_program_that_asks_nvidias_driver_measures_nvidias_gpus(driver: str) -> None:
    assert _moves("print(used())", driver) == 0


@pytest.mark.parametrize(
    "asked",
    [
        "print(step)",
        "if args.memory:\n            print(used())",
        "if torch.cuda.is_available():\n            print(used())",
        "try:\n            print(used())\n        except Exception:\n            pass",
    ],
)
def test_one_that_can_do_without_the_driver_runs_elsewhere(asked: str) -> None:
    assert _moves(asked) == 2


def test_a_library_that_can_ask_the_driver_is_for_all() -> None:
    program = _BENCHMARK.format(asked="print(used())", driver="pynvml")
    moved = "def moved(x):\n    return x.cuda()\n\n\n"
    library = program.partition("if __name__")[0] + moved
    assert len(found(library, "MPS102")) == 1
    assert found(program.replace("if __name__", moved + "if __name__"), "MPS102") == []


_LAYER = """
import torch
{above}

class Layer(torch.nn.Module):
    def __init__(self, cutoff):
        super().__init__()
        {within}
        self.near = torch.nn.Linear(3, 3)

    def forward(self, x, batch):
        assert torch.all(batch == 0)
        return self.near(x).cuda()
"""
_IMPORT = "from NNPOps.CFConv import CFConv"


def test_an_object_made_of_operators_for_cuda_and_the_cpu_is_on_no_mac_s_gpu() -> None:
    layer = _LAYER.format(above="", within=_IMPORT)
    assert found(layer, "MPS306") == []
    assert len(found(layer, "MPS102")) == 1  # It runs on a Mac's CPU.


@pytest.mark.parametrize(
    ("above", "within"),
    [
        ("", ""),
        ("", "from torch.nn import ReLU"),
        ("", f"if cutoff:\n            {_IMPORT}"),
        (_IMPORT, ""),
    ],
)
def test_one_that_can_be_made_without_them_may_be(above: str, within: str) -> None:
    assert len(found(_LAYER.format(above=above, within=within), "MPS306")) == 1


_REDUCED = """
import torch
import torch.distributed as dist


def gather(scores, args):
    if args.apex:
        totals = torch.cuda.FloatTensor(scores)
        {then}
        return totals.cpu()
    return scores
"""


@pytest.mark.parametrize(
    ("then", "told"),
    [
        ("dist.all_reduce(totals)", False),
        ("dist.all_reduce(totals, op=dist.ReduceOp.SUM)", False),
        ("if args.ranks > 1: dist.all_reduce(totals)", True),
        ("dist.all_reduce(torch.tensor(scores))", True),
        ("dist.barrier()", True),
    ],
)
def test_a_tensor_that_is_made_for_other_processes_is_on_no_mac(then: str, told: bool) -> None:
    assert bool(found(_REDUCED.format(then=then), "MPS111")) is told


_MEASURED = """
import torch


def measure(model, sizes):
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    {leave}
    model = model.to(device)
    used = []
    for size in sizes:
        {reset}
        model(torch.rand(size, device=device))
        used.append(torch.cuda.max_memory_allocated())
        torch.cuda.empty_cache()
    return used
"""
_RETURNS = "if not torch.cuda.is_available(): return None"
_RESETS = "torch.cuda.reset_peak_memory_stats()"


@pytest.mark.parametrize(
    ("leave", "reset", "told"),
    [(_RETURNS, _RESETS, False), (_RETURNS, "pass", True), ("pass", _RESETS, True)],
)
def test_who_returns_without_cuda_to_measure_its_memory_has_nothing_to_do_on_a_mac(
    leave: str, reset: str, told: bool
) -> None:
    assert bool(found(_MEASURED.format(leave=leave, reset=reset), "MPS202")) is told


_ARM = """
import torch


def main(model, loader, optimizer, device, track):
    total = 0.0
    flag = torch.cuda.is_available()
    if {asked}:
        {before}
        torch.cuda.reset_peak_memory_stats()
        for x, y in loader:
            loss = model(x.to("cuda")).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        {behind}
        print(torch.cuda.max_memory_allocated())
    return total
"""
_EMPTIES = "torch.cuda.empty_cache()"


def _told_of_an_arm(
    asked: str = "torch.cuda.is_available()", before: str = "pass", behind: str = "pass"
) -> list[str]:
    text = _ARM.format(asked=asked, before=before, behind=behind)
    return [rule for rule in ("MPS101", "MPS202", "MPS303") if found(text, rule)]


@pytest.mark.parametrize(
    "asked", ["torch.cuda.is_available()", "track and torch.cuda.is_available()", "flag"]
)
def test_a_loop_between_what_measures_its_memory_is_told_of(asked: str) -> None:
    assert _told_of_an_arm(asked) == ["MPS101", "MPS303"]


@pytest.mark.parametrize("asked", ["torch.cuda.is_available()", "track and flag"])
@pytest.mark.parametrize("ready", [_EMPTIES, f"torch.cuda.synchronize()\n        {_EMPTIES}"])
def test_what_makes_memory_ready_to_be_measured_is_for_cuda(asked: str, ready: str) -> None:
    assert "MPS202" not in _told_of_an_arm(asked, before=ready, behind=ready)


@pytest.mark.parametrize(
    "before", [f"{_EMPTIES}\n        model.train()", f"if track:\n            {_EMPTIES}"]
)
def test_what_lets_memory_go_elsewhere_in_such_an_arm_is_told_of(before: str) -> None:
    assert "MPS202" in _told_of_an_arm(before=before)


_OF_CARDS = """
import argparse

import torch

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices={cards}, {more})
    args = parser.parse_args()
    torch.nn.Linear(3, 3).cuda()
"""


def _told_of_cards(cards: list[str], more: str = "required=True") -> int:
    return len(found(_OF_CARDS.format(cards=cards, more=more), "MPS102"))


def test_a_program_that_must_be_told_one_of_nvidias_cards_measures_these() -> None:
    assert _told_of_cards(["4090", "a100"]) == 0
    assert _told_of_cards(["RTX-3080 Ti", "V100-32GB"]) == 0


def test_a_program_that_takes_other_devices_or_none_is_for_all() -> None:
    assert _told_of_cards(["4090", "m1"]) == 1
    assert _told_of_cards(["4090", "a100"], 'default="a100"') == 1
    assert _told_of_cards([]) == 1


_SCALED = """
import torch
from torch import nn


class Linear(nn.Linear):
    def forward(self, x):
        return self.scaled(x)

    def scaled(self, x):
        rows = x.abs().amax(dim=-1, keepdim=True) / 448.0
        columns = torch.ones((self.weight.shape[0], 1)).to(x.device)
        {product}
        return {result}


print(Linear(8, 8).to("mps")(torch.rand(8, 8, device="mps")))
"""
_PRODUCT = "torch._scaled_mm(x, self.weight.T, scale_a=rows, scale_b=columns.T)"


def _waits(product: str, result: str) -> bool:
    return bool(found(_SCALED.format(product=product, result=result), "MPS310"))


def test_a_product_of_float8_matrices_waits_on_no_mac() -> None:
    assert not _waits("pass", _PRODUCT)


@pytest.mark.parametrize(
    ("product", "result"),
    [
        ("pass", "torch.mm(x, self.weight.T) * columns.T"),
        (f"if x.dtype is self.narrow:\n            return {_PRODUCT}", "x * columns.T"),
        ("pass", f"{_PRODUCT} if self.narrow else x * columns.T"),
    ],
)
def test_a_product_that_may_be_of_other_numbers_is_told(product: str, result: str) -> None:
    assert _waits(product, result)


_SETUP = """
import torch
from setuptools import find_packages, setup
from torch.utils.cpp_extension import BuildExtension, CppExtension, CUDAExtension


def architecture():
    major, minor = torch.cuda.get_device_capability()
    return f"-arch=sm_{{major}}{{minor}}"


setup(
    name="kernels",
    {packages}ext_modules=[{extensions}],
    cmdclass={{"build_ext": BuildExtension}},
)
"""
_KERNELS = 'CUDAExtension("kernels", ["scan.cu"], extra_compile_args=[architecture()])'


@pytest.mark.parametrize("packages", ["", "packages=[], "])
def test_a_script_that_installs_kernels_of_cuda_alone_is_run_where_cuda_is(packages: str) -> None:
    assert found(_SETUP.format(packages=packages, extensions=_KERNELS), "MPS206") == []


@pytest.mark.parametrize(
    ("packages", "extensions"),
    [
        ("packages=find_packages(), ", _KERNELS),
        ("py_modules=['scan'], ", _KERNELS),
        ("", f'{_KERNELS}, CppExtension("scan", ["scan.cpp"])'),
    ],
)
def test_a_script_that_installs_more_is_run_everywhere(packages: str, extensions: str) -> None:
    assert found(_SETUP.format(packages=packages, extensions=extensions), "MPS206")
