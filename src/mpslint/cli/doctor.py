"""`mpslint doctor`: what the installed torch can do on this machine, in plain words."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from mpslint.cli import ERROR, OK

if TYPE_CHECKING:
    from mpslint.cli.parsing import Parser

_SECONDS = 120

# Runs in the user's Python, which may be older or newer than this one and need not know
# mpslint. Every question is asked on its own: one that fails does not hide the others.
_QUESTIONS = """
import json, os, platform, sys
told = {"executable": sys.executable, "python": platform.python_version(),
        "system": platform.system(), "machine": platform.machine(), "mac": platform.mac_ver()[0]}
def ask(name, question):
    try: told[name] = question()
    except Exception as error: told[name + "_error"] = "%s: %s" % (type(error).__name__, error)
try:
    import torch
except Exception as error:
    told["torch_error"] = "%s: %s" % (type(error).__name__, error)
else:
    ask("torch", lambda: torch.__version__)
    ask("cuda_built", lambda: torch.version.cuda or torch.version.hip)
    ask("cuda", lambda: bool(torch.cuda.is_available()))
    ask("cuda_name", lambda: torch.cuda.get_device_name(0) if torch.cuda.is_available() else None)
    mps = getattr(torch.backends, "mps", None)
    told["mps_known"] = mps is not None
    if mps is not None:
        ask("mps_built", lambda: bool(mps.is_built()))
        ask("mps", lambda: bool(mps.is_available()))
    if told.get("mps"):
        ask("mps_works", lambda: torch.ones(2, device="mps").sum().item() == 2.0)
    if told.get("cuda"):
        ask("cuda_works", lambda: torch.ones(2, device="cuda").sum().item() == 2.0)
sys.stdout.write("\\n" + json.dumps(told))
"""

_VARIABLES = {
    "PYTORCH_ENABLE_MPS_FALLBACK": "operators without an MPS kernel run on the CPU",
    "PYTORCH_MPS_HIGH_WATERMARK_RATIO": "upper bound of MPS memory",
    "PYTORCH_MPS_LOW_WATERMARK_RATIO": "MPS memory from which torch frees early",
    "PYTORCH_MPS_FAST_MATH": "faster and less exact MPS math",
    "PYTORCH_MPS_PREFER_METAL": "Metal kernels instead of MPS graph for matrix products",
    "CUDA_VISIBLE_DEVICES": "CUDA devices that programs may see",
}


def parser() -> Parser:
    from mpslint.cli.parsing import Parser

    options = Parser("doctor", "Say what the installed torch can do on this machine.")
    options.add_argument("--python", metavar="PY", help="the Python to ask (default: found)")
    options.add_argument("--output-format", choices=("text", "json"), default="text")
    return options


def run(arguments: list[str]) -> int:
    """Exit code 0 when torch answered, 2 when it could not be asked."""
    from mpslint.cli.verification import active_python

    given = parser().parse_args(arguments)
    told = ask(given.python or active_python() or sys.executable)
    if given.output_format == "json":
        import json

        print(json.dumps(told, indent=2))
    else:
        print("\n".join(sentences(told)))
    return OK if "torch" in told else ERROR


def ask(python: str) -> dict[str, Any]:
    """What torch in `python` says of itself, with the environment variables that matter."""
    import json
    import subprocess

    from mpslint.errors import reason_of

    told: dict[str, Any] = {"executable": python}
    try:
        # Isolated: a file called torch.py in the current folder is not torch.
        done = subprocess.run(
            [python, "-I", "-c", _QUESTIONS], capture_output=True, text=True, timeout=_SECONDS
        )
        told |= json.loads(done.stdout.rpartition("\n")[2])
    except OSError as error:
        told["error"] = f"cannot be started: {reason_of(error)}"
    except subprocess.TimeoutExpired:
        told["error"] = f"gave no answer in {_SECONDS} s"
    except ValueError:
        last = done.stderr.strip().rpartition("\n")[2]
        told["error"] = f"ended with exit code {done.returncode}: {last[:200]}"
    if "torch" in told:
        from mpslint.verify import trial

        told["verification"] = {
            device: trial.simulated(python, device)._asdict() for device in ("mps", "cuda")
        }
    told["variables"] = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    told["selected"] = _selected(told)
    return told


def _selected(told: dict[str, Any]) -> str | None:
    """The device that a selection (mps, then cuda, then cpu) takes; None without torch."""
    if "torch" not in told:
        return None
    return next((device for device in ("mps", "cuda") if told.get(device)), "cpu")


def sentences(told: dict[str, Any]) -> list[str]:
    """The answer in plain words, one fact a line."""
    python = f"Python: {told['executable']}"
    if "error" in told:
        way_out = "`--python PY` asks another one; without it the active one is asked"
        return [f"{python}, which {told['error']}; {way_out}."]
    lines = [f"{python} ({told['python']}, {told['system']} {told['machine']})"]
    if "torch" not in told:
        return [
            *lines,
            f"torch: cannot be imported ({told.get('torch_error', 'unknown reason')}).",
            "Linting works without it; verification needs a Python that has it (--python PY).",
        ]
    lines += [f"torch: {told['torch']}", f"MPS: {_mps(told)}", f"CUDA: {_cuda(told)}"]
    lines.append(f"A selection (mps, then cuda, then cpu) takes: {told['selected']}")
    lines += _verification(told)
    for name, what in _VARIABLES.items():
        if name in told["variables"]:
            lines.append(f"{name}={told['variables'][name]} ({what})")
        elif name == "PYTORCH_ENABLE_MPS_FALLBACK" and told.get("mps"):
            lines.append(f"{name} is not set: an operator without an MPS kernel raises.")
    return lines


def _verification(told: dict[str, Any]) -> list[str]:
    """On which devices a script can be verified here, and what to do about the others."""
    from mpslint.verify import trial

    lines, failed = [], False
    for device, tried in told.get("verification", {}).items():
        real = f"real {device}, " if told.get(f"{device}_works") else ""
        if tried["works"]:
            lines.append(f"Verification on {real}simulated {device}: works.")
            continue
        lines.append(
            f"Verification on real {device}: works."
            if real
            else f"Verification on simulated {device}: does not work ({tried['why']})."
        )
        failed = failed or not real
    return [*lines, *([trial.advice()] if failed else [])]


def _mps(told: dict[str, Any]) -> str:
    if not told.get("mps_known"):
        return "this torch is too old to know it (it came with 1.12)."
    if not told.get("mps_built"):
        return "not in this build of torch; only the macOS builds for Apple silicon have it."
    if not told.get("mps"):
        system = f"macOS {told['mac']}" if told.get("mac") else "the system"
        return f"built in, but not available: {system} is too old for this torch, or no Apple GPU."
    return _works(told, "mps", "built in and available")


def _cuda(told: dict[str, Any]) -> str:
    if not told.get("cuda_built"):
        return "not in this build of torch."
    version = told["cuda_built"]
    if not told.get("cuda"):
        return f"built in (CUDA {version}), but no device or driver was found."
    return _works(told, "cuda", f"built in (CUDA {version}) and available: {told.get('cuda_name')}")


def _works(told: dict[str, Any], device: str, text: str) -> str:
    if told.get(f"{device}_works"):
        return f"{text}; a sum on it came out right."
    error = told.get(f"{device}_works_error", "a sum on it came out wrong")
    return f"{text}, but it does not work: {error}"
