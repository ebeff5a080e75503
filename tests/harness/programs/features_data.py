"""Loading data, saving and loading, random state."""

import copy
import io
import os
import pickle
import tempfile

import torch
from feature_table import DEVICE, FEATURES, feature, numbers
from torch import nn
from torch.nn import functional as F
from torch.utils import data


class Rows(data.Dataset):
    def __len__(self):
        return 10

    def __getitem__(self, index):
        return torch.full((6,), float(index)), index % 3


def add_loader(label, **options):
    def run():
        torch.manual_seed(3)
        module = nn.Linear(6, 3).to(DEVICE)
        totals = []
        for inputs, labels in data.DataLoader(Rows(), batch_size=4, **options):
            inputs, labels = inputs.to(DEVICE, non_blocking=True), labels.to(DEVICE)
            totals.append(F.cross_entropy(module(inputs), labels).item())
        return totals

    FEATURES[f"loader_{label}"] = run


add_loader("in_the_process")
add_loader("two_workers", num_workers=2)
add_loader("persistent_workers", num_workers=1, persistent_workers=True, prefetch_factor=2)
add_loader("pinned", pin_memory=True)
add_loader("pinned_with_workers", num_workers=1, pin_memory=True)


@feature
def state_dicts():
    torch.manual_seed(3)
    source, target = nn.Linear(4, 2).to(DEVICE), nn.Linear(4, 2)
    state = source.state_dict()
    target.load_state_dict(state)
    return [
        all(t.device.type == DEVICE for t in state.values()),
        target.weight,
        target.weight.is_cpu,
    ]


@feature
def saving_and_loading():
    torch.manual_seed(3)
    module = nn.Linear(4, 2).to(DEVICE)
    buffer = io.BytesIO()
    torch.save({"module": module.state_dict(), "part": torch.arange(3, device=DEVICE)[1:]}, buffer)
    results = []
    for place in (
        None,
        "cpu",
        DEVICE,
        torch.device(DEVICE),
        {f"{DEVICE}:0": "cpu"},
        lambda kept, place: kept,
    ):
        buffer.seek(0)
        loaded = torch.load(buffer, map_location=place)
        results.append([loaded["part"], loaded["module"]["weight"].sum()])
    buffer.seek(0)
    on_device = torch.load(buffer, map_location=DEVICE)["part"].device.type == DEVICE
    return [results, on_device]


@feature
def whole_models_and_mapped_files():
    torch.manual_seed(3)
    module = nn.Linear(4, 2).to(DEVICE)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.pt")
        torch.save(module, path)
        whole = torch.load(path, weights_only=False)
        torch.save(module.state_dict(), path)
        mapped = torch.load(path, map_location="cpu", mmap=True)
        return [whole.weight.device.type == DEVICE, whole.weight, mapped["weight"].sum()]


@feature
def optimizer_state_survives():
    torch.manual_seed(3)
    module = nn.Linear(4, 2).to(DEVICE)
    optimizer = torch.optim.Adam(module.parameters())
    module(numbers(3, 4)).sum().backward()
    optimizer.step()
    saved = copy.deepcopy(optimizer.state_dict())
    optimizer.load_state_dict(saved)
    optimizer.step()
    return module.weight


@feature
def pickles_and_copies():
    tensor, module = numbers(2, 3), nn.Linear(2, 2).to(DEVICE)
    loaded, deep = pickle.loads(pickle.dumps(tensor)), copy.deepcopy(module)
    return [
        loaded.device.type == DEVICE,
        loaded,
        copy.deepcopy(tensor),
        deep.weight.device.type == DEVICE,
    ]


@feature
def modules_move():
    module = nn.BatchNorm1d(3)
    module.register_buffer("extra", torch.ones(1))
    module.to(DEVICE)
    kinds = [module.weight.device.type == DEVICE, module.extra.device.type == DEVICE]
    return [kinds, str(module.half().weight.dtype), module.float().cpu().weight.device.type]


@feature
def numpy_on_the_host():
    tensor = numbers(2, 3)
    return [float(tensor.cpu().numpy().sum()), tensor.numpy(force=True).tolist()]


@feature
def generators_repeat():
    generator = torch.Generator(device=DEVICE).manual_seed(3)
    first = torch.rand(3, generator=generator, device=DEVICE)
    state = generator.get_state()
    second = torch.randn(2, generator=generator, device=DEVICE)
    generator.set_state(state)
    again = torch.randn(2, generator=generator, device=DEVICE)
    generator.manual_seed(3)
    return [
        torch.equal(first, torch.rand(3, generator=generator, device=DEVICE)),
        torch.equal(second, again), generator.device.type == DEVICE, generator.initial_seed(),
        isinstance(generator, torch.Generator), isinstance(torch.default_generator, torch.Generator),  # noqa: E501
    ]  # fmt: skip


@feature
def seeds_repeat():
    torch.manual_seed(5)
    first = [torch.randn(4, device=DEVICE), F.dropout(torch.ones(8, device=DEVICE))]
    torch.manual_seed(5)
    second = [torch.randn(4, device=DEVICE), F.dropout(torch.ones(8, device=DEVICE))]
    return [torch.equal(a, b) for a, b in zip(first, second, strict=False)]


@feature
def forked_random_state():
    state = torch.get_rng_state()
    with torch.random.fork_rng(devices=[]):
        torch.rand(3)
    return torch.equal(state, torch.get_rng_state())


@feature
def distributions():
    normal = torch.distributions.Normal(torch.zeros(2, device=DEVICE), torch.ones(2, device=DEVICE))
    choice = torch.distributions.Categorical(logits=torch.zeros(3, device=DEVICE))
    return [
        normal.rsample().device.type == DEVICE, normal.log_prob(torch.zeros(2, device=DEVICE)),
        choice.entropy(), choice.sample().device.type == DEVICE,
        torch.distributions.kl_divergence(normal, normal),
        torch.distributions.Bernoulli(torch.tensor(0.5, device=DEVICE)).sample().device.type == DEVICE,  # noqa: E501
    ]  # fmt: skip


@feature
def random_split_and_sampler():
    first, second = data.random_split(Rows(), [7, 3], torch.Generator().manual_seed(0))
    weights = data.WeightedRandomSampler([1.0] * 5, 4)
    return [len(first), sorted(first.indices + second.indices), len(list(weights))]
