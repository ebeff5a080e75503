"""What is known about the user's Python, asked in a child process that imports nothing of the
user's.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from mpslint.errors import reason_of
from mpslint.verify.environment import allowed
from mpslint.verify.request import BadRequest

_ASK = """
import importlib.util, json, os, platform, re, site, sys
def version():
    spec = importlib.util.find_spec("torch")
    if spec is None: return None
    from importlib.metadata import PackageNotFoundError, version
    try: return version("torch")
    except PackageNotFoundError: return "unknown"
def built_for():
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations: return "cpu"
    if sys.platform == "darwin": return "gpu" if platform.machine() == "arm64" else "cpu"
    try: text = open(os.path.join(list(spec.submodule_search_locations)[0], "version.py")).read()
    except OSError: return "cpu"
    return "gpu" if re.search(r"^(cuda|hip|xpu)\\b[^=]*= *['\\"]", text, re.M) else "cpu"
print(json.dumps({
    "built_for": built_for(),
    "executable": sys.executable, "version": list(sys.version_info[:3]), "torch": version(),
    "prefixes": [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix],
    "path": [p for p in sys.path if p], "user_base": site.getuserbase(),
}))
"""

_ASK_REAL = """
import torch
found = []
if torch.cuda.is_available(): found.append("cuda")
if getattr(torch.backends, "mps", None) and torch.backends.mps.is_available(): found.append("mps")
print(" ".join(found))
"""

_COMPILE = """
import json, sys
bad = {}
for path in json.load(sys.stdin):
    try: compile(open(path, "rb").read(), path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        line, message = getattr(error, "lineno", 0) or 0, str(getattr(error, "msg", error))
        bad[path] = [type(error).__name__, message, line]
print(json.dumps(bad))
"""


_PATIENCE = 120  # seconds
_WAY_OUT = "--python names another one, which must have torch"


class Interpreter(NamedTuple):
    """A Python: its absolute path, version, torch version (None: no torch), the folders it needs
    to work, and whether its torch was built for the "cpu" alone or for a "gpu" as well.
    """

    executable: str
    version: tuple[int, ...]
    torch: str | None
    prefixes: tuple[str, ...]
    path: tuple[str, ...]
    user_base: str
    built_for: str = "cpu"

    @property
    def program_folders(self) -> list[str]:
        """The executable's folder, and those of the symbolic links on the way to it."""
        found = [os.path.dirname(self.executable)]
        link = self.executable
        for _ in range(40):
            if not os.path.islink(link):
                break
            link = os.path.join(os.path.dirname(link), os.readlink(link))
            found.append(os.path.dirname(os.path.normpath(link)))
        return list(dict.fromkeys(found))


def _child(python: str, code: str, env: Mapping[str, str], data: str = "") -> str:
    try:
        done = subprocess.run(
            [python, "-c", code],
            input=data,
            env=dict(env),
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
            check=False,
            cwd=os.path.sep,
        )
    except OSError as error:
        raise BadRequest(
            f"{python}: cannot be run as Python ({reason_of(error)}); {_WAY_OUT}"
        ) from None
    except subprocess.TimeoutExpired:
        raise BadRequest(f"{python}: gave no answer in {_PATIENCE} s; {_WAY_OUT}") from None
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise BadRequest(f"{python}: does not work as Python ({last}); {_WAY_OUT}")
    return done.stdout


def _answer(python: str, text: str) -> Any:
    """Raises BadRequest for a program that runs and is no Python, as /bin/true."""
    try:
        return json.loads(text)
    except ValueError:
        said = "answers nothing" if not text.strip() else "answers something else"
        raise BadRequest(f"{python}: does not work as Python ({said}); {_WAY_OUT}") from None


def _asking_environment(extra: Mapping[str, str]) -> dict[str, str]:
    env = allowed(os.environ)
    kept = ("HOME", "PYTHONPATH", "PYTHONUSERBASE")
    env.update({name: os.environ[name] for name in kept if name in os.environ})
    env.update(extra)
    # Relative folders mean the script's own place, which the caller knows and this child does not.
    search = env.get("PYTHONPATH", "").split(os.pathsep)
    env["PYTHONPATH"] = os.pathsep.join(path for path in search if os.path.isabs(path))
    return env


def ask(python: str, extra: Mapping[str, str]) -> Interpreter:
    """Raises BadRequest when `python` is not a working Python."""
    answer = _answer(python, _child(python, _ASK, _asking_environment(extra)))
    return Interpreter(
        executable=os.path.abspath(answer["executable"]),
        version=tuple(answer["version"]),
        torch=answer["torch"],
        prefixes=tuple(answer["prefixes"]),
        path=tuple(os.path.abspath(path) for path in answer["path"]),
        user_base=answer["user_base"],
        built_for=answer["built_for"],
    )


def real_devices(python: str, extra: Mapping[str, str]) -> list[str]:
    """The accelerators that torch can use in that Python, of cuda and mps."""
    return _child(python, _ASK_REAL, _asking_environment(extra)).split()


def syntax_errors(python: str, paths: Sequence[str]) -> dict[str, tuple[str, str, int]]:
    """Files that this Python cannot compile: path -> (type, message, line)."""
    answer = json.loads(_child(python, _COMPILE, allowed(os.environ), json.dumps(list(paths))))
    return {path: (kind, message, line) for path, (kind, message, line) in answer.items()}
