"""Which operators have a kernel on which backend, in which torch release.

The installed torch carries its own list (native_functions.yaml, inside torchgen); what other
releases had is in ``data/mps_kernels.json``.
"""

from __future__ import annotations

import functools
import importlib
import json
import os
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

Version = tuple[int, int]

_DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "mps_kernels.json")
_KEY_LINE = re.compile(r"^  (\w+):\s*(.*)$")
_DISPATCH_LINE = re.compile(r"^    ([\w, ]+):\s*(\S+)")


class Operator:
    """One entry of native_functions.yaml; ``name`` includes the overload."""

    __slots__ = ("delegate", "device_check", "dispatch", "name", "structured")

    def __init__(self, name: str) -> None:
        self.name = name
        self.dispatch: set[str] = set()
        self.structured = False
        self.delegate: str | None = None
        self.device_check = True

    @property
    def base(self) -> str:
        return self.name.partition(".")[0]

    @property
    def is_composite(self) -> bool:
        """Decomposes into other operators where a backend has no kernel."""
        if any(key.startswith("Composite") for key in self.dispatch):
            return True
        return not self.dispatch and self.delegate is None


def parse_version(text: str) -> Version:
    """``"2.13.0+cpu"`` to ``(2, 13)``."""
    match = re.match(r"(\d+)\.(\d+)", text)
    if match is None:
        raise ValueError(f"{text!r} is not a torch version")
    return int(match.group(1)), int(match.group(2))


def yaml_path() -> str:
    """The operator list of the installed torch; raises RuntimeError when it is missing."""
    torchgen = importlib.import_module("torchgen")
    folder = os.path.dirname(os.path.abspath(str(torchgen.__file__)))
    path = os.path.join(folder, "packaged", "ATen", "native", "native_functions.yaml")
    if not os.path.isfile(path):
        raise RuntimeError(f"this torch has no operator list ({path})")
    return path


def _read_key(operator: Operator, key: str, value: str) -> None:
    if key == "structured":
        operator.structured = value == "True"
    elif key == "structured_delegate":
        operator.delegate = value
    elif key == "ufunc_inner_loop":
        operator.dispatch.update(("CPU", "CUDA"))
    elif key == "device_check":
        operator.device_check = value != "NoCheck"


def load(lines: Iterable[str]) -> dict[str, Operator]:
    """Read the subset of YAML that native_functions.yaml uses."""
    operators: dict[str, Operator] = {}
    current: Operator | None = None
    in_dispatch = False
    for line in lines:
        if line.startswith("- func:"):
            name = line[len("- func:") :].strip().split("(", 1)[0]
            current = operators[name] = Operator(name)
            in_dispatch = False
            continue
        text = line.split("#", 1)[0].rstrip()
        if current is None or not text.strip():
            continue
        match = _KEY_LINE.match(text)
        if match:
            key, value = match.group(1), match.group(2).strip()
            in_dispatch = key == "dispatch"
            _read_key(current, key, value)
            continue
        match = _DISPATCH_LINE.match(text) if in_dispatch else None
        if match:
            current.dispatch.update(key.strip() for key in match.group(1).split(","))
    return operators


@functools.cache
def of_installed() -> dict[str, Operator]:
    """The operators of the installed torch."""
    with open(yaml_path(), encoding="utf-8") as stream:
        return load(stream)


class Releases(NamedTuple):
    """What changed between releases; see ``data/mps_kernels.json``."""

    newest: Version
    kernel_since: dict[str, Version]
    always_fallback_from: list[tuple[Version, set[str]]]


def load_releases() -> Releases:
    """Read the packaged table."""
    with open(_DATA, encoding="utf-8") as stream:
        data: dict[str, Any] = json.load(stream)
    since = {
        name: parse_version(version)
        for version, names in data["kernel_since"].items()
        for name in names
    }
    fallback = sorted(
        (parse_version(version), set(names))
        for version, names in data["always_fallback_from"].items()
    )
    return Releases(parse_version(data["newest"]), since, fallback)


class OperatorTable:
    """The kernels of one backend in one release."""

    def __init__(
        self, operators: dict[str, Operator], releases: Releases, version: Version
    ) -> None:
        self.operators = operators
        self.releases = releases
        self.version = version

    def registered(self, key: str) -> set[str]:
        """Operators with a kernel for ``key`` in the installed torch, groups expanded."""
        found = set()
        for name, operator in self.operators.items():
            group = operator.delegate and self.operators[operator.delegate]
            if key in operator.dispatch or (group and key in group.dispatch):
                found.add(name)
        return found

    def mps_kernels(self) -> set[str]:
        """Operators with an MPS kernel in the simulated release."""
        names = self.registered("MPS")
        since = self.releases.kernel_since
        oldest: Version = (0, 0)
        names = {n for n in names if since.get(n.partition(".")[0], oldest) <= self.version}
        for name in self.registered("CPU") - names:
            first = since.get(name.partition(".")[0])
            if first is not None and first <= self.version:
                names.add(name)
        return names - self.mps_always_fallback()

    def mps_always_fallback(self) -> set[str]:
        """Operators that run on the CPU, with a warning, without being asked to."""
        found: set[str] = set()
        for first, names in self.releases.always_fallback_from:
            if first <= self.version:
                found = names
        return {name for name in found if name in self.operators}

    def is_checked(self, name: str) -> bool:
        """Whether torchgen writes a same-device check in front of the kernel."""
        operator = self.operators.get(name)
        return operator is not None and operator.device_check

    def is_structured(self, name: str) -> bool:
        operator = self.operators.get(name)
        return operator is not None and (operator.structured or operator.delegate is not None)


def open_table(installed: str, simulated: str | None) -> OperatorTable:
    """The table for release ``simulated`` (default: the installed one).

    Raises ValueError for releases that the packaged data do not reach.
    """
    releases = load_releases()
    version = parse_version(simulated or installed)
    if version < (2, 0) or version > releases.newest:
        newest = ".".join(map(str, releases.newest))
        raise ValueError(f"no operator table for torch {simulated or installed} (2.0 to {newest})")
    return OperatorTable(of_installed(), releases, version)
