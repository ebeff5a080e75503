"""What mpslint costs, beside other tools, in one run: `make bench`, or

    python benchmarks/bench.py [--corpus FOLDER] [--project FOLDER] [--script FILE] [--rounds N]
                               [--sample N] [--only NAME] [--write]

The corpus holds real Python files (default: those of the installed torch package), a project files
that import each other, of which some are fixed (default: one of the fixtures; name several with
`--project` again), FILE is one training script (default: the example's). `--only` prints the tables
of one function alone: `starting`, `fixing`. TorchFix and flake8 are installed into virtual
environments of their own below `.bench`; what cannot be installed is left out, and the table says
so. `--write` puts the tables into `benchmarks/README.md`.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from measure import Command, interleaved, median, ratio, table

HERE = Path(__file__).resolve().parent
BENCH = HERE.parent / ".bench"
PYTHON = sys.executable
SCRIPT = HERE.parent / "examples" / "train.py"
PROJECT = HERE.parent / "fixtures" / "worlds" / "project"
START = "<!-- measured -->"
WITH_PLUGIN = """\
[flake8:local-plugins]
extension =
    MPS = mpslint.flake8_plugin:Plugin
paths = {source}
"""


EMPTY = """\
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("paths", nargs="*")
parser.parse_args()
"""


def mpslint(*arguments: str) -> list[str]:
    return [PYTHON, "-m", "mpslint", *arguments]


def venv(name: str, *packages: str) -> Path | None:
    """The `bin` folder of an environment with these packages; None if they cannot be had."""
    home = BENCH / name
    bin_ = home / ("Scripts" if os.name == "nt" else "bin")
    if not (home / ".done").exists():
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([PYTHON, "-m", "venv", str(home)], check=True)
        install = [str(bin_ / "python"), "-m", "pip", "install", "--quiet", *packages]
        if subprocess.run(install, stdout=subprocess.DEVNULL).returncode:
            print(f"note: {' '.join(packages)} cannot be installed here; left out", file=sys.stderr)
            return None
        (home / ".done").touch()
    return bin_


def default_corpus() -> Path:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        sys.exit("no torch here: name a folder of Python files with --corpus FOLDER")
    return Path(spec.origin).parent


def copy_python(source: Path, target: Path, every: int = 1, times: int = 1) -> int:
    """Copy every `every`-th Python file, `times` times over; bytes copied."""
    total = 0
    for number, path in enumerate(sorted(source.rglob("*.py"))):
        if number % every or not path.is_file():
            continue
        for copy in range(times):
            place = target / f"copy{copy}" / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)
            total += path.stat().st_size
    return total


def over_a_corpus(corpus: Path, work: Path, rounds: int) -> str:
    tree = work / "tree"
    size = copy_python(corpus, tree)
    # Warming a cache up is the first round.
    own_cache = {"MPSLINT_CACHE_DIR": str(work / "mpslint")}
    ruff_cache = {"RUFF_CACHE_DIR": str(work / "ruff")}
    check = ["check", "--isolated", "--output-format", "concise"]
    ruff = [PYTHON, "-m", "ruff", "check", "--isolated"]
    commands = [
        Command("ruff, default rules", [*ruff, "--no-cache", str(tree)]),
        Command("ruff, F rules", [*ruff, "--no-cache", "--select", "F", str(tree)]),
        Command("ruff, default rules, cached", [*ruff, str(tree)], env=ruff_cache),
        Command("ruff, E9 rules, cached", [*ruff, "--select", "E9", str(tree)], env=ruff_cache),
        Command("mpslint check, cold", mpslint(*check, "--no-cache", "--jobs", "1", str(tree))),
        Command("mpslint check, warm", mpslint(*check, "--jobs", "1", str(tree)), env=own_cache),
        Command(
            "mpslint fix --diff",
            mpslint("fix", "--no-verify", "--isolated", "--no-cache", "--diff", str(tree)),
        ),
        *[
            Command(f"floor: {what}", [PYTHON, str(HERE / "floors.py"), what, str(tree)])
            for what in ("read", "triggers", "ast", "libcst")
        ],
    ]
    files = sum(1 for _ in tree.rglob("*.py"))
    title = f"{files} files, {size / 1e6:.1f} MB"
    return table(title, interleaved(commands, rounds), "ruff, default rules")


def fixing(projects: Sequence[Path], script: Path, rounds: int) -> str:
    """What fixes cost beside the check that they begin with, without running what they make."""
    ruff = [PYTHON, "-m", "ruff", "check", "--isolated", "--no-cache"]
    own = ["--isolated", "--no-cache", "--jobs", "1"]
    lines = [
        "### Fixing, without verification",
        "",
        "| of | files | ruff | check | fix | check ÷ ruff | fix ÷ check |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for place in (script, *projects):
        commands = [
            Command("ruff", [*ruff, str(place)]),
            Command("check", mpslint("check", *own, str(place))),
            Command("fix", mpslint("fix", "--no-verify", "--diff", *own, str(place))),
        ]
        runs = interleaved(commands, rounds)
        files = sum(1 for _ in place.rglob("*.py")) if place.is_dir() else 1
        cpu = [f"{median(runs[one.name]).cpu:.2f}" for one in commands]
        ratios = (ratio(runs["check"], runs["ruff"]), ratio(runs["fix"], runs["check"]))
        cells = [place.name, str(files), *cpu, *(f"{one:.1f}" for one in ratios)]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


def by_part(corpus: Path) -> str:
    """Where the time of a cold check goes, in a process of its own."""
    command = [PYTHON, str(HERE / "phases.py"), str(corpus)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def beside_others(corpus: Path, work: Path, rounds: int, every: int) -> str:
    """TorchFix and flake8 are slow: every `every`-th file."""
    tree = work / "sample"
    size = copy_python(corpus, tree, every)
    torchfix, alone = venv("torchfix", "torchfix"), venv("flake8", "flake8")
    check = ["check", "--isolated", "--no-cache", "--jobs", "1", "--output-format", "concise"]
    flake8 = ["-m", "flake8", "--isolated", "-j1"]
    commands = [Command("mpslint check, cold", mpslint(*check, str(tree)))]
    if alone is not None:
        commands.append(
            Command("flake8 alone", [str(alone / "python"), *flake8, "--select", "E9", str(tree)])
        )
        # The same environment, so that nothing but the plugin differs.
        config = work / "flake8.ini"
        config.write_text(WITH_PLUGIN.format(source=HERE.parent / "src"))
        with_plugin = ["-m", "flake8", "--config", str(config), "-j1", "--select", "E9,MPS"]
        commands.append(
            Command("flake8 with mpslint", [str(alone / "python"), *with_plugin, str(tree)])
        )
    if torchfix is not None:
        commands.append(
            Command("TorchFix", [str(torchfix / "torchfix"), "--select", "ALL", str(tree)])
        )
    files = sum(1 for _ in tree.rglob("*.py"))
    runs = interleaved(commands, rounds)
    title = f"Every {every}th file: {files} files, {size / 1e6:.1f} MB"
    text = table(title, runs, "mpslint check, cold")
    if alone is not None:
        share = ratio(runs["flake8 with mpslint"], runs["flake8 alone"])
        text += f"\nflake8 with mpslint ÷ flake8 alone: {share:.2f}\n"
    return text


def starting(work: Path, script: Path, rounds: int) -> str:
    clean = work / "clean.py"
    clean.write_text("import os\n\n\ndef f(x):\n    return os.path.join(x, 'y')\n" * 20)
    torchfix = venv("torchfix", "torchfix")
    check = ["check", "--isolated", "--no-cache"]
    base = "a program that only parses its arguments"
    empty = work / "empty.py"
    empty.write_text(EMPTY)
    commands = [
        Command(base, [PYTHON, str(empty), str(script)]),
        Command("mpslint --version", mpslint("--version")),
        Command("mpslint check, file without torch", mpslint(*check, str(clean))),
        Command("mpslint check, script with findings", mpslint(*check, str(script))),
        Command(
            "ruff, the same script", [PYTHON, "-m", "ruff", "check", "--no-cache", str(script)]
        ),
    ]
    if torchfix is not None:
        commands.append(
            Command(
                "TorchFix, the same script",
                [str(torchfix / "torchfix"), "--select", "ALL", str(script)],
            )
        )
    runs = interleaved(commands, max(rounds, 7))
    text = table("Start-up", runs, base)
    if torchfix is not None:
        share = ratio(
            runs["TorchFix, the same script"], runs["mpslint check, script with findings"]
        )
        lines = script.read_text(encoding="utf-8").count("\n")
        text += f"\nTorchFix ÷ mpslint on the script ({lines} lines): {share:.1f}\n"
    return text


def growing(corpus: Path, work: Path) -> str:
    lines = [
        "### How cost grows",
        "",
        "| corpus | MB | CPU s | CPU s per MB | peak MB |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for times in (1, 4, 16):
        tree = work / f"grown{times}"
        size = copy_python(corpus, tree, 10, times) / 1e6
        argv = mpslint("check", "--isolated", "--no-cache", "--jobs", "1", "--exit-zero", str(tree))
        run = median(interleaved([Command("x", argv)], 1, warmup=0)["x"])
        lines.append(
            f"| {times} x | {size:.1f} | {run.cpu:.2f} | {run.cpu / size:.3f} | {run.peak:.0f} |"
        )
        shutil.rmtree(tree)
    return "\n".join([*lines, ""])


def one_huge_file(work: Path) -> str:
    huge = work / "huge.py"
    body = (
        "def step{n}(model, x):\n    y = model(x)\n    torch.cuda.synchronize()\n    return y\n\n\n"
    )
    huge.write_text("import torch\n\n\n" + "".join(body.format(n=n) for n in range(33_334)))
    parse = "import ast,sys; ast.parse(open(sys.argv[1]).read())"
    runs = interleaved(
        [
            Command("ast.parse", [PYTHON, "-c", parse, str(huge)]),
            Command(
                "mpslint check",
                mpslint("check", "--isolated", "--no-cache", "--exit-zero", str(huge)),
            ),
        ],
        1,
        warmup=0,
    )
    return table("One file of 200,000 lines", runs, "ast.parse")


def machine() -> str:
    load = f", load {os.getloadavg()[0]:.1f} at the start" if hasattr(os, "getloadavg") else ""
    cores = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    return f"{platform.system()}, {platform.machine()}, {cores}, {datetime.date.today()}{load}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--project", type=Path, action="append")
    parser.add_argument("--script", type=Path, default=SCRIPT)
    parser.add_argument("--only", choices=["starting", "fixing"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sample", type=int, default=40, help="take every Nth file for TorchFix")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    projects = [one.resolve() for one in arguments.project or [PROJECT]]
    corpus = (arguments.corpus or default_corpus()).resolve() if not arguments.only else HERE
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        parts = [
            machine(),
            f"Medians of {arguments.rounds} interleaved rounds; ratios are medians of the CPU "
            "ratios round by round.\n",
        ]
        script = arguments.script.resolve()
        short = {
            "starting": lambda: starting(work, script, arguments.rounds),
            "fixing": lambda: fixing(projects, script, arguments.rounds),
        }
        long = (
            lambda: over_a_corpus(corpus, work, arguments.rounds),
            lambda: by_part(corpus),
            lambda: beside_others(corpus, work, arguments.rounds, arguments.sample),
            lambda: growing(corpus, work),
            lambda: one_huge_file(work),
        )
        for measure in [short[arguments.only]] if arguments.only else (*short.values(), *long):
            parts.append(measure())
            print(parts[-1], flush=True)
    text = "\n".join(parts)
    if arguments.write:
        page = HERE / "README.md"
        head = page.read_text().split(START)[0]
        page.write_text(f"{head}{START}\n\n{text}")


if __name__ == "__main__":
    main()
