"""What the simulated device costs: a training step on it against the same step on the CPU.

    python benchmarks/overhead.py                 # table for both devices
    python benchmarks/overhead.py --device mps    # one device, in this process

Each process alternates between the two, step by step, so that a busy machine slows both alike.
Times are CPU times of the process (one compute thread); the ratio is between medians.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable

Step = Callable[[], None]


def transformer(device: str) -> Step:
    """A causal language model: 4 layers of width 64, 64 tokens, batch 8, AdamW."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    vocabulary, width, length = 96, 64, 64

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.token = nn.Embedding(vocabulary, width)
            self.place = nn.Embedding(length, width)
            layer = nn.TransformerEncoderLayer(
                width, 4, 4 * width, dropout=0.0, activation="gelu", batch_first=True,
                norm_first=True,
            )  # fmt: skip
            self.layers = nn.TransformerEncoder(layer, 4, enable_nested_tensor=False)
            self.head = nn.Linear(width, vocabulary)

        def forward(self, ids: torch.Tensor) -> torch.Tensor:
            places = torch.arange(ids.size(1), device=ids.device)
            hidden = self.token(ids) + self.place(places)
            mask = nn.Transformer.generate_square_subsequent_mask(length, device=ids.device)
            return self.head(self.layers(hidden, mask=mask, is_causal=True))

    model = Model().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ids = torch.randint(0, vocabulary, (8, length)).to(device)

    def step() -> None:
        loss = F.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def convnet(device: str) -> Step:
    """Two convolutions with batch norm on 3x32x32 images, batch 32, SGD with momentum."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
        nn.Flatten(), nn.Linear(64, 10),
    ).to(device)  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    images = torch.randn(32, 3, 32, 32).to(device)
    labels = torch.randint(0, 10, (32,)).to(device)

    def step() -> None:
        loss = F.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def perceptron(device: str) -> Step:
    """784-256-10, batch 64, Adam."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10)).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    inputs = torch.randn(64, 784).to(device)
    labels = torch.randint(0, 10, (64,)).to(device)

    def step() -> None:
        loss = F.cross_entropy(model(inputs), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    return step


def small_operations(device: str) -> Step:
    """A thousand additions of 16 numbers: nothing but overhead."""
    import torch

    first = torch.ones(16, device=device)
    second = torch.ones(16, device=device)

    def step() -> None:
        for _ in range(1000):
            first + second

    return step


WORKLOADS: dict[str, tuple[Callable[[str], Step], int]] = {
    "transformer, 4 layers of 64": (transformer, 30),
    "convnet, 3x32x32": (convnet, 20),
    "perceptron, 784-256-10": (perceptron, 60),
    "1000 additions of 16 numbers": (small_operations, 10),
}


def measure(device: str) -> dict[str, list[float]]:
    """Median milliseconds per step: [cpu, simulated]."""
    import torch

    from mpslint.verify.harness import simulator

    torch.set_num_threads(1)
    simulator.install(device, None, False)
    rows = {}
    for name, (build, repeats) in WORKLOADS.items():
        steps = [build("cpu"), build(device)]
        times: list[list[float]] = [[], []]
        for repeat in range(repeats + 3):
            for which, step in enumerate(steps):
                start = time.process_time()
                step()
                if repeat >= 3:
                    times[which].append((time.process_time() - start) * 1e3)
        rows[name] = [statistics.median(row) for row in times]
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=["mps", "cuda"])
    parser.add_argument("--json", action="store_true", help="print numbers only")
    options = parser.parse_args()
    print_json = options.json
    results = {}
    for device in [options.device] if options.device else ["mps", "cuda"]:
        if options.device:
            results[device] = measure(device)
            continue
        command = [sys.executable, __file__, "--device", device, "--json"]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        results.update(json.loads(output.splitlines()[-1]))
    if print_json:
        print(json.dumps(results))
        return 0
    print(f"{'workload':32} {'device':6} {'CPU ms':>9} {'simulated ms':>13} {'ratio':>6}")
    for device, rows in results.items():
        for name, (cpu, simulated) in rows.items():
            print(f"{name:32} {device:6} {cpu:9.2f} {simulated:13.2f} {simulated / cpu:5.1f}x")
    return 0


if __name__ == "__main__":
    sys.exit(main())
