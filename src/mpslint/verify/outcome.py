"""How one launch ended, in words that a verdict can be built on."""

from __future__ import annotations

import re
import signal
from enum import Enum
from typing import Any, NamedTuple

from mpslint.verify.launch import Launch
from mpslint.verify.misfits import misfit
from mpslint.verify.own_modules import INSTALL


class Way(Enum):
    """The ways a launch can end."""

    OK = "ran"
    NO_TORCH = "never imported torch"
    UNAVAILABLE = "no simulated device"
    LIMIT = "limit of the simulation"
    SIGNAL = "killed by a signal"
    TIMEOUT = "time limit"
    RESOURCES = "resource limit"
    ENVIRONMENT = "something it needs is missing"
    DEVICE = "device error"
    ERROR = "error"
    BROKEN = "the check itself failed"


_LINE = re.compile(r"(?<=\.py)[\"']?(?::|, line )\d+|\b[Ll]ine \d+")
_DEVICE = re.compile(r"\b(?:cuda|mps)(?::\d+)?\b")


class Outcome(NamedTuple):
    """How it ended, what it said, and where in the user's code (` at file:line`, or nothing).

    device: on which; own: whether the program said so by a `raise` or an exit of its own.
    """

    way: Way
    said: str
    where: str = ""
    device: str = ""
    own: bool = False

    @property
    def ok(self) -> bool:
        return self.way is Way.OK

    @property
    def reason(self) -> str:
        return self.said + self.where

    def is_like(self, other: Outcome) -> bool:
        """The same end, whatever the line and the device: a rewrite moves the one, and its runs
        are on another of the others.
        """
        return self.way is other.way and _anywhere(self.said) == _anywhere(other.said)


def _anywhere(said: str) -> str:
    return _LINE.sub("", _DEVICE.sub("the device", said))


_DEVICE_MESSAGE = re.compile(
    r"""not\ compiled\ with\ CUDA | not\ linked\ with\ support\ for | NVIDIA\ driver
    | same\ device | two\ devices | on\ the\ same\ device | different\ from\ other\ tensors\ on
    | MPS\ Tensor\ to\ float64 | MPS\ (backend|framework|device|supports) | for\ the\ MPS
    | can't\ convert\ (mps|cuda) | Placeholder\ storage | device\ type\ '?(mps|cuda|cpu)
    | '(mps|cuda|cpu)'\ device\ type | device\ with\ type | CUDA\ (error|device|is\ not) | \b_cuda_
    | requires?\ (a\ )?(CUDA|GPU|NVIDIA|MPS) | CUDA\ generator | ATen_cuda | dummy\ base\ class
    | on\ a\ CUDA\ device | torch\.(mps|cuda)\W | 'torch\.(mps|cuda)' | nccl | invalid\ device
    | Invalid\ device | Expected\ one\ of\ cpu | MPS(Float|Half|BFloat16|Long|Int)Type
    | cuda\.\w*FloatTensor | no\ (GPU|CUDA|NVIDIA) | GPU\ (is\ )?not | MPS:\ | share_fd_
    | (available|supported)\ (only\ )?(on|for|with)\ (CUDA|MPS|GPU)
    | index\ is\ on\ | mps:0 | cuda:\d | Cannot\ access\ accelerator\ device
    """,
    re.VERBOSE | re.IGNORECASE,
)
_MEMORY = re.compile(
    r"can't allocate memory|not enough memory|Cannot allocate memory|out of memory", re.I
)
_NETWORK = re.compile(
    r"Network is unreachable|name resolution|Name or service not known|nodename nor"
    r"|Connection (refused|reset|error)|Max retries exceeded|urlopen error|offline mode"
    r"|HF_HUB_OFFLINE|couldn't connect to",
    re.I,
)
_NETWORK_TYPES = {
    "URLError", "HTTPError", "ConnectionError", "gaierror", "ConnectTimeout", "SSLError",
    "MaxRetryError", "LocalEntryNotFoundError", "OfflineModeIsEnabled", "ConnectionRefusedError",
    "NewConnectionError",
}  # fmt: skip
_MISSING_TYPES = {"FileNotFoundError", "NotADirectoryError", "IsADirectoryError"}
_MISSING = re.compile(
    r"No such file or directory|Dataset not found|You can use download=True|does not exist"
    r"|not found at|is not the path to a directory|is not a valid (file|directory)",
    re.I,
)
_THREADS = re.compile(r"can't start new thread|Resource temporarily unavailable", re.I)


def classify(launch: Launch) -> Outcome:
    """The way a launch ended and one line that says so."""
    own = launch.outcome == "exit" or bool(launch.error and launch.error.get("own"))
    return _classified(launch)._replace(device=launch.device, own=own)


def _classified(launch: Launch) -> Outcome:
    ended = launch.ended
    if ended.broken:
        return Outcome(Way.BROKEN, f"the sandbox could not start the script: {ended.broken}")
    if ended.stopped:
        return _stopped(launch)
    if launch.distrusted:
        return Outcome(Way.BROKEN, f"the report is not believed: {launch.distrusted}")
    if launch.report is None:
        return _died(launch)
    told = _told(launch)
    return (told.ok and _unlike_told(launch)) or told


def _unlike_told(launch: Launch) -> Outcome | None:
    """A process that announced its end, and then ended otherwise, did not run well."""
    code = launch.ended.code
    if code == launch.status:
        return None
    if code is None or code < 0:
        name = _signal_name(-code) if code else "a signal"
        return Outcome(Way.SIGNAL, f"killed by {name} after its end")
    return Outcome(Way.BROKEN, f"exits {code}, but announced {launch.status}")


