"""Whether anybody in a project gives a parameter by its name."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from mpslint.project.layout.whole import PROSE
from mpslint.project.uses.named_by_text import word_of

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Whole


def names_argument(modules: Modules, whole: Whole, parameter: str) -> bool:
    """Whether a file of the project gives a parameter by its name, be it in a table, on a command
    line or in a settings file."""
    spelled = word_of(parameter)
    word = re.compile(rb"\b%s\b" % re.escape(spelled).replace(b"_", b"[-_]"))
    part = max(spelled.split(b"_"), key=len)
    return any(
        word.search(data) is not None
        and (not other.endswith(".py") or _names(modules, other, parameter))
        for other in modules.holding((*whole.modules, *whole.others), part)
        if not other.endswith(PROSE) and (data := modules.text(other))
    )


def _names(modules: Modules, other: str, parameter: str) -> bool:
    tree = modules.tree(other)
    spelled = re.compile(rf"(?<![a-zA-Z0-9]){re.escape(parameter)}(?![a-zA-Z0-9])")
    return tree is None or any(
        node.arg == parameter
        if isinstance(node, ast.keyword)
        else isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and " " not in node.value
        and spelled.search(node.value.replace("-", "_")) is not None
        for node in ast.walk(tree)
    )
