"""What the tables know of packages decides whom a line is for: one that only CUDA has ends the way
of a Mac, one whose calls need CUDA ends it there, and one that falls back by itself places nothing.
"""

from __future__ import annotations

import pytest

from mpslint.facts.priors import kernels_of, package_worlds
from tests.worlds.conftest import found

_IMPORTING = "{needs}\nimport torch\n\nx = torch.rand(3).cuda()\n"
_OPTIONAL = "try:\n    import {name}\nexcept ImportError:\n    {name} = None"


@pytest.mark.parametrize(
    "name",
    [
        "diff_gaussian_rasterization",
        "tinycudann",
        "fla",
        "liger_kernel",
        "megablocks",
        "fbgemm_gpu",
        "torchrec",
        "cugraph",
        "rmm",
    ],
)
def test_what_follows_the_import_of_a_package_for_cuda_is_for_cuda(name: str) -> None:
    assert found(_IMPORTING.format(needs=f"import {name}"), "MPS102") == []
    optional = _OPTIONAL.format(name=name)
    assert found(_IMPORTING.format(needs=optional), "MPS102") != []


@pytest.mark.parametrize(
    "name", ["faiss", "k2", "torchmcubes", "fast_transformers", "funasr", "gsplat"]
)
def test_a_package_that_a_mac_can_import_ends_no_module(name: str) -> None:
    assert package_worlds(name) is None
    assert found(_IMPORTING.format(needs=f"import {name}"), "MPS102") != []


def test_some_of_its_operators_are_built_for_the_cpu_and_cuda() -> None:
    assert kernels_of("fast_transformers.causal_product.causal_dot_product") == "any"
    assert kernels_of("fast_transformers.builders.TransformerEncoderBuilder") is None


_SEARCH = """
import faiss
import torch


def search(vectors, queries):
    index = faiss.IndexFlatL2(vectors.shape[1])
    {given}
    index.add(vectors)
    return index.search(queries, 5)[0], torch.rand(3).cuda()
"""


@pytest.mark.parametrize(
    "given",
    [
        "index = faiss.index_cpu_to_gpu(faiss.StandardGpuResources(), 0, index)",
        "index = faiss.index_cpu_to_all_gpus(index)",
        "index = faiss.GpuIndexFlatL2(index)",
    ],
)
def test_what_follows_an_index_on_a_gpu_of_nvidias_is_for_cuda(given: str) -> None:
    assert found(_SEARCH.format(given=given), "MPS102") == []


@pytest.mark.parametrize("given", ["index = faiss.IndexIDMap(index)", "index.reset()"])
def test_an_index_on_the_cpu_is_for_all(given: str) -> None:
    assert found(_SEARCH.format(given=given), "MPS102") != []


_MODEL = """
from {package} import {maker}

model = {maker}(model="small", device="cuda:0")
print(model.generate("one.wav"))
"""


@pytest.mark.parametrize(
    ("package", "maker"),
    [
        ("funasr", "AutoModel"),
        ("modelscope.pipelines", "pipeline"),
        ("stable_baselines3", "PPO"),
        ("stable_baselines3.sac", "SAC"),
    ],
)
def test_what_takes_the_cpu_by_itself_raises_without_cuda_for_nothing(
    package: str, maker: str
) -> None:
    assert found(_MODEL.format(package=package, maker=maker), "MPS101") == []


def test_whether_it_is_given_cuda_or_the_cpu_is_a_choice_as_anywhere() -> None:
    chosen = _MODEL.replace('"cuda:0"', '"cuda" if torch.cuda.is_available() else "cpu"')
    assert found(chosen.format(package="funasr", maker="AutoModel"), "MPS103") != []


@pytest.mark.parametrize(
    ("package", "maker"), [("funasr", "Frontend"), ("speech", "AutoModel"), ("speech", "pipeline")]
)
def test_others_are_asked_for_cuda(package: str, maker: str) -> None:
    assert found(_MODEL.format(package=package, maker=maker), "MPS101") != []
