"""Sparse tensors in coordinate form on a device: what comes out, and how often the host waits.

Runs on a real device as on a simulated one: `python sparse.py cuda CASES.json`, where the keys of
the file are the expressions to look at.
"""

import json
import sys
import warnings

import torch

D = sys.argv[1]


def made(device=D):
    i = torch.tensor([[0, 2, 0, 1], [1, 0, 1, 3]], device=device)
    return torch.sparse_coo_tensor(i, torch.tensor([1.0, 2.0, 4.0, -3.0], device=device), (3, 4))


def rows():
    i = torch.tensor([[2, 0, 2]], device=D)
    return torch.sparse_coo_tensor(i, torch.arange(6.0, device=D).reshape(3, 2), (4, 2))


def dense():
    return torch.arange(12.0, device=D).reshape(3, 4)


def ones(*size):
    return torch.ones(*size, device=D)


def trained(kind):
    table = torch.nn.Embedding(5, 2, sparse=True).to(D)
    with torch.no_grad():
        table.weight.copy_(torch.arange(10.0, device=D).reshape(5, 2) / 10)
    steps = getattr(torch.optim, kind)(table.parameters(), lr=0.1)
    for _ in range(3):
        steps.zero_grad()
        a, b = torch.tensor([1, 3, 1], device=D), torch.tensor([0, 3, 3], device=D)
        (table(a) + table(b)).square().sum().backward()
        steps.step()
    return [table.weight.detach(), table.weight.grad]


def told(v):
    if isinstance(v, list | tuple):
        return [told(one) for one in v]
    if not isinstance(v, torch.Tensor):
        return v
    about = [str(v.layout), str(v.dtype), v.device.type, list(v.shape)]
    if v.layout is torch.sparse_coo:
        about += [v.is_coalesced(), v._nnz()]
        v = v.to_dense()
    return [*about, [round(x, 4) for x in v.detach().cpu().double().reshape(-1).tolist()]]


def outcome(text):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            if D == "cuda":
                torch.cuda.set_sync_debug_mode("warn")
            value = eval(text)
        except Exception as error:
            return {"error": type(error).__name__, "text": str(error)[:200]}
        finally:
            if D == "cuda":
                torch.cuda.set_sync_debug_mode("default")
    waits = sum(str(one.message).startswith("called a synchronizing") for one in heard)
    return {"value": told(value), "waits": waits}


with open(sys.argv[2]) as stream:
    cases = json.load(stream)
print("RESULTS " + json.dumps({name: outcome(name) for name in cases}))
