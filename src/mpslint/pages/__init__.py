"""Self-contained HTML pages: templates, one style and one script, nothing from anywhere else.

Whatever comes from the user's code is escaped by the template engine, and should anything slip
through, the page's own security policy runs no script but the one whose digest it names and
fetches nothing.
"""

from __future__ import annotations

import base64
import hashlib
import os
from functools import cache
from typing import TYPE_CHECKING, Any

from mpslint.errors import MpslintError, reason_of

if TYPE_CHECKING:
    from jinja2 import Environment

_TEMPLATES = os.path.join(os.path.dirname(__file__), "templates")


class NoTemplates(MpslintError):
    """Pages are asked for, and what makes them is not installed."""


class CannotWritePage(MpslintError):
    """A page that could not be written."""


def require() -> None:
    """Raises `NoTemplates` where pages cannot be made; asked before anything takes long."""
    try:
        import jinja2  # noqa: F401
    except ImportError:
        raise NoTemplates(
            "pages are made by Jinja2, which is not installed: pip install 'mpslint[report]'"
        ) from None


def render(template: str, **values: Any) -> str:
    """The page of a template. Raises `NoTemplates`."""
    require()
    return _environment().get_template(template).render(**values)


def write(path: str, text: str) -> None:
    """Write a page, or whatever is shown beside it. Raises `CannotWritePage`."""
    try:
        with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise CannotWritePage(f"{path}: cannot be written: {reason_of(error)}") from None


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    made = Environment(
        loader=FileSystemLoader(_TEMPLATES, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )

    def own(name: str) -> Markup:
        """A file of ours, as it stands: the style and the script."""
        with open(os.path.join(_TEMPLATES, name), encoding="utf-8") as file:
            return Markup(file.read())

    def digest(name: str) -> str:
        """What a security policy says of an inline script to let it run."""
        # The template puts a line before and behind the script.
        text = f"\n{own(name).rstrip()}\n"
        return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    made.globals.update(own=own, digest=digest)
    made.filters["bytes"] = size
    made.filters["count"] = count
    return made


def size(number: float) -> str:
    """Bytes for people."""
    for unit in ("B", "kB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} GB"


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 wait`, `2 waits`."""
    return f"{number} {one if number == 1 else many or one + 's'}"
