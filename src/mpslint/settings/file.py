"""Find and read settings files: `mpslint.toml`, or `[tool.mpslint]` of `pyproject.toml`.

The nearest one above a file holds for it, together with the one that it extends; in one folder
`mpslint.toml` goes first, and a `pyproject.toml` without `[tool.mpslint]` does not count. Variables
`MPSLINT_...` go over the file, options over both.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from mpslint.errors import BadSettings, reason_of
from mpslint.settings.settings import Settings
from mpslint.sources.files import read_regular

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mpslint.settings.torch_pins import Pin, Pins
    from mpslint.settings.torch_told import Told

NAMES = ("mpslint.toml", "pyproject.toml")
_MAX_BYTES = 1 << 20
_MOST_PARTS = 64
_MOST_EXTENDING = 20
_PART = rb"""(?:[\w-]{1,200}|"[^"\n]{0,200}"|'[^'\n]{0,200}')[ \t]*"""
_LONG_KEY = rb"%b(?:\.[ \t]*%b){%d}" % (_PART, _PART, _MOST_PARTS)
"""The parser takes time with the square of a key's parts."""


class SettingsFinder:
    """The settings of each folder, read once; options go over what a file says."""

    def __init__(
        self,
        overrides: Mapping[str, Any] | None = None,
        *,
        config: str | None = None,
        isolated: bool = False,
    ) -> None:
        """`config`: use this file for every folder; `isolated`: read no settings file. What a
        project asks of its torch is none: it runs on that, whoever looks at it. Raises
        `BadSettings`."""
        from mpslint.settings.environment import CONFIG, from_environment

        self._layers = (from_environment(os.environ), dict(overrides or {}))
        config = config or os.environ.get(CONFIG) or None
        self._folders: dict[str, Settings] = {}
        self._extended: dict[str, list[str]] = {}
        self._fixed: Settings | None = None
        self._pins: Pins | None = None
        self._told: Told | None = None
        self._pinned: dict[str, Settings] = {}
        self._shared: dict[tuple[int, Pin | None, Pin | None], Settings] = {}
        if isolated:
            self._fixed = self._over(Settings())
        elif config is not None:
            self._fixed = self._over(self._read(config, required=True) or Settings())

    def for_folder(self, folder: str) -> Settings:
        """The settings for files in `folder`. Raises `BadSettings`."""
        folder = os.path.abspath(folder)
        known = self._pinned.get(folder)
        if known is None:
            known = self._pinned[folder] = self._with_pin(folder, self._fixed or self._of(folder))
        return known

    def _of(self, folder: str) -> Settings:
        known = self._folders.get(folder)
        if known is None:
            known = self._folders[folder] = self._find(folder)
        return known

    def _with_pin(self, folder: str, settings: Settings) -> Settings:
        """`settings`, with what the project's requirements say of torch where nobody has set
        `min-torch`. Folders with the same of both share the object."""
        if settings.min_torch_is_set:
            return settings
        if self._pins is None:
            from mpslint.settings.torch_pins import Pins

            self._pins = Pins()
        pin = self._pins.of(folder)
        told = self._told_in(folder) if pin is None else None
        if pin is None and told is None:
            return settings
        key = id(settings), pin, told
        if key not in self._shared:
            self._shared[key] = settings._replace(pin=pin, told=told)
        return self._shared[key]

    def _told_in(self, folder: str) -> Pin | None:
        if self._told is None:
            from mpslint.settings.torch_told import Told

            self._told = Told()
        return self._told.of(folder)

    def for_file(self, path: str) -> Settings:
        return self.for_folder(os.path.dirname(os.path.abspath(path)))

    def by_hand(self, name: str) -> bool:
        """Whether a variable or an option, and no file, says what this setting is."""
        return any(name in changes for changes in self._layers)

    def extended(self, path: str) -> list[str]:
        """The files that the settings of a file extend, as far as they have been asked for."""
        folder = os.path.dirname(os.path.abspath(path))
        settings = self._fixed or self._folders.get(folder)
        return [] if settings is None else self._extended.get(settings.origin or "", [])

    def _read(self, path: str, *, required: bool = False) -> Settings | None:
        extended: list[str] = []
        settings = read(path, required=required, extended=extended)
        if settings is not None:
            self._extended[settings.origin or ""] = extended
        return settings

    def _find(self, folder: str) -> Settings:
        for name in NAMES:
            settings = self._read(os.path.join(folder, name))
            if settings is not None:
                return self._over(settings)
        parent = os.path.dirname(folder)
        return self._over(Settings()) if parent == folder else self._of(parent)

    def _over(self, settings: Settings) -> Settings:
        for changes in self._layers:
            if changes:
                settings = _by_hand(settings, changes)
        return consistent(settings)


