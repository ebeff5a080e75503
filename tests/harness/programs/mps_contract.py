"""What a Mac refuses, what it allows, and where it waits. Prints RESULTS and one JSON object."""

from __future__ import annotations

import io
import json
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

D = "mps"
x, c = torch.ones(3, 4, device=D), torch.ones(3, 4)
linear = nn.Linear(4, 2).to(D)
s = torch.tensor(1.5, device=D)
mask = x > 0


def saved(tensor: torch.Tensor) -> io.BytesIO:
    buffer = io.BytesIO()
    torch.save(tensor, buffer)
    buffer.seek(0)
    return buffer


def default_float64() -> None:
    torch.set_default_dtype(torch.float64)
    try:
        torch.zeros(2, device=D)
    finally:
        torch.set_default_dtype(torch.float32)


def shuffled_loader() -> None:
    torch.set_default_device(D)
    rows = torch.utils.data.TensorDataset(torch.zeros(4, 2))
    try:
        next(iter(torch.utils.data.DataLoader(rows, shuffle=True)))
    finally:
        torch.set_default_device(None)


CASES = {
    # leaving the device
    "numpy": lambda: x.numpy(),
    "np.asarray": lambda: np.asarray(x),
    "numpy function": lambda: np.sin(x),
    "numpy(force)": lambda: x.numpy(force=True),
    "tolist": lambda: x.tolist(),
    # two devices
    "add": lambda: x + c,
    "add reversed": lambda: c + x,
    "add_ to cpu": lambda: c.clone().add_(x),
    "0-dim cpu": lambda: x * torch.tensor(2.0),
    "0-dim mps to cpu": lambda: c + s,
    "where": lambda: torch.where(mask, x, c),
    "mse": lambda: F.mse_loss(x, c),
    "matmul": lambda: x @ c.t(),
    "cat": lambda: torch.cat([x, c]),
    "cross entropy": lambda: F.cross_entropy(x, torch.zeros(3, dtype=torch.long)),
    "linear cpu input": lambda: linear(c),
    "linear cpu weight": lambda: nn.Linear(4, 2)(x),
    "conv cpu input": lambda: nn.Conv2d(1, 1, 1).to(D)(torch.ones(1, 1, 2, 2)),
    "conv cpu weight": lambda: nn.Conv2d(1, 1, 1)(torch.ones(1, 1, 2, 2, device=D)),
    "embedding cpu index": lambda: nn.Embedding(3, 2).to(D)(torch.tensor([0])),
    "embedding cpu weight": lambda: nn.Embedding(3, 2)(torch.tensor([0], device=D)),
    "index by cpu": lambda: x[torch.tensor([0])],
    "cpu indexed by mps": lambda: c[torch.tensor([0], device=D)],
    "cpu masked by mps": lambda: c[mask],
    "masked_fill": lambda: x.masked_fill(c > 0, 0),
    "set a row from cpu": lambda: x.clone().__setitem__(0, torch.ones(4)),
    "out on cpu": lambda: torch.add(x, x, out=c.clone()),
    "layer norm": lambda: nn.LayerNorm(4)(x),
    "batch norm": lambda: nn.BatchNorm1d(4)(x),
    "cpu gradient": lambda: setattr(nn.Parameter(x.clone()), "grad", torch.ones(3, 4)),
    "attention": lambda: F.scaled_dot_product_attention(x[None], c[None], x[None]),
    # generators
    "cpu generator": lambda: torch.randn(2, device=D, generator=torch.Generator()),
    "mps generator on cpu": lambda: torch.randn(2, generator=torch.Generator(device=D)),
    "randperm generator": lambda: torch.randperm(4, generator=torch.Generator(device=D)),
    "shuffle with default device": shuffled_loader,
    # dtypes
    "float64 to": lambda: torch.zeros(2, dtype=torch.float64).to(D),
    "float64 factory": lambda: torch.zeros(2, dtype=torch.float64, device=D),
    "float64 array": lambda: torch.from_numpy(np.zeros(2)).to(D),
    "double()": lambda: x.double(),
    "tensor of array": lambda: torch.tensor(np.zeros(2), device=D),
    "as_tensor of array": lambda: torch.as_tensor(np.zeros(2), device=D),
    "float64 module": lambda: nn.Linear(2, 2).double().to(D),
    "default float64": default_float64,
    "sum in float64": lambda: x.sum(dtype=torch.float64),
    "linspace float64": lambda: torch.linspace(0, 1, 3, dtype=torch.float64, device=D),
    "randn float64": lambda: torch.randn(3, dtype=torch.double, device=D),
    "load float64": lambda: torch.load(saved(torch.zeros(2, dtype=torch.double)), map_location=D),
    "float_power": lambda: torch.float_power(x, 2),
    "to cpu float64": lambda: x.to("cpu", torch.float64),
    "cpu().double()": lambda: x.cpu().double(),
    "complex128": lambda: torch.zeros(2, dtype=torch.complex128).to(D),
    "float8": lambda: torch.zeros(2).to(torch.float8_e4m3fn).to(D),
    "complex64": lambda: torch.zeros(2, dtype=torch.complex64, device=D) + 1j,
    "bfloat16": lambda: torch.zeros(2, dtype=torch.bfloat16, device=D) + 1,
    "int64": lambda: torch.zeros(2, dtype=torch.int64, device=D) + 1,
    # shapes
    "17 dimensions": lambda: torch.zeros([1] * 17, device=D),
    "adaptive pool": lambda: F.adaptive_avg_pool2d(torch.ones(1, 1, 7, 7, device=D), 3),
    "projected lstm": lambda: nn.LSTM(3, 4, proj_size=2).to(D)(torch.ones(1, 3, 3, device=D)),
    "adaptive maximum": lambda: F.adaptive_max_pool2d(torch.ones(1, 1, 7, 7, device=D), 5),
    "adaptive pool, divisible": lambda: F.adaptive_avg_pool2d(torch.ones(1, 1, 6, 6, device=D), 3),
    "integer linear": lambda: F.linear(x.long(), x.long()),
    "integer conv": lambda: F.conv2d(
        torch.ones(1, 1, 3, 3, device=D).long(), torch.ones(1, 1, 1, 1, device=D).long()
    ),
    # kernels
    "eig": lambda: torch.linalg.eig(torch.eye(2, device=D)),
    "svdvals": lambda: torch.linalg.svdvals(x),
    "det backward": lambda: torch.linalg.det(torch.eye(2, device=D).requires_grad_()).backward(),
    "svd falls back": lambda: torch.linalg.svd(x),
    # CUDA on a Mac
    "cuda tensor": lambda: torch.zeros(2, device="cuda"),
    "cuda()": lambda: x.cuda(),
    "module.cuda()": lambda: nn.Linear(1, 1).cuda(),
    "to cuda": lambda: x.to("cuda"),
    "cuda.synchronize": lambda: torch.cuda.synchronize(),
    "cuda.get_device_name": lambda: torch.cuda.get_device_name(),
    "cuda.current_device": lambda: torch.cuda.current_device(),
    "cuda.set_device": lambda: torch.cuda.set_device(0),
    "cuda.Stream": lambda: torch.cuda.Stream(),
    "cuda.Event": lambda: torch.cuda.Event(),
    "cuda.FloatTensor": lambda: torch.cuda.FloatTensor(2),
    "cuda generator": lambda: torch.Generator(device="cuda"),
    "cuda mem_get_info": lambda: torch.cuda.mem_get_info(),
    "cuda.empty_cache": lambda: torch.cuda.empty_cache(),
    "cuda.manual_seed_all": lambda: torch.cuda.manual_seed_all(0),
    "cuda.memory_allocated": lambda: torch.cuda.memory_allocated(),
    "cuda.is_bf16_supported": lambda: torch.cuda.is_bf16_supported(),
    "load to cuda": lambda: torch.load(saved(torch.zeros(2)), map_location="cuda"),
    # simulation
    "metal shader": lambda: torch.mps.compile_shader(""),
    "sparse": lambda: torch.eye(2, device=D).to_sparse(),
    "compressed sparse": lambda: torch.eye(2, device=D).to_sparse_csr(),
    "sparse moved": lambda: torch.eye(2).to_sparse().to(D) * 2,
}


def outcome(action) -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            action()
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return None


if __name__ == "__main__":
    print("RESULTS " + json.dumps({name: outcome(action) for name, action in CASES.items()}))
