"""Counts the waits of expressions, and collects error texts, on a CUDA device (real or simulated).

Prints one JSON object: {"syncs": {name: count}, "errors": {name: text or null}}.
"""

from __future__ import annotations

import copy
import io
import json
import math
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

D = "cuda"
torch.manual_seed(0)
WAIT = "called a synchronizing CUDA operation"

x = torch.randn(8, 8, device=D)
v = torch.rand(8, device=D)
s = torch.tensor(1.5, device=D)
i = torch.tensor([0, 2, 1], device=D)
k = torch.tensor(1, device=D)
mask = x > 0
spd = x @ x.t() + 8 * torch.eye(8, device=D)
host = torch.randn(8, 8)
pinned = torch.randn(8, 8).pin_memory()
linear = nn.Linear(8, 8).to(D)
embedding = nn.Embedding(8, 4).to(D)
leaf = torch.randn(4, device=D, requires_grad=True)
adam = torch.optim.Adam([leaf], lr=0.1)
leaf.grad = torch.ones_like(leaf)
adam.step()


def masked_write_tensor() -> None:
    y = x.clone()
    y[mask] = torch.zeros(int_count, device=D)


int_count = int(mask.sum())


def masked_write_scalar() -> None:
    y = x.clone()
    y[mask] = 0.0


def slice_write() -> None:
    y = x.clone()
    y[0:2] = 1.0


def backward() -> None:
    linear(x).sum().backward()


def scaler_step() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scaler = torch.amp.GradScaler("cuda")
        optimizer = torch.optim.SGD([leaf], lr=0.1)
        loss = scaler.scale((leaf * leaf).sum())
        loss.backward()
    scaler.step(optimizer)


def condition(value: torch.Tensor) -> bool:
    return bool(value)


SYNCS = {
    "item": lambda: s.item(),
    "float()": lambda: float(s),
    "int()": lambda: int(s),
    "bool()": lambda: bool(s),
    "if tensor": lambda: 1 if s > 0 else 0,
    "tolist": lambda: v.tolist(),
    "cpu()": lambda: x.cpu(),
    "to('cpu')": lambda: x.to("cpu"),
    "to('cpu', non_blocking)": lambda: x.to("cpu", non_blocking=True),
    "cpu().numpy()": lambda: x.cpu().numpy(),
    "repr": lambda: repr(x),
    "str": lambda: str(x),
    "f-string scalar": lambda: f"{s}",
    "f-string fmt": lambda: f"{s:.3f}",
    "nonzero": lambda: x.nonzero(),
    "masked index read": lambda: x[mask],
    "masked index write scalar": masked_write_scalar,
    "masked index write tensor": masked_write_tensor,
    "masked_fill": lambda: x.masked_fill(mask, 0.0),
    "masked_select": lambda: torch.masked_select(x, mask),
    "where(cond)": lambda: torch.where(mask),
    "where 3-arg": lambda: torch.where(mask, x, x),
    "unique": lambda: torch.unique(i),
    "int index read": lambda: x[i],
    "list index": lambda: x[[0, 1]],
    "index by cuda scalar": lambda: x[k],
    "equal": lambda: torch.equal(x, x),
    "allclose": lambda: torch.allclose(x, x),
    "all()": lambda: mask.all(),
    "if all()": lambda: condition(mask.all()),
    "isnan().any()": lambda: x.isnan().any(),
    "len": lambda: len(x),
    "shape": lambda: x.shape,
    "numel": lambda: x.numel(),
    "max": lambda: x.max(),
    "max dim": lambda: x.max(1),
    "sort": lambda: x.sort(),
    "topk": lambda: x.topk(2),
    "argmax": lambda: x.argmax(),
    "multinomial": lambda: torch.multinomial(v, 2),
    "h2d to": lambda: host.to(D),
    "h2d pinned non_blocking": lambda: pinned.to(D, non_blocking=True),
    "h2d non_blocking pageable": lambda: host.to(D, non_blocking=True),
    "torch.tensor(device)": lambda: torch.tensor([1.0, 2.0], device=D),
    "zeros(device)": lambda: torch.zeros(3, device=D),
    "full(device)": lambda: torch.full((3,), 2.0, device=D),
    "arange": lambda: torch.arange(5, device=D),
    "randperm": lambda: torch.randperm(5, device=D),
    "embedding": lambda: embedding(i),
    "linear": lambda: linear(x),
    "backward": backward,
    "clip_grad_norm_": lambda: nn.utils.clip_grad_norm_([leaf], 1.0),
    "clip_grad_norm_ error_if_nonfinite": lambda: nn.utils.clip_grad_norm_(
        [leaf], 1.0, error_if_nonfinite=True
    ),
    "adam step": lambda: adam.step(),
    "scaler.step": scaler_step,
    "cross_entropy": lambda: F.cross_entropy(x, torch.arange(8, device=D)),
    "one_hot": lambda: F.one_hot(i),
    "one_hot classes": lambda: F.one_hot(i, 4),
    "bincount": lambda: torch.bincount(i),
    "repeat_interleave tensor": lambda: torch.repeat_interleave(v[:3], i),
    "linalg.inv": lambda: torch.linalg.inv(spd),
    "linalg.solve": lambda: torch.linalg.solve(spd, v),
    "svd": lambda: torch.linalg.svd(x),
    "cholesky": lambda: torch.linalg.cholesky(spd),
    "det": lambda: torch.linalg.det(spd),
    "slice write": slice_write,
    "iter tensor": lambda: list(v),
    "x in tensor": lambda: 1.0 in v,
    "comparison ==": lambda: s == 1.5,
    "float add": lambda: s + 1.0,
    "math.isnan": lambda: math.isnan(s),
    "max builtin": lambda: max(s, s + 1),
    "sum builtin": lambda: sum([s, s, s]),
    "range(t)": lambda: range(k),
    "save": lambda: torch.save(x, io.BytesIO()),
    "deepcopy": lambda: copy.deepcopy(x),
    "split tensor sizes": lambda: x.split([4, 4]),
    "nan_to_num": lambda: x.nan_to_num(),
    "histc": lambda: torch.histc(x, 4),
    "isfinite all if": lambda: condition(x.isfinite().all()),
    "empty_cache": lambda: torch.cuda.empty_cache(),
    "memory_allocated": lambda: torch.cuda.memory_allocated(),
    "stack": lambda: torch.stack([s, s]),
    "BatchNorm": lambda: nn.BatchNorm1d(8).to(D)(x),
    "Dropout": lambda: nn.Dropout(0.5).to(D)(x),
    "lstm": lambda: nn.LSTM(8, 4).to(D)(x[None]),
}

