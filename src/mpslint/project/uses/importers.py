"""Whether other files of a project seem to import one, without asking where Python would look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.project.layout.import_texts import imported_modules, module_name, runs_files

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Whole


def is_imported(modules: Modules, whole: Whole, path: str, *, or_run: bool = False) -> bool:
    """Whether another file seems to import this one, by whatever name, or speaks of it and runs
    files (`or_run`)."""
    name = module_name(path)
    for other in modules.holding_alone(
        (*whole.modules, *whole.others), name.encode(errors="replace")
    ):
        text = modules.text(other) or b""
        if other != path and (
            other.endswith(".ipynb")  # Its cells are text in another text.
            or (or_run and runs_files(text))
            or any(name in module.split(".") for module in imported_modules(text))
        ):
            return True
    return False