def _told(launch: Launch) -> Outcome:
    """The outcome as the launcher told it."""
    limits = launch.value("limits", [])
    if launch.outcome == "unavailable":
        return Outcome(Way.UNAVAILABLE, _unavailable(launch))
    if launch.outcome == "limit" or limits:
        return Outcome(Way.LIMIT, f"limit of the simulation: {_first(limits) or 'not named'}")
    if launch.outcome == "no-torch":
        return Outcome(Way.NO_TORCH, "the script never imported torch")
    if launch.error is not None:
        return _error(launch.error, launch.way_out)
    code = launch.value("exit_code", 0)
    if launch.outcome == "exit" and code:
        return _exit(launch, int(code))
    return Outcome(Way.OK, "ran")


def _first(values: Any) -> str:
    return str(values[0]) if values else ""


_ADVICE = "`mpslint verify --torch cpu SCRIPT` tries the CPU build; `mpslint doctor` says more"


def _unavailable(launch: Launch) -> str:
    error = launch.error
    failed = launch.value("self_test", {}).get("failed", [])
    detail = error["message"] if error else ", ".join(map(str, failed)) or "self-test failed"
    if launch.kind == "real":
        return f"cannot use the device: {detail}"
    return f"no simulated device on torch {launch.value('torch', '?')}: {detail} ({_ADVICE})"


def _stopped(launch: Launch) -> Outcome:
    stopped = launch.ended.stopped
    if stopped == "timeout":
        return Outcome(Way.TIMEOUT, f"did not end within {launch.limit:.0f} s")
    words = {
        "memory": f"met the memory limit ({launch.ended.peak_memory >> 20} MB in use); "
        "`--memory MB` sets another",
        "processes": "started too many processes",
        "disk": "wrote too much to the disk",
    }
    return Outcome(Way.RESOURCES, words.get(str(stopped), f"was ended ({stopped})"))


def _died(launch: Launch) -> Outcome:
    code = launch.ended.code
    if code is not None and code < 0:
        return Outcome(Way.SIGNAL, f"killed by {_signal_name(-code)}")
    if code is not None and code > 128 and code - 128 in {int(s) for s in signal.Signals}:
        return Outcome(Way.SIGNAL, f"killed by {_signal_name(code - 128)}")
    last = (launch.ended.stderr.strip().splitlines() or ["no message"])[-1]
    return Outcome(Way.BROKEN, f"the process left no report (exit {code}): {first_sentence(last)}")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _exit(launch: Launch, code: int) -> Outcome:
    lines = launch.ended.stderr.strip().splitlines()
    last = lines[-1] if lines else ""
    if code == 2 and any(line.startswith("usage:") or line.startswith("Usage:") for line in lines):
        return Outcome(Way.ENVIRONMENT, f"wrong or missing arguments: {first_sentence(last)}")
    way = Way.DEVICE if _DEVICE_MESSAGE.search(last) else Way.ERROR
    said = f" ({first_sentence(last)})" if last else ""
    return Outcome(way, f"exits {code} by itself{said}")


def place(error: dict[str, Any]) -> str:
    """`file:line` of an error in the user's code, or nothing."""
    return f" at {error['file']}:{error['line']}" if error.get("file") else ""


_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_SENTENCE_ENDS = re.compile(r"(?<=[\w)'\"`\]])[.!](?= +[A-Z])")
_LONGEST = 170


def first_sentence(message: str) -> str:
    """What an error says first; a long sentence loses its middle, since its end often holds the
    value.
    """
    line = (_ESCAPES.sub("", message).strip().splitlines() or [""])[0].strip()
    ends = _SENTENCE_ENDS.search(line)
    said = line[: ends.start()] if ends else line
    if len(said) <= _LONGEST:
        return said
    half = _LONGEST // 2
    return f"{said[:half].rstrip()} ... {said[-half:].lstrip()}"


def _error(error: dict[str, Any], way_out: str) -> Outcome:
    kind, message = str(error["type"]), str(error["message"])
    line = first_sentence(message)
    said = f"{kind}: {line}" if line else kind
    if kind == "Signal":
        return Outcome(Way.SIGNAL, message)
    if kind == "MemoryError" or _MEMORY.search(message):
        return Outcome(Way.RESOURCES, f"met the memory limit ({said})")
    if kind == "EOFError" and "EOF when reading a line" in message:
        return Outcome(Way.ENVIRONMENT, "reads from stdin, which is closed")
    if why := misfit(message):
        return Outcome(Way.ENVIRONMENT, f"the installation does not fit ({said}): {why}")
    if kind in ("ModuleNotFoundError", "ImportError"):
        return Outcome(
            Way.ENVIRONMENT, f"cannot import what it needs ({said}): {way_out or INSTALL}"
        )
    if kind in _NETWORK_TYPES or _NETWORK.search(message):
        return Outcome(Way.ENVIRONMENT, f"needs the network ({said})")
    if kind in _MISSING_TYPES:
        return Outcome(Way.ENVIRONMENT, f"data is missing ({said})")
    if _DEVICE_MESSAGE.search(message):
        return Outcome(Way.DEVICE, said, place(error))
    if _MISSING.search(message):
        return Outcome(Way.ENVIRONMENT, f"data is missing ({said})")
    if kind in ("RuntimeError", "BlockingIOError", "OSError") and _THREADS.search(message):
        return Outcome(Way.RESOURCES, f"met the limit on processes ({said})")
    return Outcome(Way.ERROR, said, place(error))
