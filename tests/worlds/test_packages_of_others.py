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
        "cog",
    ],
)
def test_what_follows_the_import_of_a_package_for_cuda_is_for_cuda(name: str) -> None:
    assert found(_IMPORTING.format(needs=f"import {name}"), "MPS102") == []
    optional = _OPTIONAL.format(name=name)
    assert found(_IMPORTING.format(needs=optional), "MPS102") != []


@pytest.mark.parametrize(
    "made",
    [
        'lgb.LGBMClassifier(device="cuda" if torch.cuda.is_available() else "cpu")',
        'lgb.train({"device": "cuda"}, None)',
        'xgb.XGBClassifier(tree_method="hist", device="cuda")',
    ],
)
def test_trees_have_devices_of_their_own_and_no_mps(made: str) -> None:
    imports = "import lightgbm as lgb\nimport torch\nimport xgboost as xgb\n\n"
    assert found(f"{imports}x = {made}\n", "MPS101", "MPS103") == []
    assert found(f"{imports}x = torch.ones(2, device='cuda')\n", "MPS101") != []


_WORKER = "{imports}\nimport torch\n\n{mark}\ndef infer(x):\n    return torch.tensor(x).cuda()\n"


@pytest.mark.parametrize(
    ("imports", "mark", "is_told"),
    [
        ("import ray", "@ray.remote(num_gpus=1)", False),
        ("import ray", "@ray.remote(num_gpus=0)", True),
        ("import ray", "@ray.remote(num_cpus=1)", True),
        ("from ray import serve", '@serve.deployment(ray_actor_options={"num_gpus": 1})', False),
        ("from ray import serve", '@serve.deployment(ray_actor_options={"num_cpus": 1})', True),
        ("from conf import configured", '@configured(defaults={"cuda": True, "mps": True})', True),
        ("from conf import configured", '@configured(defaults={"num_gpus": 8})', True),
    ],
)
def test_what_is_scheduled_on_counted_gpus_alone_is_for_cuda(
    imports: str, mark: str, is_told: bool
) -> None:
    assert bool(found(_WORKER.format(imports=imports, mark=mark), "MPS102")) is is_told


@pytest.mark.parametrize(
    ("handed", "is_told"),
    [
        ("dist.send(x.cuda(), 0)", False),
        ("dist.batch_isend_irecv([dist.P2POp(dist.isend, x.cuda(), 0)])", False),
        ("dist.get_rank(x.cuda())", True),
    ],
)
def test_what_one_process_hands_another_is_on_cuda_as_in_collectives(
    handed: str, is_told: bool
) -> None:
    text = f"import torch\nimport torch.distributed as dist\n\n\ndef give(x):\n    {handed}\n"
    assert bool(found(text, "MPS102")) is is_told


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
