"""What a printed line says about the machine rather than about the model: devices, times, memory.

These parts differ from run to run and from device to device in right programs. They are taken out;
what is left of the line is compared.
"""

from __future__ import annotations

import re

# Bounded, and only where a number begins: a line of 40,000 digits must not cost their square.
_NUMBER = (
    r"(?<![\w.,])[-+]?(?:\d{1,400}(?:,\d{3})*(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][-+]?\d{1,6})?"
)
_COUNT = r"\d{1,9}(?![\w.%])"
_ALONE = r"(?<![A-Za-z])(?:{})(?![A-Za-z])"

_SECONDS = "s|secs?|seconds?"
_TIMES = f"ns|[uµμ]s|ms|{_SECONDS}|msecs?|(?:milli|micro|nano)seconds?|mins|minutes?|hrs?|hours?"
_UNITS = (
    rf"\w{{1,20}}\s?/\s?(?:{_SECONDS})|\w{{1,20}} per (?:{_SECONDS})|(?:{_TIMES})\s?/\s?\w{{1,20}}"
    rf"|{_TIMES}|[kmgt]i?b|bytes|[kmgt]?hz|[kmgt]?flops?|fps"
)
_CROWDS = "threads?|cores?|workers?|processes|gpus?|cpus?|devices?"
# A key and what may stand between it and its numbers, or between these.
_KEYS = (
    r"(?:run|wall)?time|took|takes|elapsed|duration|eta|wall|latency|throughput|speed|fps"
    r"|[kmgt]?flops?|mfu|ms|msecs?|secs?|seconds|mem|memory|v?ram|allocated|reserved|cached|pid"
    r"|date|version|threads?|cores?|workers?|processes"
)
_BETWEEN = (
    rf"{_TIMES}|{_UNITS}|per|of|in|is|was|for|taken|used|free|total|average|avg|mean|max|min|peak|step"
    r"|epoch|batch|iter|iteration|train|training|eval|inference|forward|backward"
)
_MARKS = r"[\s:=()\[\]{}\"'~≈<>/_@*]"

_DEVICES = "cuda|mps|cpu|gpu|xpu|device"
_MODELS = "geforce|rtx|gtx|titan|quadro|tesla|radeon|instinct|xeon|epyc|ryzen|core"

_MACHINE = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"0x[0-9a-f]+",
        r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d?:\d\d(?::\d\d)?)?(?:[.,]\d{1,9})?",
        r"(?<![\d:])\d{1,4}:\d\d(?::\d\d)?(?:[.,]\d{1,9})?(?!\d)",
        rf"(?<![A-Za-z])(?:{_DEVICES}):\d+",
        rf"(?<![A-Za-z])(?:{_DEVICES})s?(?:[ _](?:device|count|index|id|no))?\s?[:=#]?\s?{_COUNT}",
        rf"(?<![A-Za-z])(?:{_MODELS})(?:[ -](?:{_MODELS}|\d{{3,5}}\w{{0,4}}))+",
        rf"(?<![\w.,]){_COUNT}\s(?:{_CROWDS})(?![A-Za-z])",
        rf"{_NUMBER}\s{{0,3}}{_ALONE.format(_UNITS)}",
        rf"{_ALONE.format(_KEYS)}(?:{_MARKS}|{_NUMBER}|{_ALONE.format(_BETWEEN)}|-)*",
    )
)


def without_machine(line: str) -> str:
    """The line with a gap where it spoke of the machine."""
    for pattern in _MACHINE:
        line = pattern.sub(" | ", line)
    return line
