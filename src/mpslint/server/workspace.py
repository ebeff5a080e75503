"""The settings of an open file: those of its settings file, under the editor's for its folder.

Editors that watch files tell of a change, others do not: so the settings files above a file are
looked at (not read) each time that it is checked.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from mpslint.errors import BadSettings
from mpslint.folders.discovery import excluded_by_path
from mpslint.records import NamedTuple
from mpslint.settings.file import NAMES, SettingsFinder
from mpslint.settings.selectors import require_known
from mpslint.settings.table import EXTEND, convert
from mpslint.sources.reading import UNSURE, sign_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mpslint.settings.settings import Settings

SECTION = "mpslint"
_HUMP = re.compile(r"(?<=[a-z])([A-Z])")
_OWN = ("enable", "configuration")
Signs = tuple[tuple[int, int], ...]


class Options(NamedTuple):
    """What the editor says for a folder."""

    enable: bool = True
    configuration: str | None = None
    """A settings file to use for every file."""
    overrides: Mapping[str, Any] = {}
    """Settings that go over the file's, as options of the command line do."""


def is_table(told: Any) -> bool:
    """Whether that can be a table. In Lua, in which settings of neovim are written, an empty one is
    an empty list as well, and is sent as such."""
    return isinstance(told, dict) or told == []


def says_something(told: Any) -> bool:
    return told not in (None, {}, [])


def options_from(said: Any, folder: str) -> Options:
    """The options in what an editor sent: the section `mpslint` of its settings, or what stands in
    it. Raises `BadSettings`."""
    for name in (SECTION, "settings"):
        if isinstance(said, dict) and is_table(said.get(name)):
            said = said[name]
    if not says_something(said):
        return Options()
    where = "editor settings"
    if not isinstance(said, dict):
        raise BadSettings(f"{where}: {SECTION} must be a table, not {said!r:.60}")
    enable, configuration = said.get("enable", True), said.get("configuration")
    if not isinstance(enable, bool):
        raise BadSettings(f"{where}: 'enable' must be true or false, not {enable!r:.60}")
    if configuration is not None:
        if not isinstance(configuration, str):
            raise BadSettings(f"{where}: 'configuration' must be a path, not {configuration!r:.60}")
        configuration = os.path.join(folder, os.path.expanduser(configuration))
    overrides = {}
    for name, value in said.items():
        # An editor shows each setting that it knows of, those without a value as null.
        if name not in _OWN and value is not None:
            key = _HUMP.sub(lambda hump: f"-{hump[1].lower()}", name)
            if key == EXTEND:
                raise BadSettings(f"{where}: {EXTEND!r} belongs into a settings file")
            overrides[key.replace("-", "_")] = convert(key, value, where)
    if overrides.get("baseline"):
        overrides["baseline"] = os.path.join(folder, os.path.expanduser(overrides["baseline"]))
    return Options(enable, configuration, overrides)


class Workspace:
    """The folders that are open in the editor, and the settings of the files in them."""

    def __init__(self) -> None:
        self._default = Options()
        self._folders: dict[str, Options] = {}
        self._finders: dict[int, SettingsFinder] = {}
        self._signs: dict[tuple[int, str], Signs] = {}

    @property
    def folders(self) -> list[str]:
        return list(self._folders)

    def use(self, default: Options, folders: Mapping[str, Options]) -> bool:
        """Take the editor's options: those of each open folder, and for files outside of them.
        Whether they are others than before."""
        before = self._default, self._folders
        self._default, self._folders = default, dict(folders)
        self.forget()
        return before != (self._default, self._folders)

    def forget(self) -> None:
        """Read settings files anew when next asked."""
        self._finders, self._signs = {}, {}

    def settings(self, path: str) -> Settings | None:
        """The settings of a file; None where it is not to be checked. Raises `BadSettings`."""
        top, options = self._home(path)
        if not options.enable:
            return None
        try:
            settings = self._finder(options, path).for_file(path)
        finally:
            # Only now it is known which files these settings extend.
            self._signs[_key(options, path)] = self.sources(path)
        require_known(settings)
        return None if excluded_by_path(path, settings, top) else settings

    def sources(self, path: str) -> Signs:
        """By what a change of the settings of a file shows; `UNSURE` in it never holds."""
        options = self._home(path)[1]
        finder = self._finders.get(id(options))
        extended = () if finder is None else finder.extended(path)
        return tuple(map(sign_of, (*self._candidates(options, path), *extended)))

    def _home(self, path: str) -> tuple[str, Options]:
        """The folder below which a file may be excluded, and the options that hold for it: the
        innermost open one. Beside open folders lies what was looked up in an installed package; a
        file that was opened alone is meant."""
        around = [folder for folder in self._folders if _below(path, folder)]
        if not around:
            return os.path.abspath(os.sep) if self._folders else os.path.dirname(
                path
            ), self._default
        folder = max(around, key=len)
        return folder, self._folders[folder]

    def _finder(self, options: Options, path: str) -> SettingsFinder:
        known, key = self.sources(path), _key(options, path)
        before = self._signs.get(key, known)
        finder = self._finders.get(id(options))
        if finder is None or known != before or UNSURE in known:
            finder = SettingsFinder(options.overrides, config=options.configuration)
            self._finders[id(options)] = finder
            self._signs = {}
        return finder

    @staticmethod
    def _candidates(options: Options, path: str) -> Iterable[str]:
        if options.configuration is not None:
            yield options.configuration
            return
        folder = os.path.dirname(path)
        while True:
            yield from (os.path.join(folder, name) for name in NAMES)
            above = os.path.dirname(folder)
            if above == folder:
                return
            folder = above


def _key(options: Options, path: str) -> tuple[int, str]:
    return id(options), os.path.dirname(path)


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)
