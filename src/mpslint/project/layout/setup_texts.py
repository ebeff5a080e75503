"""The text of a setup script, with those of its helpers: what it makes extensions by may stand in a
module beside it that it imports."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mpslint.project.layout.import_texts import imported_modules
from mpslint.project.layout.modules import is_foreign

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules

_EXTENSION = b"Extension"


def setup_text(modules: Modules, script: str) -> tuple[bytes, tuple[str, ...]]:
    """The helpers' texts in front of the script's own, where they make extensions; and the files
    that were looked at, or for."""
    text = modules.text(script) or b""
    helpers: dict[str, None] = {}
    for module in imported_modules(text):
        if not is_foreign(module) and module.partition(".")[0] != "setuptools":
            parts = module.lstrip(".").split(".")
            helpers[os.path.join(os.path.dirname(script), *parts) + ".py"] = None
    found = [data for path in helpers if _EXTENSION in (data := modules.text(path) or b"")]
    return b"\n".join([*found, text]), (script, *helpers)
