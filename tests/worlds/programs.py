"""Small programs by a grammar, and what they do on the simulated devices.

Each program runs through on a machine with CUDA. Devices, moves, reads, dtypes, helpers, classes
and guards are combined at random, repeatably: the same seed is the same program.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple, TypeVar

from mpslint.checking.linter import lint
from mpslint.model import Confidence, Severity
from mpslint.semantics.context import Context
from mpslint.semantics.worlds.events import Kind
from mpslint.semantics.worlds.machines import MAC
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

SOURCE = Path(__file__).resolve().parents[2] / "src"
TIMEOUT = 900
"""Seconds until a run that hangs is given up; none is waited for that long."""

HEADER = "import numpy as np\nimport torch\n"
DEVICES = [
    'device = "cuda"',
    'device = torch.device("cuda")',
    'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")',
    'device = "cpu"\nif torch.cuda.is_available():\n    device = "cuda"',
    'if torch.cuda.is_available():\n    device = "cuda"\nelif torch.backends.mps.is_available():\n'
    '    device = "mps"\nelse:\n    device = "cpu"',
    'device = torch.accelerator.current_accelerator() or torch.device("cpu")',
    "def pick():\n    if torch.cuda.is_available():\n"
    '        return torch.device("cuda")\n    return torch.device("cpu")\n\n\ndevice = pick()',
    'def pick(name):\n    return torch.device(name if torch.cuda.is_available() else "cpu")\n\n\n'
    'device = pick("cuda")',
    "def pick():\n    if torch.backends.mps.is_available():\n"
    '        return torch.device("mps")\n    return torch.device("cuda")\n\n\ndevice = pick()',
    'class Config:\n    device = "cuda" if torch.cuda.is_available() else "cpu"\n\n\n'
    "device = Config.device",
    'class Config:\n    def __init__(self):\n        self.device = torch.device("cuda")\n\n\n'
    "device = Config().device",
    'options = {"device": "cuda", "size": 3}\ndevice = options["device"]',
]


KNOW_MPS = [text for text in DEVICES if "mps" in text or "accelerator" in text]
_GUARDS = ("is_available", "is_cuda", '== "cuda"', "startswith", "self.gpu", "except")


def is_bare(text: str) -> bool:
    """Whether a statement needs CUDA, whatever the machine."""
    return "cuda" in text and not any(guard in text for guard in _GUARDS)


class Tensor(NamedTuple):
    name: str
    on_device: bool
    """On the GPU of a machine with CUDA."""
    wide: bool
    """float64."""


class Raised(NamedTuple):
    """How a program ended."""

    type: str
    message: str
    line: int
    """The line of its own that raised."""
    called: int
    """The last line, in the file, of those that led there: that of the call, for a helper."""


class Ended(NamedTuple):
    """What a program printed, and what ended it if something did."""

    printed: str
    raised: Raised | None


Option = TypeVar("Option", str, tuple[str, bool], tuple[str, bool, bool], tuple[str, str, bool])


def _texts(option: str | tuple[str | bool, ...]) -> list[str]:
    parts = (option,) if isinstance(option, str) else option
    return [" ".join(part for part in parts if isinstance(part, str))]


class Writer:
    """Writes one program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.careful = self.random.random() < 0.5
        """Written by somebody who has a Mac: it goes on where others have raised already."""
        self.tensors: list[Tensor] = []
        self.lines: list[str] = []
        self.definitions: list[str] = []
        self.names = 0

    def fresh(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def put(self, text: str) -> None:
        self.lines += text.split("\n")

    def new(self, text: str, on_device: bool, wide: bool = False) -> None:
        name = self.fresh("x")
        self.put(f"{name} = {text}")
        self.tensors.append(Tensor(name, on_device, wide))

    def pick(self, options: list[Option]) -> Option:
        """One of some statements, which are texts or begin with one."""
        if self.careful:
            options = [
                option for option in options if not any(is_bare(part) for part in _texts(option))
            ]
        return self.random.choice(options)

    def any(self, *, on_device: bool | None = None, wide: bool | None = None) -> Tensor | None:
        fitting = [
            tensor
            for tensor in self.tensors
            if on_device in (None, tensor.on_device) and wide in (None, tensor.wide)
        ]
        return self.random.choice(fitting) if fitting else None

    def changed(self, old: Tensor, **fields: bool) -> None:
        self.tensors[self.tensors.index(old)] = old._replace(**fields)

    # what a program is made of

    def make(self) -> None:
        text, on_device, wide = self.pick(
            [
                ("torch.zeros(3)", False, False),
                ("torch.ones(3, device=device)", True, False),
                ("torch.randn(3).to(device)", True, False),
                ("torch.tensor([1.0, 2.0, 3.0], device=device)", True, False),
                ("torch.zeros(3).cuda()", True, False),
                ('torch.zeros(3, device="cuda")', True, False),
                ("torch.zeros(3, dtype=torch.float64)", False, True),
                ("torch.zeros(3, dtype=torch.float64, device=device)", True, True),
                ("torch.from_numpy(np.ones(3))", False, True),
                ("torch.from_numpy(np.ones(3, dtype=np.float32)).to(device)", True, False),
                ("torch.from_numpy(np.ones(3)).to(device)", True, True),
                ("torch.tensor(np.ones(3), dtype=torch.float32, device=device)", True, False),
            ]
        )
        self.new(text, on_device, wide)

    def move(self) -> None:
        tensor = self.any()
        if tensor is None:
            return self.make()
        name = tensor.name
        text, on_device = self.pick(
            [
                (f"{name} = {name}.to(device)", True),
                (f"{name} = {name}.cuda()", True),
                (f"if torch.cuda.is_available():\n    {name} = {name}.cuda()", True),
                (f"{name} = {name}.cpu()", False),
                (f'{name} = {name}.to("cpu")', False),
                (
                    f"try:\n    {name} = {name}.cuda()\n"
                    "except (AssertionError, RuntimeError):\n    pass",
                    True,
                ),
                (f"{name} = {name}.to(device=device, dtype=torch.float32)", True),
            ]
        )
        self.put(text)
        self.changed(tensor, on_device=on_device, wide=tensor.wide and "float32" not in text)

    def cast(self) -> None:
        tensor = self.any()
        if tensor is None:
            return self.make()
        text, wide = self.pick(
            [
                (".double()", True),
                (".to(torch.float64)", True),
                (".float()", False),
                (".to(torch.float32)", False),
                (".cpu().double()", True),
            ]
        )
        self.new(f"{tensor.name}{text}", tensor.on_device and "cpu" not in text, wide)

    def compute(self) -> None:
        first = self.any()
        second = self.any(on_device=first.on_device) if first else None
        if first is None or second is None:
            return self.make()
        a, b = first.name, second.name
        wide = first.wide or second.wide
        text, result = self.pick(
            [
                (f"{a} * 2", first.wide),
                (f"{a} + {b}", wide),
                (f"torch.stack([{a}.float(), {b}.float()]).sum(0)", False),
                (f"torch.ones_like({a}) + {a}", first.wide),
                (f"{a}.new_zeros(3) + {b}", wide),
                (f"torch.where({a} > 0, {a}, {b})", wide),
                (f"{a}.abs().clamp(min=0)", first.wide),
            ]
        )
        self.new(text, first.on_device, result)

    def read(self) -> None:
        tensor = self.any()
        if tensor is None:
            return self.make()
        x = tensor.name
        ways = [
            f"print({x}.sum().item())",
            f"n = {x}.cpu().numpy()",
            f"n = {x}.tolist()",
            f"n = {x}.cpu().numpy() if {x}.is_cuda else {x}.numpy()",
            f'n = {x}.cpu().numpy() if {x}.device.type == "cuda" else {x}.numpy()',
            f"if torch.cuda.is_available():\n    n = {x}.cpu().numpy()\nelse:\n    n = {x}.numpy()",
        ]
        if not tensor.on_device:
            ways += [f"n = {x}.numpy()", f"n = np.asarray({x})"]
        self.put(self.pick(ways))

    def tell(self) -> None:
        self.put(
            self.pick(
                [
                    "torch.cuda.synchronize()",
                    "torch.cuda.empty_cache()",
                    "torch.cuda.manual_seed(0)",
                    "if torch.cuda.is_available():\n    torch.cuda.synchronize()",
                    "if torch.cuda.is_available():\n    print(torch.cuda.get_device_name(0))",
                    "print(torch.cuda.get_device_name(0))",
                    "print(torch.cuda.memory_allocated())",
                    "print(torch.cuda.device_count())",
                    'if str(device).startswith("cuda"):\n    torch.cuda.synchronize()',
                    "torch.manual_seed(0)",
                ]
            )
        )

    def module(self) -> None:
        model = self.fresh("model")
        on_device = self.random.random() < 0.8
        place = self.pick([".to(device)", ".cuda()"]) if on_device else ""
        self.put(f"{model} = torch.nn.Linear(3, 3){place}")
        tensor = self.any(on_device=on_device, wide=False)
        if tensor is not None:
            self.new(f"{model}({tensor.name}).detach()", on_device)

    def helper(self) -> None:
        """A function of some of the statements above."""
        tensor = self.any(wide=False)
        if tensor is None:
            return self.make()
        name = self.fresh("helper")
        body, on_device, wide = self.pick(
            [
                ("return x.to(device) * 2", True, False),
                ("return x.cuda() + 1", True, False),
                ("x = x.cpu()\nreturn x + 1", False, False),
                ("return x.double()", tensor.on_device, True),
                ("return torch.zeros(3, dtype=torch.float64)", False, True),
                ('return torch.ones(3, device="cuda")', True, False),
                ("if torch.cuda.is_available():\n    x = x.cuda()\nreturn x * 2", True, False),
                ("return torch.ones_like(x)", tensor.on_device, False),
                ("torch.cuda.synchronize()\nreturn x + 0", tensor.on_device, False),
                ("return torch.zeros(3, device=x.device)", tensor.on_device, False),
            ]
        )
        self.definitions.append(f"def {name}(x, device):\n{textwrap.indent(body, '    ')}")
        self.new(f"{name}({tensor.name}, device)", on_device, wide)

    def type(self) -> None:
        """A class that keeps a device or a tensor, and uses it in another method."""
        tensor = self.any(wide=False)
        if tensor is None:
            return self.make()
        name = self.fresh("Worker")
        kept, used, on_device = self.pick(
            [
                ("self.device = device", "x.to(self.device) * 2", True),
                ("self.weight = torch.ones(3, device=device)", "x.to(device) + self.weight", True),
                ("self.weight = torch.ones(3).cuda()", "x.cuda() + self.weight", True),
                (
                    "self.gpu = torch.cuda.is_available()",
                    "x.cuda() if self.gpu else x * 1",
                    True,
                ),
                ("self.total = torch.zeros(3)", "x.cpu() + self.total", False),
            ]
        )
        self.definitions.append(
            f"class {name}:\n    def __init__(self, device):\n        {kept}\n\n"
            f"    def run(self, x, device):\n        return {used}"
        )
        self.new(f"{name}(device).run({tensor.name}, device)", on_device)

    def loop(self) -> None:
        tensor = self.any()
        if tensor is None:
            return self.make()
        self.put(f"for turn in range(2):\n    {tensor.name} = {tensor.name} + turn")

    def refusal(self) -> None:
        self.put("assert torch.cuda.is_available()")

    def program(self) -> str:
        steps = [self.make, self.move, self.cast, self.compute, self.read, self.tell]
        steps += [self.make, self.move, self.compute, self.read]
        steps += [self.module, self.helper, self.type, self.loop]
        self.make()
        for _ in range(self.random.randint(2, 6)):
            self.random.choice(steps)()
        if self.random.random() < 0.05:
            self.refusal()
        device = self.random.choice(KNOW_MPS if self.careful else DEVICES)
        parts = [HEADER, *self.definitions, device, "\n".join(self.lines)]
        return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def written(seed: int) -> str:
    """The program of a seed."""
    return Writer(seed).program()


DRIVER = """
import contextlib, io, json, sys, traceback
import torch

names = json.load(open(sys.argv[1]))
ended = {}
for name in names:
    torch.manual_seed(0)
    printed, raised = io.StringIO(), None
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(open(name).read(), name, "exec"), {"__name__": "__main__"})
    except BaseException as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == name]
        lines = lines or [0]
        raised = [type(error).__name__, str(error), lines[-1], max(lines)]
    ended[name] = [printed.getvalue(), raised]
with open(sys.argv[2], "w") as stream:
    json.dump(ended, stream)
"""


def run(programs: dict[str, str], device: str, folder: Path) -> dict[str, Raised]:
    """Runs programs in one process on a simulated device; those that raised, by name."""
    outcomes = ended(programs, device, folder)
    return {name: one.raised for name, one in outcomes.items() if one.raised is not None}


def ended(programs: dict[str, str], device: str, folder: Path) -> dict[str, Ended]:
    """Runs programs in one process on a simulated device, or on the CPU alone."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, text in programs.items():
        path = folder / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        paths[str(path)] = name
    (folder / "driver.py").write_text(DRIVER, encoding="utf-8")
    (folder / "names.json").write_text(json.dumps(list(paths)), encoding="utf-8")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTORCH_")}
    environment |= {"PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "mpslint.verify.harness", "--device", device]
    command += ["--report", "report.json", "--steps", "0"]
    done = subprocess.run(
        [*command, "driver.py", "names.json", "ended.json"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        stdin=subprocess.DEVNULL,
    )
    if not (folder / "ended.json").exists():
        raise RuntimeError(f"the programs did not run on {device}: {done.stderr[-2000:]}")
    outcomes = json.loads((folder / "ended.json").read_text(encoding="utf-8"))
    return {
        paths[path]: Ended(printed, None if raised is None else Raised(*raised))
        for path, (printed, raised) in outcomes.items()
    }


class Said(NamedTuple):
    """A finding of severity `breaks`, or `ignores`."""

    line: int
    code: str
    certain: bool


class Compared(NamedTuple):
    """What was said of a program, beside what it did on the simulated Mac."""

    name: str
    text: str
    raised: Raised | None
    breaks: list[Said]
    ignores: list[Said]
    """With these the program is another on a Mac once it is ported."""
    wide: list[int]
    """Lines at which the analysis itself has a dtype that MPS lacks."""

    @property
    def missed(self) -> bool:
        """It raised, and no finding stands at that line or before it."""
        return self.raised is not None and not any(
            said.line <= self.raised.called for said in (*self.breaks, *self.ignores)
        )

    @property
    def unforeseen(self) -> bool:
        """It raised, and nothing says that it raises at all."""
        return self.raised is not None and not self.breaks

    @property
    def false_alarm(self) -> bool:
        """It ran through, though it is certain, for a finding, that it raises as it is."""
        return self.raised is None and any(
            said.certain and (said.code[3] in "12" or not self.ignores) for said in self.breaks
        )

    def __str__(self) -> str:
        """For people who look into a difference."""
        lines = enumerate(self.text.rstrip("\n").split("\n"), 1)
        shown = "\n".join(f"{at:4} {line}" for at, line in lines)
        said = [f"{said.line} {said.code}" for said in (*self.breaks, *self.ignores)]
        return f"{self.name}: {self.raised}\nsaid: {said}, float64 at {self.wide}\n{shown}"


def compared(programs: dict[str, str], folder: Path) -> list[Compared]:
    """Runs the programs on the simulated Mac and looks at them. Raises `AssertionError` for one
    that does not run on CUDA: the grammar is wrong then."""
    on_cuda = run(programs, "cuda", folder / "cuda")
    assert not on_cuda, f"not programs for CUDA: {on_cuda}"
    on_mac = run(programs, "mps", folder / "mps")
    return [looked_at(name, text, on_mac.get(name)) for name, text in programs.items()]


def looked_at(name: str, text: str, raised: Raised | None) -> Compared:
    """What the default rules say of a program, beside how it ended."""
    source = SourceFile(f"{name}.py", text.encode())
    said: dict[Severity, list[Said]] = {}
    for one in lint(source, Settings()):
        certain = one.confidence is Confidence.CERTAIN
        said.setdefault(one.severity, []).append(Said(one.row, one.code, certain))
    worlds = Context(source, source.parse(), Settings()).worlds
    wide = [event.node.lineno for event in worlds.events(Kind.WIDE) if event.worlds & MAC]  # type: ignore[attr-defined]
    return Compared(
        name,
        text,
        raised,
        said.get(Severity.BREAKS, []),
        said.get(Severity.IGNORES, []),
        wide,
    )
