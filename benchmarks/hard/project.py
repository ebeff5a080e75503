"""The project that `fix` is tried on: its files as they are and as they ought to become."""

from __future__ import annotations

import resource
import shutil
import subprocess
import time
from pathlib import Path

from told import MPSLINT, environment

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

        # Python keeps what it compiles, cut off where the limit is, and later runs would read it.
        kept = {"PYTHONDONTWRITEBYTECODE": "1"} if limit else {}
        return subprocess.Popen(
            [*command, *more],
            cwd=self.folder,
            env=environment(self.work, kept),
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
