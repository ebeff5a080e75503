"""A cache that is not as it was written, or that somebody else wrote, is not believed."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from project import CHECK, Project
from told import REPOSITORY, Row, environment

from mpslint.running.cache import packed, unpacked


def _filled(project: Project) -> tuple[bytes, Path]:
    """What is found without a cache, and a cache that knows it."""
    project.lay()
    plain = project.run(CHECK, "--no-cache")[1]
    cache = project.work / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    # Files of this very moment are not known by their time.
    for name in project.old:
        os.utime(project.folder / name, (1_000_000_000, 1_000_000_000))
    project.run(CHECK)
    (good,) = [path for path in cache.iterdir() if path.suffix == ".json"]
    return plain, good


def damaged(project: Project, runs: int, choices: random.Random) -> Iterator[Row]:
    """What is found with a cache that was damaged is what is found without one."""
    plain, good = _filled(project)
    data = good.read_bytes()
    damages: dict[str, Callable[[], bytes]] = {
        "cut off": lambda: data[: choices.randrange(len(data))],
        "one byte changed": lambda: _changed(data, choices, 1),
        "ten bytes changed": lambda: _changed(data, choices, 10),
        "a number changed": lambda: _renumbered(data, choices),
        "parts swapped": lambda: _swapped(data, choices),
        "all findings gone": lambda: _with_old_digest(data),
        "another kind of text": lambda: choices.choice(
            [b"", b"[]", b"null", b"{}" * 9, b"\xff" * 99, b"[" * 99_999, b'{"a": 1}']
        ),
    }
    for what, damage in damages.items():
        wrong = []
        for _ in range(runs):
            good.write_bytes(damage())
            code, out, err = project.run(CHECK)
            if out != plain or code:
                wrong.append(f"{code}: {_apart(plain, out)} {err[-200:]!r}")
        yield Row(f"a cache, {what}", runs, "runs", tuple(wrong))


def foreign(project: Project) -> Iterator[Row]:
    """A cache that another user or another version has written is not believed."""
    plain, good = _filled(project)
    data, cache = good.read_bytes(), good.parent
    yield Row("a cache of another user", 3, "runs", tuple(_of_another(project, cache, plain)))
    good.write_bytes(data)
    yield Row("a cache of another version", 1, "runs", tuple(_of_a_version(project, plain)))


def _changed(data: bytes, choices: random.Random, times: int) -> bytes:
    out = bytearray(data)
    for _ in range(times):
        out[choices.randrange(len(out))] = choices.randrange(256)
    return bytes(out)


def _renumbered(data: bytes, choices: random.Random) -> bytes:
    """As a flipped bit would have it: still valid, and another row or column."""
    digits = [at for at, byte in enumerate(data) if 0x31 <= byte <= 0x39]
    out = bytearray(data)
    out[choices.choice(digits)] = choices.choice(b"123456789")
    return bytes(out)


def _swapped(data: bytes, choices: random.Random) -> bytes:
    one, two, three = sorted(choices.sample(range(len(data)), 3))
    return data[:one] + data[two:three] + data[one:two] + data[three:]


def _emptied(data: bytes) -> dict[str, Any]:
    """Every entry says that its file is clean, with the right time and size."""
    return {
        path: [*entry[:4], [], *entry[5:]] if entry[4] else entry
        for path, entry in unpacked(data).items()
    }


def _with_old_digest(data: bytes) -> bytes:
    return data.partition(b"\n")[0] + b"\n" + packed(_emptied(data)).partition(b"\n")[2]


def _apart(plain: bytes, out: bytes) -> str:
    ours, theirs = (text.decode("utf-8", "replace").splitlines() for text in (plain, out))
    for one, other in zip(ours, theirs, strict=False):
        if one != other:
            return f"{other[:150]!r} in place of {one[:150]!r}"
    return f"{len(theirs)} lines in place of {len(ours)}"


def _of_another(project: Project, cache: Path, plain: bytes) -> Iterator[str]:
    """One that others may write to, and one that belongs to somebody else."""
    mode = cache.stat().st_mode
    good = next(path for path in cache.iterdir() if path.suffix == ".json")
    good.write_bytes(packed(_emptied(good.read_bytes())))
    if project.run(CHECK)[1] == plain:
        yield "one that says otherwise shows nothing: this tries nothing"
    cache.chmod(0o777)
    if project.run(CHECK)[1] != plain:
        yield "a folder that all may write to is believed"
    cache.chmod(mode)
    if os.geteuid() == 0:
        os.chown(cache, 65534, 65534)
        if project.run(CHECK)[1] != plain:
            yield "a folder of another user is believed"
        os.chown(cache, 0, 0)


def _of_a_version(project: Project, plain: bytes) -> Iterator[str]:
    """Another mpslint, which found something else, keeps its own."""
    other = project.work / "other"
    shutil.copytree(REPOSITORY / "src", other / "src", dirs_exist_ok=True)
    target = other / "src" / "mpslint" / "__init__.py"
    target.write_text(target.read_text() + "\n# another version\n")
    before = list((project.work / "cache").glob("*.json"))
    env = environment(project.work, {"PYTHONPATH": str(other / "src")})
    subprocess.run([*CHECK], cwd=project.folder, env=env, capture_output=True, check=False)
    if len(list((project.work / "cache").glob("*.json"))) != len(before) + 1:
        yield "two versions share a cache"
    if project.run(CHECK)[1] != plain:
        yield "what another version found is believed"
