"""Mixed devices and implicit reads, case by case, on a real or a simulated device.

    python mixed_devices.py DEVICE

Prints RESULTS and {case: {"error": class, "message": text} or {"error": null, "value": ...}}.
"""

from __future__ import annotations

import copy
import io
import json
import math
import sys
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

D = sys.argv[1]
# Cases whose numbers are drawn.
DRAWN = ("rand", "multinomial", "sample", "LSTM", "nn.Linear", "Embedding")


def operands() -> dict[str, torch.Tensor]:
    """c: on the CPU, d: on the device; 0, 1, 2: dimensions; i: index, m: mask, n: number."""
    torch.manual_seed(0)
    mask = [True, False, True, False]
    return {
        "c0": torch.tensor(0.0), "c1": torch.arange(4.0), "c2": torch.ones(3, 4),
        "ci": torch.tensor([0, 2]), "cm": torch.tensor(mask), "cn": torch.tensor(3),
        "d0": torch.tensor(1.0, device=D), "d1": torch.arange(4.0, device=D),
        "d2": torch.ones(3, 4, device=D), "di": torch.tensor([0, 2], device=D),
        "dm": torch.tensor(mask, device=D), "dn": torch.tensor(3, device=D),
    }  # fmt: skip


CASES = """\
c0.add_(d0)
c0 + d0
c0 * d1
c1 * d0
c1 + d1
d1.add_(c0)
d1.add_(c1)
d1 * c0
d0 + c1
c1.mul_(d0)
torch.maximum(d1, c0)
torch.maximum(c1, d0)
torch.pow(d1, c0)
torch.pow(c0, d1)
d1 ** c0
d1 == c0
c1 == d0
c0 == d0
c1[dm]
c1[di]
d1[cm]
d1[ci]
d1[cn]
c1[dn]
c1.__setitem__(dm, 1.0)
c1.__setitem__(dm, c0)
c1.__setitem__(dm, d0)
c1.__setitem__(di, 1.0)
d1.__setitem__(cm, 1.0)
d1.__setitem__(cm, c0)
d1.__setitem__(ci, c1[:2])
d1.__setitem__(ci, d1[:2])
d1.__setitem__(0, c0)
d1.__setitem__(slice(0, 2), c1[:2])
c1.__setitem__(0, d0)
c1.__setitem__(slice(0, 2), d1[:2])
torch.where(dm, d1, c0)
torch.where(dm, c0, d1)
torch.where(cm, d1, d1)
torch.where(dm, c1, d1)
torch.where(dm, 1.0, d1)
torch.cat([c1, d1])
torch.stack([c0, d0])
torch.stack([c1, d1])
c2 @ d2.T
d2 @ c2.T
d2.mv(c1)
torch.addmm(d2, d2[:, :3], c2)
F.linear(d2, c2)
F.cross_entropy(d2, torch.tensor([0, 1, 2]))
F.cross_entropy(d2, torch.tensor([0, 1, 2], device=D), weight=torch.ones(4))
F.mse_loss(d2, c2)
F.binary_cross_entropy_with_logits(d2, d2, pos_weight=torch.ones(4))
F.binary_cross_entropy_with_logits(d2, d2, pos_weight=torch.tensor(2.0))
F.embedding(ci, d2)
F.embedding(di, c2)
F.nll_loss(d2, torch.tensor([0, 1, 2]))
F.layer_norm(d2, (4,), torch.ones(4))
F.batch_norm(d2, torch.zeros(4), torch.ones(4))
F.conv1d(d2[None], torch.ones(2, 3, 1))
F.one_hot(di)
F.interpolate(d2[None], size=dn.item())
d2.gather(0, torch.zeros(1, 4, dtype=torch.long))
d2.scatter_(0, torch.zeros(1, 4, dtype=torch.long), d2)
d2.index_select(0, ci)
d2.index_add_(0, ci, d2[:2])
d1.index_fill_(0, ci, 0.0)
d1.masked_fill(cm, 0.0)
d1.masked_fill(dm, c0)
d1.masked_fill(dm, d0)
c1.masked_fill(cm, d0)
d1.masked_select(cm)
d1.clamp(min=c0)
d1.clamp(min=c1)
d1.lerp(d1, c0)
d1.lerp(c1, 0.5)
torch.addcmul(d1, d1, c0)
torch.addcmul(d1, d1, c1)
torch.dot(d1, c1)
torch.equal(c1, d1)
torch.allclose(c1, d1)
torch.isclose(d1, c0)
torch.bucketize(d1, c1)
torch.searchsorted(d1, c1)
torch.searchsorted(d1, c0)
d1.copy_(c1)
c1.copy_(d1)
torch.add(d1, d1, out=c1)
torch.randn(2, device=D, generator=torch.Generator())
torch.randperm(4, generator=torch.Generator(), device=D)
torch.multinomial(d1, 1, generator=torch.Generator())
torch.tensor(d0)
torch.tensor([d0, d0])
torch.tensor([c0, d0])
torch.as_tensor(d1, device="cpu")
np.array(d1)
np.asarray(d1)
np.asarray([d0, d0])
np.mean(d1)
np.zeros(4)[dn]
np.ones(4) * d0
d0 * np.ones(4)
d1 + np.ones(4)
d1 * np.float64(2.0)
np.float64(2.0) * d1
d1.__array__()
d1.numpy()
d1.tolist()
float(d0)
int(d0)
bool(d0)
range(dn)
list(range(dn))
[0] * dn
[1, 2, 3, 4][dn]
math.sqrt(d0)
math.floor(d0)
round(d0)
max(d0, 1)
max(d0, c0)
min(c0, d0)
sum([d0, d0])
sum([c0, d0])
sorted([d0, c0])
f"{d0:.2f}"
"%.2f" % d0
str(d0)
d0 in [c0]
d0 in d1
hash(d0)
list(d1)
[float(v) for v in d1]
c1.to(d1)
d1.type(torch.FloatTensor)
d1.float().cpu().type_as(d1)
nn.Linear(4, 2)(d1)
nn.Linear(4, 2).to(D)(c1)
nn.LSTM(4, 2).to(D)(d2[None], (torch.zeros(1, 3, 2), torch.zeros(1, 3, 2)))
nn.utils.rnn.pack_padded_sequence(d2[None], dn[None].to(D), batch_first=True)
nn.utils.rnn.pack_padded_sequence(d2[None], torch.tensor([3]), batch_first=True)
nn.utils.rnn.pad_sequence([d1, c1])
nn.EmbeddingBag(4, 2).to(D)(di, torch.tensor([0]))
nn.CrossEntropyLoss(weight=torch.ones(4))(d2, torch.tensor([0, 1, 2], device=D))
nn.utils.clip_grad_norm_([nn.Parameter(c1.clone()), nn.Parameter(d1.clone())], 1.0)
torch.autograd.grad((nn.Parameter(c0.clone()) * d1).sum(), [])
torch.optim.Adam([nn.Parameter(c1.clone()), nn.Parameter(d1.clone())]).step()
torch.get_device(c1)
torch.get_device(d1)
torch.device(torch.get_device(d1))
d1.get_device()
copy.deepcopy(d1)
torch.save(d1, io.BytesIO())
d1.pin_memory()
torch.from_numpy(np.ones(2)).to(D)
torch.from_numpy(np.ones(2)).float().to(D)
torch.einsum("i,i->", d1, c1)
torch.cdist(d2, c2)
torch.outer(d1, c1)
torch.kron(d1, c1)
torch.meshgrid(d1, c1, indexing="ij")
torch.linalg.solve(torch.eye(4, device=D), c1)
torch.scatter(d1, 0, di, c1)
torch.cumsum(d1, 0, dtype=torch.float64)
torch.topk(d1, dn)
torch.topk(d1, int(dn))
torch.split(d1, [2, 2])
torch.split(d1, dn)
torch.repeat_interleave(d1, torch.tensor([1, 1, 1, 1]))
torch.repeat_interleave(d1, torch.ones(4, dtype=torch.long, device=D))
torch.arange(dn)
torch.zeros(dn)
torch.zeros(dn, device=D)
torch.full((2,), d0)
torch.full((2,), c0, device=D)
torch.linspace(0, 1, dn)
torch.nn.functional.pad(d1, (dn, 0))
torch.roll(d1, dn)
d1.view(dn - 1, 2)
d1.reshape(dn - 1, -1)
d1.narrow(0, dn - 3, 2)
d1[dn - 3:dn]
torch.distributions.Normal(d0, c0 + 1).sample()
torch.distributions.Normal(d0, d0).log_prob(c0)
torch.distributions.Categorical(logits=d2).log_prob(torch.tensor([0, 1, 2]))
""".splitlines()

NAMES = {
    "copy": copy, "io": io, "math": math, "np": np, "torch": torch, "F": F, "nn": nn, "D": D,
}  # fmt: skip


def told(case: str, value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        if any(word in case for word in DRAWN):
            return ["tensor", value.device.type]
        is_mask = value.dtype == torch.bool
        total = value.sum() if is_mask else value.detach().cpu().double().nansum()
        return ["tensor", value.device.type, str(value.dtype), round(float(total), 4)]
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and "hash" not in case:
        return float(value)
    return type(value).__name__


def outcome(case: str) -> dict[str, Any]:
    try:
        return {"error": None, "value": told(case, eval(case, NAMES, operands()))}
    except Exception as error:
        return {"error": type(error).__name__, "message": str(error)[:160]}


print("RESULTS", json.dumps({case: outcome(case) for case in CASES}))