RAISES = {"round(t)": lambda: round(s)}

cpu3 = torch.ones(3, 4)
gpu3 = torch.ones(3, 4, device=D)


def lstm_hidden() -> None:
    hidden = (torch.zeros(1, 1, 4), torch.zeros(1, 1, 4))
    nn.LSTM(8, 4).to(D)(x[None, :1], hidden)


def adam_cpu_gpu() -> None:
    parameters = [torch.ones(2, requires_grad=True), torch.ones(2, device=D, requires_grad=True)]
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter)
    torch.optim.Adam(parameters, lr=0.1).step()


def autocast_mps() -> None:
    with torch.autocast("mps"):
        pass


ERRORS = {
    "numpy on cuda": lambda: gpu3.numpy(),
    "numpy requires grad": lambda: torch.ones(2, requires_grad=True).numpy(),
    "np.asarray": lambda: np.asarray(gpu3),
    "cuda+cpu": lambda: gpu3 + cpu3,
    "cpu+cuda": lambda: cpu3 + gpu3,
    "cuda+cpu 0-dim": lambda: gpu3 + torch.tensor(1.0),
    "cuda 0-dim + cpu": lambda: torch.tensor(1.0, device=D) + cpu3,
    "linear cpu input": lambda: nn.Linear(4, 2).to(D)(cpu3),
    "conv cpu input": lambda: nn.Conv2d(1, 1, 1).to(D)(torch.ones(1, 1, 2, 2)),
    "embedding cpu idx": lambda: nn.Embedding(3, 2).to(D)(torch.tensor([0])),
    "index cpu idx": lambda: gpu3[torch.tensor([0])],
    "cpu indexed by cuda": lambda: cpu3[torch.tensor([0], device=D)],
    "cat": lambda: torch.cat([gpu3, cpu3]),
    "loss": lambda: F.cross_entropy(gpu3, torch.zeros(3, dtype=torch.long)),
    "mps device": lambda: torch.zeros(2, device="mps"),
    "to mps": lambda: gpu3.to("mps"),
    "index oob dev": lambda: torch.zeros(2, device="cuda:9"),
    "matmul": lambda: gpu3 @ cpu3.t(),
    "where": lambda: torch.where(gpu3 > 0, gpu3, cpu3),
    "copy_": lambda: gpu3.copy_(cpu3),
    "setitem cpu tensor": lambda: gpu3.__setitem__(0, torch.ones(4)),
    "generator cpu": lambda: torch.randn(2, device=D, generator=torch.Generator()),
    "load state": lambda: nn.Linear(4, 2).to(D).load_state_dict(nn.Linear(4, 2).state_dict()),
    "lstm hidden cpu": lstm_hidden,
    "torch.mps.sync": lambda: torch.mps.synchronize(),
    "torch.mps.mem": lambda: torch.mps.current_allocated_memory(),
    "torch.Generator mps": lambda: torch.Generator(device="mps"),
    "autocast mps": autocast_mps,
    "adam cpu/gpu": adam_cpu_gpu,
}

