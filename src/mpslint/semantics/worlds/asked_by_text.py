"""Questions for something that a text names: `is_extension_available("ours_cuda")`."""

from __future__ import annotations

import ast

from mpslint.facts.machines import Answer
from mpslint.facts.priors import answer_by_text
from mpslint.semantics.worlds.machines import ALL
from mpslint.semantics.worlds.values import Value, one, text_of


def asked_by_text(name: str, call: ast.Call, args: list[Value]) -> Answer | None:
    """What a call of a function of this name says on each machine; None where it is no question
    for CUDA, or for something that is there with CUDA alone."""
    if len(args) != 1 or call.keywords:
        return None
    text = text_of(one(args[0], ALL))
    return answer_by_text(name, text) if text else None
