"""A port that uses autocast as the original does, on a device where it works on other operators."""

from __future__ import annotations

from pathlib import Path

from mpslint.verify import Request, verify
from mpslint.verify.launch import Launch
from mpslint.verify.rounding import Margins, Rounded
from mpslint.verify.same_precision import agrees
from tests.verify.test_rounding import CALM, FAR, Asked, running, using

ORIGINAL = using(running([1.0, 0.9, 0.801]), "cuda", "bfloat16")
PORT = using(running([1.0, 0.9, 0.8015]), "mps", "bfloat16")
FULL = CALM._replace(device="mps")


def beyond(allowed: Margins, run: Launch) -> str | None:
    return allowed.beyond(run, FAR)


def judged(port: Launch, full: Launch, original: Launch = ORIGINAL) -> str | None:
    return agrees(original, port, Rounded(Asked(CALM)), lambda: full, beyond)


def test_the_same_numbers_without_it_and_near_ones_with_it_agree() -> None:
    assert "bfloat16" in str(judged(PORT, FULL))


def test_other_numbers_without_it_do_not() -> None:
    assert judged(PORT, using(running([1.0, 0.9, 0.8005]), "mps")) is None


def test_numbers_that_are_further_off_than_it_leaves_them_do_not() -> None:
    assert judged(using(running([1.0, 0.9, 0.82]), "mps", "bfloat16"), FULL) is None


def test_another_type_than_the_originals_does_not() -> None:
    assert judged(using(PORT, "mps", "float16"), FULL) is None


def test_what_is_done_with_a_scaler_would_not_be_seen() -> None:
    original = using(ORIGINAL, "cuda", "GradScaler", "bfloat16")
    assert judged(PORT, FULL, original) is None


def test_a_port_that_fails_without_it_does_not() -> None:
    from tests.verify.conftest import launch

    failed = launch("mps", outcome="error", error={"type": "E", "message": ""})
    assert judged(PORT, failed) is None


ORIGINAL_TEXT = """
import torch
from torch import nn

torch.manual_seed(3)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.LayerNorm(32), nn.Linear(32, 4)).to("cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    x, y = torch.randn(32, 8, device="cuda"), torch.randint(4, (32,), device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
"""
CHOOSES = 'DEVICE = "cuda" if torch.cuda.is_available() else "cpu"\n'


def test_a_port_that_takes_autocast_to_the_cpu_passes_there_and_a_wrong_one_does_not(
    tmp_path: Path,
) -> None:
    """The CPU takes bfloat16 for the loss, too."""
    right = ORIGINAL_TEXT.replace("from torch import nn\n", "from torch import nn\n" + CHOOSES)
    right = right.replace('"cuda")', "DEVICE)").replace('"cuda",', "DEVICE,")
    wrong = right.replace("lr=0.1", 'lr=0.1 if DEVICE == "cuda" else 0.11')
    (tmp_path / "original.py").write_text(ORIGINAL_TEXT)
    verdicts = {}
    for name, text in (("right", right), ("wrong", wrong)):
        port = tmp_path / f"{name}.py"
        port.write_text(text)
        report = verify(
            Request(
                str(port),
                original=str(tmp_path / "original.py"),
                devices=("cpu",),
                negative_control=False,
            )
        )
        verdicts[name] = next(run.verdict for run in report.runs if run.device == "cpu")
    assert verdicts["right"] == "pass", report.to_text()
    assert verdicts["wrong"] != "pass"
