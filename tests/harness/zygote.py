"""A process that has imported torch already and forks for each program: starting costs little.

Reads one JSON object per line, {"argv", "cwd", "env", "out", "err"}, runs the harness with it in a
forked child and answers with the child's exit code (negative for a signal) on one line.
"""

from __future__ import annotations

import json
import os
import sys


def become_the_harness(request: dict) -> int:
    for number, name in ((1, "out"), (2, "err")):
        file = os.open(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, number)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    from mpslint.verify.harness.launcher import main

    return main(request["argv"])


def serve() -> None:
    import torch

    torch.set_num_threads(1)
    answers = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        request = json.loads(line)
        child = os.fork()
        if child == 0:
            sys.exit(become_the_harness(request))
        _, status = os.waitpid(child, 0)
        answers.write(f"{os.waitstatus_to_exitcode(status)}\n")
        answers.flush()


if __name__ == "__main__":
    serve()