# Cases beyond the first table, measured later on a real GPU.
ids = torch.tensor([[1, 2], [3, 4]], device=D)
weights = torch.ones(8, device=D)
image = torch.randn(1, 3, 8, 8, device=D)
conv = nn.Conv2d(3, 4, 3).to(D)
norm = nn.LayerNorm(8).to(D)
attention = nn.MultiheadAttention(8, 2, batch_first=True).to(D)
renormed = nn.Embedding(8, 4, max_norm=1.0).to(D)
sgd = torch.optim.SGD([leaf], lr=0.1, momentum=0.9)
sgd.step()
fused = torch.optim.AdamW([leaf], lr=0.1, fused=True)
fused.step()
log_probabilities = torch.randn(6, 2, 5, device=D).log_softmax(2)


def write_row() -> None:
    y = x.clone()
    y[0] = torch.ones(8)


def write_number() -> None:
    y = x.clone()
    y[0, 0] = 3.0


def write_by_index() -> None:
    y = x.clone()
    y[i] = 1.0


MORE_SYNCS = {
    "numpy(force=True)": lambda: x.numpy(force=True),
    "copy_ from host": lambda: x.clone().copy_(host),
    "copy_ from host, non_blocking": lambda: x.clone().copy_(host, non_blocking=True),
    "copy_ to host": lambda: host.clone().copy_(x),
    "write a host row": write_row,
    "write a number": write_number,
    "write by index": write_by_index,
    "element item": lambda: x[0, 0].item(),
    "half()": lambda: x.half(),
    "to(float64)": lambda: x.to(torch.float64),
    "any() and": lambda: mask.any() and True,
    "assert": lambda: condition(s == s),
    "nonzero as_tuple": lambda: torch.nonzero(x, as_tuple=True),
    "argwhere": lambda: torch.argwhere(mask),
    "unique_consecutive": lambda: torch.unique_consecutive(i),
    "masked_scatter": lambda: x.masked_scatter(mask, host.to(D, non_blocking=True)),
    "index_select": lambda: x.index_select(0, i),
    "gather": lambda: x.gather(1, ids),
    "scatter_add": lambda: torch.zeros(8, device=D).scatter_add(0, i, v[:3]),
    "index_add": lambda: torch.zeros(8, device=D).index_add(0, i, v[:3]),
    "cumsum": lambda: x.cumsum(0),
    "median": lambda: x.median(),
    "kthvalue": lambda: v.kthvalue(2),
    "quantile": lambda: v.quantile(0.5),
    "norm": lambda: torch.linalg.norm(x),
    "eigh": lambda: torch.linalg.eigh(spd),
    "qr": lambda: torch.linalg.qr(x),
    "slogdet": lambda: torch.linalg.slogdet(spd),
    "pinv": lambda: torch.linalg.pinv(x),
    "matrix_rank": lambda: torch.linalg.matrix_rank(x),
    "cholesky_ex": lambda: torch.linalg.cholesky_ex(spd),
    "isin": lambda: torch.isin(i, i),
    "bucketize": lambda: torch.bucketize(v, v.sort().values),
    "cdist": lambda: torch.cdist(x, x),
    "conv2d": lambda: conv(image),
    "layer_norm": lambda: norm(x),
    "attention": lambda: attention(x[None], x[None], x[None]),
    "embedding max_norm": lambda: renormed(i),
    "interpolate": lambda: F.interpolate(image, scale_factor=2),
    "pad": lambda: F.pad(x, (1, 1)),
    "ctc_loss": lambda: F.ctc_loss(
        log_probabilities, ids, torch.tensor([6, 6]), torch.tensor([2, 2])
    ),
    "nll weight": lambda: F.cross_entropy(x, torch.arange(8, device=D), weight=weights),
    "bce": lambda: F.binary_cross_entropy_with_logits(x, mask.float()),
    "Normal": lambda: torch.distributions.Normal(v, v + 1),
    "Normal without checks": lambda: torch.distributions.Normal(v, v + 1, validate_args=False),
    "Categorical sample": lambda: torch.distributions.Categorical(logits=x).sample(),
    "multinomial replacement": lambda: torch.multinomial(v, 2, replacement=True),
    "bernoulli": lambda: torch.bernoulli(v),
    "normal_": lambda: torch.empty(4, device=D).normal_(),
    "trunc_normal_": lambda: nn.init.trunc_normal_(torch.empty(4, device=D)),
    "sgd step": lambda: sgd.step(),
    "fused adamw step": lambda: fused.step(),
    "zero_grad": lambda: sgd.zero_grad(),
    "Event.synchronize": lambda: torch.cuda.Event().synchronize(),
    "Stream.synchronize": lambda: torch.cuda.current_stream().synchronize(),
    "synchronize": lambda: torch.cuda.synchronize(),
    "torch.tensor(number)": lambda: torch.tensor(1.0, device=D),
    "as_tensor numpy": lambda: torch.as_tensor(np.ones(3, dtype=np.float32), device=D),
    "index by list of bool": lambda: v[[True] * 4 + [False] * 4],
    "combinations": lambda: torch.combinations(v),
    "meshgrid": lambda: torch.meshgrid(v, v, indexing="ij"),
    "triu_indices": lambda: torch.triu_indices(3, 3, device=D),
    "cat": lambda: torch.cat([x, x]),
    "where scalar": lambda: torch.where(mask, x, 0.0),
    "state_dict": lambda: linear.state_dict(),
    "load_state_dict": lambda: linear.load_state_dict(linear.state_dict()),
    "module.to": lambda: linear.to(D),
    "set_rng_state": lambda: torch.cuda.set_rng_state(torch.cuda.get_rng_state()),
    "manual_seed": lambda: torch.manual_seed(1),
    "grid_sample": lambda: F.grid_sample(
        image, torch.zeros(1, 2, 2, 2, device=D), align_corners=False
    ),
    "fft": lambda: torch.fft.rfft(v),
    "einsum": lambda: torch.einsum("ij,kj->ik", x, x),
    "flip": lambda: x.flip(0),
    "diagonal": lambda: torch.diag(v),
    "var_mean": lambda: torch.var_mean(x),
    "logsumexp": lambda: x.logsumexp(1),
    "softmax": lambda: x.softmax(1),
    "pad_sequence": lambda: nn.utils.rnn.pad_sequence([v, v[:3]]),
    "pack_padded_sequence": lambda: nn.utils.rnn.pack_padded_sequence(
        x[:, None], torch.tensor([8])
    ),
}

