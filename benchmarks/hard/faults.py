"""Runs of `fix` that are killed, find a full disk, or are not alone: a file is afterwards the old
one or the new one, and what others saved stays."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import caches
from project import CHECK, FIX, Project
from told import Row, Share


def rows(work: Path, runs: int, seed: int, share: Share) -> Iterator[Row]:
    """Of each kind its share; each share has moments and damages of its own."""
    project = Project(work)
    number = seed * 1000 + share.number
    few, some = (share.count(max(1, runs // part)) for part in (20, 10))
    yield killed(project, share.count(runs), random.Random(number))
    yield killed_with_workers(project, few, random.Random(number))
    yield full_disk(project, share.count(20), random.Random(number))
    yield someone_saves(project, few, random.Random(number))
    yield two_at_once(project, some)
    yield from caches.damaged(project, some, random.Random(number))
    if share.number == 1:
        yield small_outputs(project)
        yield small_disk(project)
        yield from caches.foreign(project)


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
    also = {
        "ended between the first and the last file written": writing,
        "left a temporary file, which the next run cleared": temporary,
    }
    note = f"{len(project.changed)} files to change each time"
    return Row("`kill -9` of `fix`", runs, "runs", tuple(wrong), note, also)


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


def full_disk(project: Project, runs: int, sizes: random.Random) -> Row:
    """No file may become larger than some bytes."""
    wrong = []
    largest = max(map(len, project.new.values()))
    tries = [sizes.randint(1, largest) for _ in range(runs)]
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
    return Row("a limit to what `fix` can write", runs, "runs", tuple(wrong))


def small_outputs(project: Project) -> Row:
    """No file may become larger than some bytes: an output file, a baseline."""
    wrong = []
    written = (("--output-file", "out.json"), ("--baseline", "known.json", "--write-baseline"))
    for options in written:
        project.lay()
        (project.folder / options[1]).unlink(missing_ok=True)
        code, _, err = project.run(CHECK, "--no-cache", *options, limit=500)
        if code != 2 or options[1].encode() not in err or b"Traceback" in err:
            wrong.append(f"{options[0]}: ended with {code}: {err[-200:]!r}")
    return Row("a limit to what else is written", len(written), "runs", tuple(wrong))


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
    also = {"saves while they ran": saves}
    return Row("files saved by others while `fix` runs", runs, "runs", tuple(wrong), "", also)


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
    also = {"ended with `has changed since it was read`": refused}
    return Row("two runs of `fix` at once", runs, "pairs", tuple(wrong), "", also)
