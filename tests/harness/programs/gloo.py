"""What ``torch.distributed`` with gloo does with tensors of a device: two processes, case by case.

    python gloo.py DEVICE FOLDER [CASE...]

Each process leaves {case: [device, values] or [class of the error]} in FOLDER. On a real GPU run
one case at a time: a failing one breaks the connection for those after it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.nn.parallel import DistributedDataParallel

Tensor = torch.Tensor
Case = Callable[[int, str], Tensor]


def own(rank: int, device: str) -> Tensor:
    return torch.ones(4, device=device) * (rank + 1)


def zeros(device: str, *sizes: int) -> list[Tensor]:
    return [torch.zeros(size, device=device) for size in sizes]


def all_reduce(rank: int, device: str) -> Tensor:
    dist.all_reduce(x := own(rank, device))
    return x


def all_reduce_async(rank: int, device: str) -> Tensor:
    work = dist.all_reduce(x := own(rank, device), async_op=True)
    work.wait()
    return x


def broadcast(rank: int, device: str) -> Tensor:
    dist.broadcast(x := own(rank, device), 0)
    return x


def reduce(rank: int, device: str) -> Tensor:
    dist.reduce(x := own(rank, device), 0)
    return x if rank == 0 else torch.zeros(1, device=device)


def all_gather(rank: int, device: str) -> Tensor:
    dist.all_gather(out := zeros(device, 4, 4), own(rank, device))
    return out[0] + 10 * out[1]


def all_gather_into_tensor(rank: int, device: str) -> Tensor:
    [out] = zeros(device, 8)
    dist.all_gather_into_tensor(out, own(rank, device))
    return out


def gather(rank: int, device: str) -> Tensor:
    out = zeros(device, 4, 4)
    dist.gather(own(rank, device), out if rank == 0 else None, 0)
    return out[1]


def scatter(rank: int, device: str) -> Tensor:
    [out] = zeros(device, 4)
    x = own(rank, device)
    dist.scatter(out, [x, x * 3] if rank == 0 else None, 0)
    return out


def reduce_scatter(rank: int, device: str) -> Tensor:
    [out] = zeros(device, 4)
    dist.reduce_scatter(out, [own(rank, device), own(rank, device)])
    return out


def reduce_scatter_tensor(rank: int, device: str) -> Tensor:
    [out] = zeros(device, 2)
    dist.reduce_scatter_tensor(out, own(rank, device))
    return out


def all_to_all_single(rank: int, device: str) -> Tensor:
    [out] = zeros(device, 4)
    dist.all_to_all_single(out, own(rank, device))
    return out


def barrier(rank: int, device: str) -> Tensor:
    dist.barrier()
    return torch.zeros(1)


def data_parallel(rank: int, device: str) -> Tensor:
    model = DistributedDataParallel(torch.nn.Linear(2, 1).to(device))
    model(torch.ones(1, 2, device=device) * (rank + 1)).sum().backward()
    return model.module.weight.grad.detach()


def all_reduce_coalesced(rank: int, device: str) -> Tensor:
    dist.all_reduce_coalesced([x := own(rank, device)])
    return x


def mixed_list(rank: int, device: str) -> Tensor:
    dist.all_gather(out := zeros("cpu", 4, 4), own(rank, device))
    return out[0]


def all_to_all(rank: int, device: str) -> Tensor:
    x = own(rank, device)
    dist.all_to_all(out := zeros(device, 2, 2), [x[:2], x[2:]])
    return out[1]


def send_and_receive(rank: int, device: str) -> Tensor:
    x = own(rank, device)
    if rank == 0:
        dist.send(x, 1)
    else:
        dist.recv(x, 0)
    return x


CASES: list[Case] = [
    all_reduce, all_reduce_async, broadcast, reduce, all_gather, all_gather_into_tensor, gather,
    scatter, reduce_scatter, reduce_scatter_tensor, all_to_all_single, barrier, data_parallel,
    all_reduce_coalesced, mixed_list, all_to_all, send_and_receive,
]  # fmt: skip


def outcome(case: Case, rank: int, device: str) -> list[object]:
    try:
        result = case(rank, device)
        return [result.device.type, result.flatten().tolist()]
    except (RuntimeError, NotImplementedError) as error:
        return [type(error).__name__]


def work(rank: int, device: str, folder: str, names: list[str]) -> None:
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    meeting = os.path.join(os.path.abspath(folder), "meeting")
    dist.init_process_group("gloo", f"file://{meeting}", rank=rank, world_size=2)
    torch.manual_seed(0)
    chosen = [case for case in CASES if not names or case.__name__ in names]
    found = {case.__name__: outcome(case, rank, device) for case in chosen}
    with open(os.path.join(folder, f"rank{rank}.json"), "w", encoding="utf-8") as stream:
        json.dump(found, stream)


if __name__ == "__main__":
    mp.spawn(work, args=(sys.argv[1], sys.argv[2], sys.argv[3:]), nprocs=2)
