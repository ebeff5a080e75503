"""A port that would have a program train in float16 without a scaler is not made by itself."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Cli

PROGRAM = """\
from contextlib import nullcontext

import torch
from torch.amp import GradScaler, autocast

amp = True
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
net = torch.nn.Linear(2, 2).to(device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
is_scaled = amp and device.type == "cuda"
scaler = GradScaler(enabled=is_scaled)
for step in range(3):
    with autocast(device_type=device.type, enabled=amp):
        loss = net(torch.ones(2, 2, device=device)).mean()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
"""
SCALER, CAST = "GradScaler(enabled=is_scaled)", "autocast(device_type=device.type, enabled=amp)"


def is_ported(cli: Cli, project: Path, program: str) -> bool:
    (project / "train.py").write_text(program)
    cli("fix", "--no-verify", ".")
    return "torch.backends.mps" in (project / "train.py").read_text()


def test_it_is_told_why_such_a_program_is_left(cli: Cli, project: Path) -> None:
    (project / "train.py").write_text(PROGRAM)
    told = cli("fix", "--no-verify", ".")
    assert (project / "train.py").read_text() == PROGRAM
    assert "would be float16 on MPS, and its gradients are scaled for CUDA alone" in told.out


@pytest.mark.parametrize(
    "scaler",
    [
        "GradScaler()",
        'GradScaler("cuda")',
        "GradScaler(enabled=amp)",
        "torch.cuda.amp.GradScaler()",
        'GradScaler(device.type) if device.type == "cuda" else None',
        'GradScaler(device.type) if not device.type != "cuda" else None',
        'None if device.type != "cuda" else GradScaler(device.type)',
        'GradScaler(device.type, enabled=amp and device.type == "cuda")',
    ],
)
def test_any_scaler_for_cuda_alone_leaves_it(cli: Cli, project: Path, scaler: str) -> None:
    assert not is_ported(cli, project, PROGRAM.replace(SCALER, scaler))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (SCALER, "GradScaler(device.type, enabled=amp)"),
        (SCALER, 'GradScaler("mps")'),
        (SCALER, 'GradScaler(device.type, enabled=device.type in ("cuda", "mps"))'),
        (CAST, 'autocast(device_type="cuda", enabled=amp)'),
        (CAST, "autocast(device_type=device.type, enabled=is_scaled)"),
        (CAST, "autocast(device_type=device.type, enabled=scaler is not None and is_scaled)"),
        (CAST, "autocast(device_type=device.type, dtype=torch.bfloat16)"),
        (CAST, f'{CAST} if device.type == "cuda" else nullcontext()'),
        (CAST, f'nullcontext() if device.type != "cuda" else {CAST}'),
    ],
)
def test_what_is_scaled_or_not_in_float16_is_ported(
    cli: Cli, project: Path, before: str, after: str
) -> None:
    assert before in PROGRAM
    assert is_ported(cli, project, PROGRAM.replace(before, after))


@pytest.mark.parametrize(
    "cast",
    [
        'autocast(device_type=device.type, enabled=device.type != "cpu")',
        f'{CAST} if device.type != "cuda" else nullcontext()',
        f'nullcontext() if device.type == "cuda" else {CAST}',
        f"{CAST} if not torch.cuda.is_available() else nullcontext()",
        f'{CAST} if device.type in ("cuda", "mps") else nullcontext()',
    ],
)
def test_a_test_for_all_but_cuda_lets_mps_in(cli: Cli, project: Path, cast: str) -> None:
    assert not is_ported(cli, project, PROGRAM.replace(CAST, cast))


def test_an_arm_for_all_but_cuda_is_unscaled(cli: Cli, project: Path) -> None:
    step = PROGRAM[PROGRAM.index("    with autocast") : PROGRAM.index("    scaler.scale")]
    inner = "".join(f"    {line}\n" for line in step.splitlines())
    plain = "    loss = net(torch.ones(2, 2, device=device)).mean()\n"
    arm = f'{plain}    if device.type != "cuda":\n{inner}'
    assert not is_ported(cli, project, PROGRAM.replace(step, arm))
