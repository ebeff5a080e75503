"""Whether the rewritten files compile, asked of the user's own Python."""

from __future__ import annotations

import os

from mpslint.verify import interpreter
from mpslint.verify.report import FAIL, INCONCLUSIVE
from mpslint.verify.request import Request
from mpslint.verify.texts import Texts
from mpslint.verify.verdict import Judgement
from mpslint.verify.workshop import Files, Workshop

Errors = dict[str, tuple[str, str, int]]


def refused(request: Request, workshop: Workshop, texts: Texts) -> Judgement | None:
    """A script that did not compile before the rewrite either is not the rewrite's fault."""
    paths = [request.script, *texts.patched]
    after = {request.script: texts.script, **texts.patched}
    bad = _errors(request, workshop, after, paths)
    if not bad:
        return None
    path, (kind, message, line) = next(iter(bad.items()))
    reason = f"does not compile: {kind}: {message} ({path}:{line})"
    before: Errors = {}
    if request.has_original:
        before = _errors(request, workshop, texts.original, paths)
    return Judgement(INCONCLUSIVE if path in before else FAIL, reason)


def _errors(request: Request, workshop: Workshop, files: Files, paths: list[str]) -> Errors:
    workshop.lay_out(files)
    inside = {workshop.inside(os.path.realpath(path)): path for path in paths}
    bad = interpreter.syntax_errors(request.interpreter, list(inside))
    return {inside[path]: error for path, error in bad.items()}
