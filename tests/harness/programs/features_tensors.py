"""Making, converting, indexing and changing tensors."""

import numpy as np
import torch
from feature_table import DEVICE, feature, numbers
from torch.nn import functional as F


def here(tensor):
    assert tensor.device.type == DEVICE, tensor.device
    return tensor


@feature
def factories():
    made = [
        torch.zeros(2, device=DEVICE), torch.ones(2, 2, device=DEVICE),
        torch.full((2,), 3.0, device=DEVICE), torch.arange(3, device=DEVICE),
        torch.linspace(0, 1, 3, device=DEVICE), torch.eye(2, device=DEVICE),
        torch.tensor([1, 2], device=DEVICE), torch.as_tensor([1.0], device=DEVICE),
        torch.tril_indices(3, 3, device=DEVICE), torch.tensor(3.5, device=DEVICE),
        torch.as_tensor(np.ones(2, dtype=np.float32), device=DEVICE),
        torch.scalar_tensor(2.0, device=DEVICE),
    ]  # fmt: skip
    return [here(tensor) for tensor in made]


@feature
def random_factories():
    made = [
        torch.rand(2, device=DEVICE), torch.randn(2, 3, device=DEVICE),
        torch.randint(0, 5, (2,), device=DEVICE), torch.randperm(4, device=DEVICE),
        torch.bernoulli(torch.full((3,), 0.5, device=DEVICE)),
        torch.multinomial(torch.ones(4, device=DEVICE), 2),
        torch.normal(0.0, 1.0, (2,), device=DEVICE), torch.empty(3, device=DEVICE).uniform_(),
        torch.empty(3, device=DEVICE).exponential_(),
    ]  # fmt: skip
    return [[list(here(t).shape), str(t.dtype), t.float().isfinite().all().item()] for t in made]


@feature
def likes_and_news():
    source = numbers(2, 3)
    made = [
        torch.zeros_like(source), torch.ones_like(source), torch.full_like(source, 2),
        source.new_zeros(2), source.new_ones(2), source.new_full((1,), 2), source.new_tensor([1.0]),
    ]  # fmt: skip
    shaped = [torch.rand_like(source), torch.randn_like(source), torch.empty_like(source)]
    return [[here(t) for t in made], [list(here(t).shape) for t in shaped]]


@feature
def conversions():
    source, device = torch.arange(4.0), torch.device(DEVICE)
    there = source.to(device)
    return [
        here(source.to(DEVICE, non_blocking=True)), there.to(DEVICE) is there,
        str(there.to(torch.float16).dtype), there.to("cpu").is_cpu, there.cpu().device.type,
        here(source.to(there)).sum(), there.to(device="cpu", dtype=torch.int64),
        str(here(there.to(device, torch.bfloat16, copy=True)).dtype), here(there.type(torch.int32)),
        there.float() is there, there.half().float(), there.bool(), there.long(),
        there.contiguous() is there, there.detach().clone(),
    ]  # fmt: skip


@feature
def attributes():
    tensor = torch.zeros(2, 3, device=DEVICE)
    return [
        tensor.device.type == DEVICE, tensor.device.index in (0, None),
        getattr(tensor, f"is_{DEVICE}"), type(tensor) is torch.Tensor, torch.is_tensor(tensor),
        tensor.get_device() == (-1 if DEVICE == "cpu" else 0), tensor.element_size(),
        tensor.nbytes, tensor.stride(), tensor.storage_offset(), tensor.untyped_storage().nbytes(),
        tensor.untyped_storage().device.type == DEVICE, tensor.is_leaf, tensor.numel(),
        DEVICE == "cpu" or f"device='{DEVICE}:0'" in repr(tensor),
    ]  # fmt: skip


@feature
def text():
    tensor = torch.tensor([[1.0, 2.0], [3.0, 4.0]], device=DEVICE)
    mark = f", device='{DEVICE}:0'"
    return [repr(tensor).replace(mark, ""), str(tensor[0]).replace(mark, ""), f"{tensor.sum():.2f}"]


@feature
def python_protocols():
    tensor = torch.arange(4, device=DEVICE)
    return [
        [int(value) for value in tensor], len(tensor), 2 in tensor, bool(tensor[1] == 1),
        float(tensor[2]), tensor[3].__index__(), f"{tensor[1]:d}", max(tensor).item(),
        list(range(tensor[2])), tensor.tolist(),
    ]  # fmt: skip


