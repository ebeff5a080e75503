"""Find and read settings files: `mpslint.toml`, or `[tool.mpslint]` of `pyproject.toml`.

The nearest one above a file holds for it; in one folder `mpslint.toml` goes first, and a
`pyproject.toml` without `[tool.mpslint]` does not count.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from mpslint.errors import BadSettings, reason_of
from mpslint.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES = ("mpslint.toml", "pyproject.toml")


class SettingsFinder:
    """The settings of each folder, read once; options go over what a file says."""

    def __init__(
        self,
        overrides: Mapping[str, Any] | None = None,
        *,
        config: str | None = None,
        isolated: bool = False,
    ) -> None:
        """`config`: use this file for every folder; `isolated`: read no file at all."""
        self._overrides = dict(overrides or {})
        self._folders: dict[str, Settings] = {}
        self._fixed: Settings | None = None
        if isolated:
            self._fixed = self._over(Settings())
        elif config is not None:
            self._fixed = self._over(read(config, required=True) or Settings())

    def for_folder(self, folder: str) -> Settings:
        """The settings for files in `folder`. Raises `BadSettings`."""
        if self._fixed is not None:
            return self._fixed
        folder = os.path.abspath(folder)
        known = self._folders.get(folder)
        if known is None:
            known = self._folders[folder] = self._find(folder)
        return known

    def for_file(self, path: str) -> Settings:
        return self.for_folder(os.path.dirname(os.path.abspath(path)))

    def _find(self, folder: str) -> Settings:
        for name in NAMES:
            settings = read(os.path.join(folder, name))
            if settings is not None:
                return self._over(settings)
        parent = os.path.dirname(folder)
        return self._over(Settings()) if parent == folder else self.for_folder(parent)

    def _over(self, settings: Settings) -> Settings:
        changes = dict(self._overrides)
        if not changes:
            return consistent(settings)
        if changes.get("select") is not None:
            # A selection made by hand replaces the file's, what the file ignores included.
            changes = {"ignore": (), "extend_select": (), **changes}
        else:
            for key in ("ignore", "extend_select", "extend_exclude"):
                if key in changes:
                    changes[key] = (*getattr(settings, key), *changes[key])
        return consistent(settings._replace(**changes))


_ACCELERATOR_SINCE = (2, 13)


def consistent(settings: Settings) -> Settings:
    """`settings`, unless they contradict each other. Raises `BadSettings`."""
    if settings.style != "accelerator":
        return settings
    where = settings.origin or "--style"
    if settings.min_torch < _ACCELERATOR_SINCE:
        oldest = ".".join(map(str, settings.min_torch))
        raise BadSettings(
            f"{where}: style accelerator needs min-torch 2.13 or later, which is {oldest}: before, "
            "torch.accelerator fails on MPS"
        )
    if not {"mps", "cuda"} <= set(settings.device_order):
        raise BadSettings(
            f"{where}: style accelerator takes any accelerator, so device-order must name mps "
            "and cuda; use style inline or helper"
        )
    return settings


def read(path: str, *, required: bool = False) -> Settings | None:
    """The settings in the file at `path`; None when it does not exist or is not about mpslint.

    Raises `BadSettings` for what cannot be read or understood, and with `required` for a
    file that is not there or has no settings of mpslint.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (FileNotFoundError, NotADirectoryError):
        if required:
            raise BadSettings(f"{path}: no such settings file") from None
        return None
    except IsADirectoryError:
        return None
    except OSError as error:
        raise BadSettings(f"{path}: cannot be read: {reason_of(error)}") from None
    table: Any = None
    if os.path.basename(path) != "pyproject.toml":
        table = _parse(path, data)
    elif b"mpslint" in data:
        tool = _parse(path, data).get("tool")
        table = tool.get("mpslint") if isinstance(tool, dict) else None
    if table is None:
        if required:
            raise BadSettings(f"{path}: has no [tool.mpslint] table")
        return None
    if not isinstance(table, dict):
        raise BadSettings(f"{path}: [tool.mpslint] must be a table")
    from mpslint.settings_table import settings_from

    return settings_from(table, path)


def _parse(path: str, data: bytes) -> dict[str, Any]:
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        table: dict[str, Any] = tomllib.loads(data.decode("utf-8"))
        return table
    except UnicodeDecodeError as error:
        raise BadSettings(f"{path}: not valid UTF-8 at byte {error.start}") from None
    except tomllib.TOMLDecodeError as error:
        raise BadSettings(f"{path}: not valid TOML: {error}") from None
