"""What the pages in the browser tests are about."""

from __future__ import annotations

from pathlib import Path

from mpslint.folders.discovery import targets
from mpslint.report import html
from mpslint.report.survey import survey
from mpslint.running.runner import check_all
from mpslint.settings.file import SettingsFinder
from mpslint.verify import tracing
from mpslint.verify.report import Report, Run
from mpslint.verify.timeline import Event, last_step
from mpslint.verify.tracing import Trace

HOSTILE = "</script><img src=x onerror=alert(1)>"
FILES = {
    "utils/device.py": "import torch\n\nuse_cuda = torch.cuda.is_available()\n"
    'device = torch.device("cuda")\n',
    "models/deep/net.py": """\
import torch
from utils.device import device, use_cuda


def forward(x):
    x = x.to(device)
    values, vectors = torch.linalg.eig(x)
    if use_cuda:
        x = x.cuda()
    torch.cuda.synchronize()
    return torch.zeros(3, dtype=torch.float64, device="mps") + torch.cummax(x, 0)[0]
""",
    "models/deep/loss.py": "import torch\n\nx = torch.zeros(2).cuda()\ny = torch.zeros(2).cuda()\n",
    "train.py": f'import torch\n\ntorch.cuda.synchronize()  # {HOSTILE}\nprint("{"long" * 60}")\n'
    "total = torch.cuda.max_memory_allocated()\n",
}
VERDICT = Report(
    "/project/train.py",
    (
        Run("cpu", "real", "pass", "3 optimizer steps"),
        Run(
            "mps", "simulated", "fail", f"RuntimeError: {HOSTILE} at train.py:3", notes=("a note",)
        ),
    ),
    "fail",
    "simulated mps: RuntimeError",
    control="a copy that misspells mps was rejected",
)


def trace(*, ok: bool = True) -> Trace:
    """A trace of two steps with all that a timeline can show."""

    def event(kind: str, line: int, step: int = 0, size: int = 0, name: str = "") -> Event:
        return Event(0.0, kind, name or kind, f"/project/{HOSTILE}/train.py", line, 0.0, size, step)

    events = [event("op", 4), event("step", 9, step=1)]
    events += [event("h2d", 3, size=4000), *[event("op", 4 + n % 3) for n in range(30)]]
    events += [event("fallback", 8, name="aten::linalg_eig"), event("sync", 7)]
    events += [event("step", 9, step=2)]
    steps = ({"step": 1, "device_ops": 1}, {"step": 2, "device_ops": 31, "syncs": 1, "bytes": 4000})
    return Trace(
        f"/project/{HOSTILE}.py",
        "mps",
        "simulated",
        ok,
        "" if ok else f"data is missing: {HOSTILE}",
        last_step(events),
        operations=31,
        lines=tracing._lines(last_step(events).events, tracing._Sources([]), None),
        steps=steps,
    )


def report(folder: Path, files: dict[str, str] | None = None) -> str:
    """The report's page of a project with these files, made in the current folder."""
    for name, text in (FILES if files is None else files).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found = list(targets(["."], SettingsFinder({}, isolated=True), print))
    results = check_all(found, cache=False, with_fixes=True)
    made = survey(["."], found, results, verdicts=[VERDICT], traces=[trace()])
    return html.render(made)