@feature
def views_share_memory():
    base = torch.zeros(4, device=DEVICE)
    view = base.view(2, 2)
    view.add_(1)
    return [
        base,
        view._base is base,
        view.data_ptr() == base.data_ptr(),
        base._version,
        view._version,
    ]


@feature
def changes_in_place():
    tensor = torch.zeros(4, 5, device=DEVICE)
    tensor[1] = 2
    tensor[:, 2] += 3
    tensor.view(-1)[::3].mul_(2)
    tensor.t()[0].fill_(9)
    tensor[1:3].zero_()
    tensor[0, 0] = torch.tensor(7.0)
    return tensor.add_(1).clamp_(0, 8)


@feature
def indexing():
    tensor, rows = numbers(5, 6), torch.tensor([0, 2]).to(DEVICE)
    mask, changed = tensor > 0, tensor.clone()
    changed[mask] = 0
    changed[rows] = 1
    changed[rows[:, None], torch.tensor([1, 3]).to(DEVICE)] = 5
    changed[..., -1] = -1
    by_host = tensor.clone()
    by_host[torch.tensor([0, 1])] = 4.0
    return [
        changed, tensor[[0, 1]], tensor[mask].sum(), by_host, tensor[None, :, 1:3].shape,
        tensor.masked_fill(mask, 0.5), tensor.index_select(0, rows), torch.where(mask, tensor, 0.0),
        torch.gather(tensor, 1, torch.zeros(5, 2, dtype=torch.long, device=DEVICE)),
        tensor[tensor.argmax() // 6],
    ]  # fmt: skip


@feature
def writing_from_the_host():
    tensor = torch.zeros(4, 3, device=DEVICE)
    tensor[1:3] = torch.ones(2, 3)
    tensor[0] = torch.tensor([1.0, 2.0, 3.0])
    return tensor.copy_(tensor.cpu() * 2)


@feature
def scattering():
    table = torch.zeros(3, 4, device=DEVICE)
    table.scatter_(1, torch.tensor([[0], [1], [2]], device=DEVICE), 1.0)
    places = torch.tensor([0, 0, 2], device=DEVICE)
    ones = torch.ones(3, device=DEVICE)
    return [
        table, torch.zeros(3, device=DEVICE).index_add_(0, places, ones),
        torch.zeros(3, device=DEVICE).scatter_add(0, places, ones), torch.bincount(places),
        torch.zeros(3, device=DEVICE).scatter_reduce(0, places, ones * 2, "amax"),
    ]  # fmt: skip


@feature
def reductions():
    tensor = numbers(4, 5)
    whole = [tensor.sum(), tensor.mean(), tensor.std(), tensor.var(), tensor.max(), tensor.min(),
             tensor.argmax(), tensor.prod(), tensor.norm(), tensor.median()]  # fmt: skip
    return [
        whole, tensor.any(), tensor.all(), tensor.logsumexp(1), tensor.softmax(1),
        tensor.log_softmax(0), tensor.cumsum(0), tensor.max(1).indices, tensor.std(0, unbiased=False),  # noqa: E501
        tensor.quantile(0.5), torch.histc(tensor, 3), tensor.amax(0), tensor.count_nonzero(),
    ]  # fmt: skip


@feature
def sorting_and_searching():
    tensor = numbers(3, 5)
    edges = torch.tensor([-1.0, 0.0, 1.0], device=DEVICE)
    return [
        tensor.topk(2).values, tensor.sort(1).values, tensor.argsort(1), tensor.nonzero().shape,
        torch.unique(torch.tensor([1, 1, 2], device=DEVICE)), torch.bucketize(tensor, edges),
        torch.searchsorted(edges, edges), torch.isin(edges, edges[:1]), tensor.kthvalue(2).values,
    ]  # fmt: skip


@feature
def shapes():
    tensor = numbers(4, 6)
    return [
        torch.cat([tensor, tensor]).shape, torch.stack([tensor, tensor]).shape,
        [part.shape for part in tensor.chunk(2)], [part.sum() for part in tensor.split(3, 1)],
        tensor.flip(0), tensor.roll(1, 0), tensor.repeat(2, 1).sum(), tensor.expand(2, 4, 6).sum(),
        tensor.unfold(1, 2, 2).sum(), tensor.tril(), tensor.t().reshape(3, 8), F.pad(tensor, (1, 1)),  # noqa: E501
        torch.meshgrid(tensor[0], tensor[1], indexing="ij")[0], tensor.diagonal(), tensor.movedim(0, 1),  # noqa: E501
        tensor.unsqueeze(0).squeeze(0).flatten()[:3], F.one_hot(torch.tensor([0, 2], device=DEVICE), 3),  # noqa: E501
    ]  # fmt: skip


@feature
def products():
    left, right = numbers(3, 4), numbers(4, 3)
    return [
        left @ right, torch.mm(left, right), torch.bmm(left[None], right[None]), left[0] @ left[1],
        torch.einsum("ij,kj->ik", left, left), torch.outer(left[0], left[1]), torch.addmm(left @ right, left, right),  # noqa: E501
        torch.baddbmm((left @ right)[None], left[None], right[None]), torch.kron(left, right), left.mv(left[0]),  # noqa: E501
        torch.tensordot(left, right, 1), torch.chain_matmul(left, right, left) if hasattr(torch, "chain_matmul") else 0,  # noqa: E501
    ]  # fmt: skip


@feature
def linear_algebra():
    matrix = numbers(3, 3)
    matrix = matrix @ matrix.t() + torch.eye(3, device=DEVICE)
    return [
        torch.linalg.cholesky(matrix), torch.inverse(matrix), torch.linalg.det(matrix),
        torch.linalg.solve(matrix, torch.ones(3, device=DEVICE)), torch.linalg.norm(matrix),
        torch.linalg.qr(matrix)[1].abs(), torch.linalg.slogdet(matrix)[1], torch.trace(matrix),
    ]  # fmt: skip


@feature
def singular_values():
    return torch.linalg.svdvals(numbers(3, 3))


@feature
def numbers_and_types_mix():
    whole = torch.arange(3, device=DEVICE)
    half = torch.ones((), dtype=torch.float16, device=DEVICE)
    return [
        str((whole * 2.5).dtype), str((whole + True).dtype), str((whole / 2).dtype), 2**whole,
        1 - whole, str((whole.half() * 3).dtype), torch.tensor(3) * whole, str((half * 2.5).dtype),
        str((half % 2.5).dtype), whole % 2, whole // 2, whole << 1, whole & 1, (whole == 1).sum(),
    ]  # fmt: skip


@feature
def half_precision():
    tensor = numbers(4, 4)
    return [
        str((tensor.to(kind) @ tensor.to(kind)).dtype) for kind in (torch.float16, torch.bfloat16)
    ]


@feature
def complex_numbers():
    signal = numbers(8)
    spectrum = torch.fft.fft(signal)
    window = torch.hann_window(4, device=DEVICE)
    return [
        spectrum.abs(), torch.fft.irfft(torch.fft.rfft(signal), 8), torch.view_as_real(spectrum),
        (spectrum * spectrum.conj()).real, spectrum.conj().imag, spectrum.conj().resolve_conj().angle(),  # noqa: E501
        torch.polar(signal.abs(), signal).real, torch.view_as_complex(torch.stack([signal, signal], -1)).abs(),  # noqa: E501
        torch.stft(numbers(16), 4, window=window, return_complex=True).abs(),
    ]  # fmt: skip


@feature
def results_into_given_tensors():
    grown = torch.empty(0, device=DEVICE)
    torch.add(torch.ones(3, device=DEVICE), 1, out=grown)
    square = torch.zeros(2, 2, device=DEVICE)
    torch.mm(torch.ones(2, 2, device=DEVICE), torch.ones(2, 2, device=DEVICE), out=square)
    wider = torch.zeros(2, device=DEVICE).resize_(4).fill_(1)
    taken = torch.zeros(2, device=DEVICE).set_(grown)
    taken.data.add_(1)
    swapped = torch.zeros(3, device=DEVICE)
    swapped.data = square
    return [grown, square, wider, taken, swapped]


@feature
def no_memory_is_leaked():
    import gc

    def resident():
        with open("/proc/self/statm") as stream:
            return int(stream.read().split()[1]) * 4096

    tensor = torch.zeros(500_000, device=DEVICE)
    before = resident()
    for _ in range(200):
        tensor = tensor + 1
    gc.collect()
    return resident() - before < 50e6


@feature
def copies_are_copies():
    source = torch.zeros(3)
    copied = source.to(DEVICE, copy=True)
    copied.add_(1)
    return [source, copied]
