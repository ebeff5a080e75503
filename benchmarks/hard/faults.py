"""Runs of `fix` that are killed, find a full disk, or are not alone: a file is afterwards the old
one or the new one, what others saved stays, and a cache that is not as it was written is not
believed."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from told import MPSLINT, REPOSITORY, Row, environment

from mpslint.cache import packed, unpacked

FIX = (*MPSLINT, "fix", "--no-verify", "--isolated", "--quiet", ".")
CHECK = (*MPSLINT, "check", "--isolated", "--exit-zero", "--output-format", "json", ".")
FILES = 40
Texts = dict[str, bytes]


class Project:
    """Files with findings, some of them large, as they are and as `fix` leaves them."""

    def __init__(self, work: Path) -> None:
        self.work = work
        self.folder = work / "faults"
        self.old: Texts = {}
        # Several folders: a temporary file is cleared from the folder that is written to.
        for number in range(FILES):
            calls = "torch.cuda.synchronize()\n" * (1 + number % 3)
            padding = f"# {number:070}\n" * (1500 if number % 5 == 0 else number)
            text = f"import torch\n\n{padding}{calls}"
            self.old[f"part{number % 4}/file{number}.py"] = text.encode()
        self.lay()
        began = time.monotonic()
        self.run(FIX, "--no-cache")
        self.seconds = time.monotonic() - began
        self.new = self.texts()
        self.changed = [name for name, text in self.new.items() if text != self.old[name]]

    def lay(self) -> None:
        """All files as they were."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for name, text in self.old.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text)

    def texts(self) -> Texts:
        return {name: (self.folder / name).read_bytes() for name in self.old}

    def left_over(self) -> list[str]:
        """Files that were not there before."""
        there = {str(path.relative_to(self.folder)) for path in self.folder.rglob("*")}
        return sorted(name for name in there - {*self.old} if not (self.folder / name).is_dir())

    def start(
        self, command: tuple[str, ...], *more: str, limit: int = 0
    ) -> subprocess.Popen[bytes]:
        """`limit`: how large a file may become; the system ends what would make it larger."""

        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        return subprocess.Popen(
            [*command, *more],
            cwd=self.folder,
            env=environment(self.work),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=limited if limit else None,
        )

    def run(self, command: tuple[str, ...], *more: str, limit: int = 0) -> tuple[int, bytes, bytes]:
        process = self.start(command, *more, limit=limit)
        out, err = process.communicate()
        return process.returncode, out, err

    def torn(self) -> list[str]:
        """Files that are neither the old nor the new ones."""
        return [
            name
            for name, text in self.texts().items()
            if text not in (self.old[name], self.new[name])
        ]


