"""Optimizers, schedulers, mixed precision: a few training steps of small models."""

import torch
from feature_table import DEVICE, FEATURES, feature, numbers
from torch import nn
from torch.nn import functional as F


def small_model():
    torch.manual_seed(3)
    layers = [nn.Linear(6, 12), nn.ReLU(), nn.LayerNorm(12), nn.Linear(12, 3)]
    return nn.Sequential(*layers).to(DEVICE)


def batch():
    return numbers(5, 6), torch.tensor([0, 1, 2, 0, 1]).to(DEVICE)


def train(model, optimizer, steps=3):
    inputs, labels = batch()
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses


def add_optimizer(name, label="", **options):
    def run():
        model = small_model()
        return train(model, getattr(torch.optim, name)(model.parameters(), lr=0.01, **options))

    FEATURES[f"optimizer_{name}{label}"] = run


for plain_name in ("SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta",
                   "RMSprop", "Rprop", "ASGD"):  # fmt: skip
    add_optimizer(plain_name)
add_optimizer("SGD", "_momentum", momentum=0.9, nesterov=True)
add_optimizer("Adam", "_amsgrad", amsgrad=True)
for looping in ("SGD", "Adam", "AdamW"):
    add_optimizer(looping, "_foreach", foreach=True)
    add_optimizer(looping, "_loop", foreach=False)
    add_optimizer(looping, "_fused", fused=True)


@feature
def lbfgs_with_a_closure():
    model = small_model()
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=3)
    inputs, labels = batch()

    def closure():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), labels)
        loss.backward()
        return loss

    return [optimizer.step(closure).item() for _ in range(2)]


@feature
def schedulers():
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    chain = [
        torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.5),
        torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 5),
    ]
    rates = []
    for _ in range(3):
        train(model, optimizer, steps=1)
        for scheduler in chain:
            scheduler.step()
        rates.append(optimizer.param_groups[0]["lr"])
    return rates


@feature
def gradient_accumulation():
    model = small_model()
    inputs, labels = batch()
    for _ in range(3):
        (F.cross_entropy(model(inputs), labels) / 3).backward()
    return [model[0].weight.grad.abs().sum(), model[3].bias.grad]


@feature
def autocast_casts_products():
    model = small_model()
    inputs, labels = batch()
    kinds = []
    for dtype in (torch.bfloat16, torch.float16):
        with torch.autocast(device_type=DEVICE, dtype=dtype):
            kinds.append(str(model[0](inputs).dtype))
            loss = F.cross_entropy(model(inputs).float(), labels)
        loss.backward()
        kinds.append(model[0].weight.grad.isfinite().all().item())
    with torch.autocast(DEVICE, enabled=False):
        kinds.append(str(model[0](inputs).dtype))
    return kinds


@feature
def gradient_scaler():
    model = small_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler(device=DEVICE, init_scale=1024.0)
    inputs, labels = batch()
    for _ in range(2):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    return [scaler.get_scale(), loss.item()]


@feature
def averaged_model_and_vectors():
    model = small_model()
    average = torch.optim.swa_utils.AveragedModel(model)
    average.update_parameters(model)
    vector = nn.utils.parameters_to_vector(average.module.parameters())
    nn.utils.vector_to_parameters(vector * 2, model.parameters())
    return [vector.device.type == DEVICE, vector.sum(), model[0].weight.sum()]


@feature
def clipping_by_value():
    model = small_model()
    model(batch()[0]).sum().backward()
    nn.utils.clip_grad_value_(model.parameters(), 0.1)
    return max(float(p.grad.abs().max()) for p in model.parameters()) <= 0.1


@feature
def checkpointed_activations():
    from torch.utils.checkpoint import checkpoint

    results = []
    for reentrant in (False, True):
        model = small_model()
        inputs, labels = batch()
        inputs.requires_grad_()
        hidden = checkpoint(model, inputs, use_reentrant=reentrant)
        F.cross_entropy(hidden, labels).backward()
        results.append(model[0].weight.grad.abs().sum())
    return results


@feature
def compiled_model_runs_and_keeps_its_state_dict():
    model = small_model()
    compiled = torch.compile(model) if DEVICE != "cpu" else model
    losses = train(compiled, torch.optim.AdamW(compiled.parameters(), lr=0.01))
    return [losses, len(compiled.state_dict())]


@feature
def data_parallel_of_one_device():
    model = nn.DataParallel(small_model())
    return model(batch()[0]).sum()
