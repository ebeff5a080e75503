"""Who tells a record, and whether the check is still what it was: looked at for each record.

Both are generators. What they hold lies in their variables, which nothing but the frame of a
generator leads to: asking for that is an event that the tripwire hears. The functions that they use
are in variables too, so that nobody can put others under their names.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from types import FrameType, FunctionType
from typing import Any

HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep

_ANY = ""
_ENDS = frozenset(
    {
        ("__main__.py", "<module>"), ("prepared.py", "begin"), ("launcher.py", "main"),
        ("launcher.py", "leave_with_report"), ("launcher.py", "_on_signal"),
        ("stopping.py", "_wait_for_deadline"),
        ("stopping.py", "_wait_for_grace"), ("children.py", "wait"),
        ("observers.py", "_after_step"), ("observers.py", "counted"),
    }
)  # fmt: skip
_RUN = ("__main__.py", "<module>"), ("prepared.py", "begin"), ("launcher.py", "main")
_DEVICE = ("simulator", _ANY), ("real_device.py", _ANY), ("observers.py", _ANY)

TELLERS: dict[str, frozenset[tuple[str, str]]] = {
    "loss": frozenset({("observers.py", "recorded")}),
    # torch's own no_grad stands between this function and the one that calls it
    "digest": frozenset({("observers.py", "_record_parameters")}),
    "step": frozenset({("observers.py", "_after_step")}),
    "used": frozenset(_DEVICE),
    "limit": frozenset({*_DEVICE, *_RUN, *_ENDS}),
    "unavailable": frozenset({("bootstrap.py", "exec_module"), *_RUN}),
    "loaded": frozenset({("bootstrap.py", "exec_module"), *_RUN}),
    "changed": frozenset({("guarded.py", "__setattr__")}),
    "touched": frozenset({("tripwire.py", "hear")}),
    "end": _ENDS,
}
"""Which function of this package, the one that was called by somebody else, brings a record about.

A script may call those functions too: then it does what they tell of.
"""

_VARY = frozenset(
    {
        ("stopping", "STOPPER"), ("frames", "_torch_folder"), ("guarded", "on_change"),
        ("simulator.generator", "_default"),
    }
)  # fmt: skip
"""Names of modules that this package itself binds anew during a run."""

Vetting = Generator[str, tuple[dict[str, Any], FrameType | None], None]


def vetting(here: str = HERE, package: str = __package__ or "") -> Vetting:
    """Takes a record and the frame that tells it; gives what is wrong, or nothing."""
    tellers, vary, any_name = TELLERS, _VARY, _ANY
    modules, is_of, kind_of, variables = sys.modules, isinstance, type, vars
    function, begins, length, size = FunctionType, str.startswith, len(here), len
    listed, ends = list, str.endswith
    skip, any_error = size(package) + 1, Exception
    learned: dict[str, Any] = {}
    kept: list[tuple[Any, str, Any]] = []
    wrong = ""
    while True:
        record, frame = yield wrong
        wrong = ""
        try:
            told_by = None
            while frame is not None and begins(frame.f_code.co_filename, here):
                told_by, frame = frame.f_code, frame.f_back
            for kind in record:
                if kind not in tellers:
                    continue
                if told_by is None:
                    wrong = f"told a {kind}"
                    break
                file, name = told_by.co_filename[length:], told_by.co_name
                folder = "simulator" if begins(file, "simulator") else file
                allowed = tellers[kind]
                if (folder, any_name) not in allowed and (file, name) not in allowed:
                    wrong = f"called {name} to tell a {kind}"
            frame = None
            if "loaded" in record and not wrong:
                for full, module in listed(modules.items()):
                    if not begins(full, package) or full in learned:
                        continue
                    learned[full] = module
                    if full != package and full[skip - 1 : skip] != ".":
                        continue
                    short = full[skip:]
                    for name, value in listed(variables(module).items()):
                        if (short, name) not in vary:
                            kept.append((variables(module), name, value))
                        if is_of(value, function) and value.__module__ == full:
                            made = variables(value).get("__wrapped__", value)
                            if not begins(made.__code__.co_filename, here):
                                wrong = f"put a {name} of its own into {short}"
                        elif is_of(value, kind_of) and value.__module__ == full:
                            for attribute, part in listed(variables(value).items()):
                                if not ends(attribute, "_") or is_of(part, function):
                                    kept.append((variables(value), attribute, part))
                    if short == "simulator.state":
                        settled = variables(module.SIM)
                        kept += [(settled, name, value) for name, value in settled.items()]
            for namespace, name, value in kept:
                if namespace.get(name) is not value:
                    wrong = f"replaced {name}"
                    break
        except any_error as error:
            wrong = f"has the check fail ({kind_of(error).__name__})"