def rows(work: Path, runs: int, seed: int) -> Iterator[Row]:
    project = Project(work)
    yield killed(project, runs, random.Random(seed))
    yield killed_with_workers(project, max(1, runs // 20), random.Random(seed))
    yield full_disk(project, random.Random(seed))
    yield small_disk(project)
    yield someone_saves(project, max(1, runs // 20), random.Random(seed))
    yield two_at_once(project, max(1, runs // 10))
    yield from caches(project, runs, random.Random(seed))


def killed(project: Project, runs: int, moments: random.Random) -> Row:
    """Half of the moments lie anywhere in the run, half of them where it writes."""
    wrong = []
    writing = temporary = 0
    for number in range(runs):
        project.lay()
        process = project.start(FIX, "--no-cache")
        if number % 2:
            time.sleep(moments.uniform(0, project.seconds))
        else:
            _wait_for_the_first(project, process)
            time.sleep(moments.uniform(0, 0.05))
        process.kill()
        process.communicate()
        after = project.texts()
        changed = sum(after[name] == project.new[name] for name in project.changed)
        writing += 0 < changed < len(project.changed)
        temporary += bool(project.left_over())
        wrong += [f"run {number}: {name} is torn" for name in project.torn()]
        code, _, err = project.run(FIX, "--no-cache")
        if project.texts() != project.new:
            wrong.append(f"run {number}: the next run ended with {code}: {err[-200:]!r}")
        wrong += [f"run {number}: {name} stays behind" for name in project.left_over()]
    note = (
        f"{len(project.changed)} files to change each time; {writing} runs ended between the first "
        f"and the last of them, {temporary} left a temporary file, which the next run cleared"
    )
    return Row("`kill -9` of `fix`", runs, "runs", tuple(wrong), note)


def _wait_for_the_first(project: Project, process: subprocess.Popen[bytes]) -> None:
    inodes = {name: (project.folder / name).stat().st_ino for name in project.changed}
    while process.poll() is None:
        if any((project.folder / name).stat().st_ino != was for name, was in inodes.items()):
            return
        time.sleep(0.001)


def killed_with_workers(project: Project, runs: int, moments: random.Random) -> Row:
    """What works for a run ends with it."""
    wrong = []
    for number in range(runs):
        project.lay()
        process = project.start(CHECK, "--no-cache", "--jobs", "2")
        time.sleep(moments.uniform(0.3, 1.0) * project.seconds)
        children = _below(process.pid)
        process.kill()
        process.wait()  # what it prints to is held by its workers as well
        ends = time.monotonic() + 10
        while any(map(_runs, children)) and time.monotonic() < ends:
            time.sleep(0.05)
        for child in filter(_runs, children):
            wrong.append(f"run {number}: a worker goes on")
            os.kill(child, signal.SIGKILL)
    return Row("`kill -9` of `check --jobs 2`", runs, "runs", tuple(wrong))


def _below(parent: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(int(entry.parent.name))
    return found


def _runs(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def full_disk(project: Project, sizes: random.Random) -> Row:
    """No file may become larger than some bytes: `fix`, its report, an output file, a baseline."""
    wrong = []
    largest = max(map(len, project.new.values()))
    tries = [sizes.randint(1, largest) for _ in range(20)]
    for size in tries:
        project.lay()
        code, _, err = project.run(FIX, "--no-cache", limit=size)
        kept = project.texts()
        wrong += [f"{size} bytes: {name} is torn" for name in project.torn()]
        for name in project.changed:
            if kept[name] != project.new[name] and name.encode() not in err:
                wrong.append(f"{size} bytes: nothing is said of {name}")
        if code not in (0, 1, 2) or b"Traceback" in err:
            wrong.append(f"{size} bytes: ended with {code}: {err[-200:]!r}")
        wrong += [f"{size} bytes: {name} stays behind" for name in project.left_over()]
    for options in (
        ("--output-file", "out.json"),
        ("--baseline", "known.json", "--write-baseline"),
    ):
        project.lay()
        (project.folder / options[1]).unlink(missing_ok=True)
        code, _, err = project.run(CHECK, "--no-cache", *options, limit=500)
        if code != 2 or options[1].encode() not in err or b"Traceback" in err:
            wrong.append(f"{options[0]}: ended with {code}: {err[-200:]!r}")
    return Row("a limit to what can be written", len(tries) + 2, "runs", tuple(wrong))


def small_disk(project: Project) -> Row:
    """A disk with room for some of the new files, where one can be mounted."""
    what = "a full disk (tmpfs)"
    project.lay()
    size = sum(-len(text) // 4096 * -4096 for text in project.old.values()) + 40 * 4096
    disk = project.work / "disk"
    disk.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)]
    try:
        if subprocess.run(command, capture_output=True).returncode:
            return Row(what, 0, "runs", (), "mounting one needs root")
    except OSError:
        return Row(what, 0, "runs", (), "no mount here")
    before = project.folder
    wrong = []
    try:
        shutil.copytree(before, disk / "p")
        project.folder = disk / "p"
        filler = disk / "filler"
        for left in (0, 1, 2):
            _fill(filler, left)
            code, _, err = project.run(FIX, "--no-cache")
            wrong += [f"{left} pages: {name} is torn" for name in project.torn()]
            if not left and (code != 2 or b"no space left" not in err):
                wrong.append(f"{left} pages: ended with {code}: {err[-200:]!r}")
            wrong += [f"{left} pages: {name} stays behind" for name in project.left_over()]
        filler.unlink()
        project.run(FIX, "--no-cache")
        if project.texts() != project.new:
            wrong.append("with room again: not all files are fixed")
    finally:
        project.folder = before
        subprocess.run(["umount", str(disk)], check=False)
    return Row(what, 4, "runs", tuple(wrong))


def _fill(filler: Path, pages_left: int) -> None:
    filler.unlink(missing_ok=True)
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4096) == 4096:
                pass
        except OSError:
            pass
        file.truncate(max(0, file.tell() - 4096 * pages_left))


def someone_saves(project: Project, runs: int, choices: random.Random) -> Row:
    """An editor that saves, by a rename and in place in turn, while `fix` writes: the last save of
    each file stays, or its fix."""
    wrong: list[str] = []
    saves = 0
    for number in range(runs):
        project.lay()
        process = project.start(FIX, "--no-cache")
        last: dict[str, bytes] = {}
        mark = 0
        while process.poll() is None:
            name = choices.choice(project.changed)
            path = project.folder / name
            mark += 1
            text = b"# saved %d\n" % mark + project.old[name]
            beside = path.with_name("editor.tmp")
            beside.write_bytes(text)
            os.replace(beside, path)
            last[name] = text
            time.sleep(0.0005)
        process.communicate()
        saves += mark
        after = project.texts()
        for name, text in last.items():
            if after[name] != text:
                # Only a fix of this very save may have taken its place.
                head = text.split(b"\n")[0]
                if not after[name].startswith(head):
                    wrong.append(f"run {number}: what was saved into {name} is lost")
        wrong += [f"run {number}: {name} stays behind" for name in project.left_over()]
    note = f"{saves:,} saves while they ran"
    return Row("files saved by others while `fix` runs", runs, "runs", tuple(wrong), note)


def two_at_once(project: Project, runs: int) -> Row:
    wrong = []
    refused = 0
    for number in range(runs):
        project.lay()
        both = [project.start(FIX, "--no-cache") for _ in range(2)]
        ended = [process.communicate() for process in both]
        if project.texts() != project.new:
            wrong.append(f"run {number}: not all files are fixed")
        wrong += [f"run {number}: {name} stays behind" for name in project.left_over()]
        for process, (_, err) in zip(both, ended, strict=True):
            refused += process.returncode == 2
            if process.returncode not in (0, 1, 2) or b"Traceback" in err:
                wrong.append(f"run {number}: ended with {process.returncode}: {err[-200:]!r}")
            if b"cannot be written" in err:
                wrong.append(f"run {number}: {err[-200:]!r}")
    note = f"{refused} of {2 * runs} ended with `has changed since it was read`"
    return Row("two runs of `fix` at once", runs, "pairs", tuple(wrong), note)


def caches(project: Project, runs: int, choices: random.Random) -> Iterator[Row]:
    """What is found with a cache that was damaged is what is found without one."""
    project.lay()
    plain = project.run(CHECK, "--no-cache")[1]
    cache = project.work / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    # Files of this very moment are not known by their time.
    for name in project.old:
        os.utime(project.folder / name, (1_000_000_000, 1_000_000_000))
    project.run(CHECK)
    (good,) = [path for path in cache.iterdir() if path.suffix == ".json"]
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
        times = max(1, runs // 10)
        for _ in range(times):
            good.write_bytes(damage())
            code, out, err = project.run(CHECK)
            if out != plain or code:
                wrong.append(f"{code}: {_apart(plain, out)} {err[-200:]!r}")
        yield Row(f"a cache, {what}", times, "runs", tuple(wrong))
    good.write_bytes(data)
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
    before = sorted((project.work / "cache").iterdir())
    env = environment(project.work, {"PYTHONPATH": str(other / "src")})
    subprocess.run([*CHECK], cwd=project.folder, env=env, capture_output=True, check=False)
    if len(list((project.work / "cache").iterdir())) != len(before) + 1:
        yield "two versions share a cache"
    if project.run(CHECK)[1] != plain:
        yield "what another version found is believed"