def _by_hand(settings: Settings, changes: dict[str, Any]) -> Settings:
    """`settings` with what variables or options say over them."""
    from mpslint.settings.table import over

    if changes.get("select") is not None:
        # A selection made by hand replaces the file's, what the file ignores included.
        return over(settings._replace(ignore=(), extend_select=()), changes)
    for name in ("ignore", "unfixable"):
        if name in changes:
            changes = {**changes, name: (*getattr(settings, name), *changes[name])}
    return over(settings, changes)


_ACCELERATOR_SINCE = (2, 13)


def consistent(settings: Settings) -> Settings:
    """`settings`, unless they contradict each other. Raises `BadSettings`."""
    if settings.max_torch is not None and settings.max_torch < settings.min_torch:
        oldest, newest = (".".join(map(str, v)) for v in (settings.min_torch, settings.max_torch))
        where = settings.origin or "--max-torch"
        raise BadSettings(f"{where}: max-torch {newest} is older than min-torch {oldest}")
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


def read(
    path: str, *, required: bool = False, extended: list[str] | None = None
) -> Settings | None:
    """The settings in the file at `path`; None when it does not exist or is not about mpslint.

    Raises `BadSettings` for what cannot be read or understood, and with `required` for a
    file that is not there or has no settings of mpslint. The files that it extends are added to
    `extended`.
    """
    return _read(path, required, (), [] if extended is None else extended)


def _read(
    path: str, required: bool, extending: tuple[str, ...], extended: list[str]
) -> Settings | None:
    """`extending`: the files that led here, each by what the one before it extends."""
    table = _table(path, required)
    if table is None:
        return None
    from mpslint.settings.table import EXTEND, convert, settings_from

    base = None
    if EXTEND in table:
        wanted = os.path.expanduser(convert(EXTEND, table[EXTEND], path))
        other = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(path)), wanted))
        chain = (*extending, os.path.realpath(path))
        if len(chain) > _MOST_EXTENDING:
            raise BadSettings(
                f"{path}: {EXTEND!r} leads on through more than {_MOST_EXTENDING} files"
            )
        if os.path.realpath(other) in chain:
            raise BadSettings(f"{path}: {EXTEND!r} leads back to {other}; remove one of the two")
        if not os.path.isfile(other):
            raise BadSettings(f"{path}: {EXTEND!r} names {wanted}, which is no file")
        extended.append(other)
        base = _read(other, True, chain, extended)
    return settings_from(table, path, base and _anchored(base))


def _anchored(base: Settings) -> Settings:
    """Settings that another file extends, with paths that mean there what they mean here."""

    def glob(text: str) -> str:
        turned = "!" * text.startswith("!")
        plain = text[len(turned) :]
        return turned + os.path.join(base.root, plain) if "/" in plain.strip("/") else text

    def globs(pairs: tuple[tuple[str, tuple[str, ...]], ...]) -> Any:
        return tuple((glob(text), rules) for text, rules in pairs)

    return base._replace(
        exclude=tuple(map(glob, base.exclude)),
        extend_exclude=tuple(map(glob, base.extend_exclude)),
        per_file_ignores=globs(base.per_file_ignores),
        extend_per_file_ignores=globs(base.extend_per_file_ignores),
        helper_module=base.helper_module and os.path.join(base.root, base.helper_module),
    )


def _table(path: str, required: bool) -> dict[str, Any] | None:
    """The table of settings in the file at `path`, as `read` takes it."""
    try:
        data = read_regular(path, _MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        if required:
            raise BadSettings(f"{path}: no such settings file") from None
        return None
    except IsADirectoryError:
        if required:
            raise BadSettings(f"{path}: is a folder, not a settings file") from None
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
    return table


def inline(text: str, where: str) -> dict[str, Any]:
    """The settings that one KEY=VALUE names, as fields of `Settings`. The value is TOML, or plain
    text as in an option. Raises `BadSettings`."""
    from mpslint.settings.table import EXTEND, convert, from_text, with_known_rules

    key, _, value = (part.strip() for part in text.partition("="))
    if not key:
        raise BadSettings(f"{where}: expected a file or KEY=VALUE")
    if key == EXTEND:
        raise BadSettings(f"{where}: {EXTEND!r} belongs into a settings file")
    try:
        ((name, parsed),) = _parse(where, f"{key} = {value}".encode()).items()
        value_set = convert(name, parsed, where)
    except (BadSettings, ValueError):
        return {key.replace("-", "_"): from_text(key, value, where)}
    return {name.replace("-", "_"): with_known_rules(name, value_set, where)}


def _parse(path: str, data: bytes) -> dict[str, Any]:
    import re
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    if data.count(b".") >= _MOST_PARTS and re.search(_LONG_KEY, data):
        raise BadSettings(f"{path}: has a key of more than {_MOST_PARTS} parts; shorten it")
    try:
        table: dict[str, Any] = tomllib.loads(data.decode("utf-8"))
        return table
    except UnicodeDecodeError as error:
        raise BadSettings(f"{path}: not valid UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise BadSettings(f"{path}: not valid TOML: nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, or a number of too many digits
        raise BadSettings(f"{path}: not valid TOML: {error}") from None