MORE_ERRORS = {
    "mse": lambda: F.mse_loss(gpu3, cpu3),
    "layer norm": lambda: nn.LayerNorm(4)(gpu3),
    "batch norm": lambda: nn.BatchNorm1d(4)(gpu3),
    "group norm": lambda: nn.GroupNorm(2, 4)(gpu3),
    "conv cpu weight": lambda: nn.Conv2d(1, 1, 1)(torch.ones(1, 1, 2, 2, device=D)),
    "embedding cpu weight": lambda: nn.Embedding(3, 2)(torch.tensor([0], device=D)),
    "masked_fill": lambda: gpu3.masked_fill(cpu3 > 0, 0),
    "cpu masked by cuda": lambda: cpu3[gpu3 > 0],
    "gather": lambda: gpu3.gather(1, torch.zeros(3, 1, dtype=torch.long)),
    "index_add": lambda: gpu3.index_add(0, torch.tensor([0]), cpu3[:1]),
    "scatter": lambda: gpu3.scatter(1, torch.zeros(3, 1, dtype=torch.long), 1.0),
    "bmm": lambda: torch.bmm(gpu3[None], cpu3.t()[None]),
    "einsum": lambda: torch.einsum("ij,kj->ik", gpu3, cpu3),
    "dot": lambda: torch.dot(gpu3[0], cpu3[0]),
    "addmm": lambda: torch.addmm(cpu3[:, :3], gpu3, gpu3.t()),
    "lerp": lambda: gpu3.lerp(cpu3, 0.5),
    "equal": lambda: torch.equal(gpu3, cpu3),
    "isin": lambda: torch.isin(gpu3, cpu3),
    "searchsorted": lambda: torch.searchsorted(gpu3[0], cpu3[0]),
    "bce": lambda: F.binary_cross_entropy(gpu3, cpu3),
    "stack": lambda: torch.stack([gpu3, cpu3]),
    "lstm cpu input": lambda: nn.LSTM(4, 2).to(D)(cpu3),
    "lstm cpu weights": lambda: nn.LSTM(4, 2)(gpu3),
    "attention": lambda: F.scaled_dot_product_attention(gpu3[None], cpu3[None], gpu3[None]),
    "grad of another device": lambda: setattr(
        nn.Parameter(torch.zeros(2, device=D)), "grad", torch.zeros(2)
    ),
    "cuda generator on cpu": lambda: torch.randn(2, generator=torch.Generator(D)),
    "randperm generator": lambda: torch.randperm(4, generator=torch.Generator(D)),
    "multinomial generator": lambda: torch.multinomial(gpu3, 1, generator=torch.Generator("cpu")),
    "ambiguous bool": lambda: bool(gpu3),
    "add out": lambda: torch.add(gpu3, gpu3, out=cpu3.clone()),
    "mm out": lambda: torch.mm(gpu3, gpu3.t(), out=torch.ones(3, 3)),
    "set_device": lambda: torch.cuda.set_device(9),
    "get_device_name of cpu": lambda: torch.cuda.get_device_name("cpu"),
    "lengths on cuda": lambda: nn.utils.rnn.pack_padded_sequence(
        gpu3[None], torch.tensor([3], device=D)
    ),
    "prelu weight on cpu": lambda: nn.PReLU()(gpu3),
    "0-dim cpu index": lambda: gpu3[torch.tensor(0)],
    "cross entropy weight on cpu": lambda: F.cross_entropy(
        gpu3, torch.zeros(3, dtype=torch.long, device=D), weight=torch.ones(4)
    ),
    "topk of cpu ok": lambda: cpu3.topk(1),
    "pin a cuda tensor": lambda: gpu3.pin_memory(),
    "take_along_dim": lambda: torch.take_along_dim(gpu3, torch.zeros(3, 1, dtype=torch.long), 1),
    "index_select": lambda: gpu3.index_select(0, torch.tensor([0])),
    "clamp by cpu tensor": lambda: gpu3.clamp(min=cpu3),
    "cumulative out of device": lambda: torch.maximum(gpu3, cpu3),
    "kl_div": lambda: F.kl_div(gpu3, cpu3),
    "conv transpose cpu input": lambda: nn.ConvTranspose2d(1, 1, 1).to(D)(torch.ones(1, 1, 2, 2)),
    "avg_pool ok": lambda: F.avg_pool2d(torch.ones(1, 1, 2, 2, device=D), 2),
    "bad device index in to": lambda: cpu3.to("cuda:7"),
    "event elapsed without timing": lambda: torch.cuda.Event().elapsed_time(torch.cuda.Event()),
}


def count_waits(action) -> int:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            action()
        finally:
            torch.cuda.set_sync_debug_mode("default")
    return sum(WAIT in str(warning.message) for warning in caught)


def error_of(action) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            action()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


if __name__ == "__main__":
    all_syncs = {**SYNCS, **MORE_SYNCS}
    all_errors = {**ERRORS, **RAISES, **MORE_ERRORS}
    for action in all_syncs.values():
        leaf.grad = torch.ones_like(leaf)
        error_of(action)  # first uses set up libraries on a real device
    waits = {}
    for name, action in all_syncs.items():
        leaf.grad = torch.ones_like(leaf)
        try:
            waits[name] = count_waits(action)
        except Exception as error:
            waits[name] = f"{type(error).__name__}: {error}"
    print(
        json.dumps(
            {
                "torch": torch.__version__,
                "device": torch.cuda.get_device_name(),
                "syncs": waits,
                "errors": {n: error_of(a) for n, a in all_errors.items()},
            }
        )
    )
