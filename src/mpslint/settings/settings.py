"""The settings of one file: immutable, cheap to make, picklable.

Where they come from (settings files, options) is the business of `settings_file`; what the
selectors mean is that of `selectors`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mpslint.model import Confidence, Severity
from mpslint.records import NamedTuple

if TYPE_CHECKING:
    from mpslint.rules.registry import Rule
    from mpslint.settings.torch_pins import Pin

DEFAULT_EXCLUDE = (
    ".bzr",
    ".direnv",
    ".eggs",
    ".git",
    ".git-rewrite",
    ".hg",
    ".history",
    ".idea",
    ".ipynb_checkpoints",
    ".mypy_cache",
    ".nox",
    ".pants.d",
    ".pyenv",
    ".pytest_cache",
    ".pytype",
    ".ruff_cache",
    ".svn",
    ".tox",
    ".venv",
    ".vscode",
    "__pycache__",
    "__pypackages__",
    "_build",
    "buck-out",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
)
"""Folders of tools and of what is installed or built: those of ruff, and `.history` and `.idea`,
where editors keep files as they were before and their own state."""

_TELLING = (
    "select",
    "ignore",
    "extend_select",
    "per_file_ignores",
    "extend_per_file_ignores",
    "fixable",
    "unfixable",
    "severity",
    "min_confidence",
    "baseline",
)
"""Settings that say what is told, and which of it is fixed."""


class Settings(NamedTuple):
    """Every setting with its default; `Settings()` is what a project without settings gets."""

    select: tuple[str, ...] | None = None
    """Selectors (codes, prefixes, names, ALL, DEFAULT); None: the default rules."""
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """(glob, selectors) pairs; globs are relative to `root`."""
    extend_per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    fixable: tuple[str, ...] = ("ALL",)
    """Rules whose fixes may be applied, but for those of `unfixable`."""
    unfixable: tuple[str, ...] = ()
    exclude: tuple[str, ...] = DEFAULT_EXCLUDE
    extend_exclude: tuple[str, ...] = ()
    min_torch: tuple[int, int] = (2, 5)
    """Oldest torch the project supports. 2.5 is the oldest where all that fixes write works
    on MPS (`torch.autocast("mps")` raises in 2.4)."""
    max_torch: tuple[int, int] | None = None
    device_order: tuple[str, ...] = ("mps", "cuda", "cpu")
    """The order in which a *new* selection asks; one that is there keeps its own."""
    style: str = "inline"
    device_name: str = "device"
    helper_module: str | None = None
    severity: Severity = Severity.SLOW
    """Findings below it are not reported."""
    min_confidence: Confidence = Confidence.INFERRED
    respect_gitignore: bool = True
    force_exclude: bool = False
    max_file_size: int = 10_000_000
    """Bytes; a larger file is skipped with a warning. 0: no limit."""
    baseline: str | None = None
    """The file with the findings that are known, and not reported."""
    root: str = ""
    """Folder of the settings file, which relative globs start from; empty: none was found."""
    origin: str = ""
    """The settings file, empty when there is none."""
    device_order_is_set: bool = False
    """Somebody set `device_order`; else the order of the selections that are there goes over it."""
    min_torch_is_set: bool = False
    """Somebody set `min_torch`; else what the project's requirements say goes over it."""
    pin: Pin | None = None
    """The requirement that lets the oldest torch in, where `min_torch` is not set."""
    told: Pin | None = None
    """Where no requirement does, the oldest torch that the project is said to run on."""
    helper_root: str = ""
    """The folder that the names of modules start at for who is to import a new helper, where the
    file's own imports show none."""
    beside_port: bool = False
    """A fix of the same run has let tensors come to MPS: what they would meet there counts."""

    @property
    def oldest_torch(self) -> tuple[int, int]:
        """The oldest torch that what fixes write has to run on."""
        return self.min_torch if self.pin is None else self.pin.oldest

    @property
    def oldest_started(self) -> tuple[int, int]:
        """The oldest torch under which a program may be started, and must not end for a fix."""
        return self.oldest_torch if self.told is None else min(self.oldest_torch, self.told.oldest)

    @property
    def newest_torch(self) -> tuple[int, int] | None:
        """The newest torch that the project's requirements let in; None: none bounds it."""
        return self.pin.newest if self.pin is not None else None

    def is_bound_before(self, release: tuple[int, int]) -> bool:
        """Whether the requirements let in no torch from this one on."""
        newest = self.newest_torch
        return newest is not None and newest < release

    @property
    def oldest_by(self) -> str:
        """Who lets that torch in, as a message names it."""
        return "min-torch" if self.pin is None else self.pin.place

    def enabled(self, path: str) -> frozenset[str]:
        """The codes of the rules that are on for the file at `path`.

        Raises `BadSettings` for a selector that names no rule.
        """
        from mpslint.settings.selectors import enabled_codes, ignored_in_file

        globs = self.per_file_ignores + self.extend_per_file_ignores
        per_file = ignored_in_file(path, globs, self.root) if globs else ()
        return enabled_codes(self.select, self.extend_select, self.ignore, per_file, self.origin)

    def least_confidence(self, rule: Rule) -> Confidence:
        """How sure a finding of the rule has to be. Raises `BadSettings`."""
        if rule.least <= self.min_confidence:
            return self.min_confidence
        return self.min_confidence if self.asks_for(rule) else rule.least

    def asks_for(self, rule: Rule) -> bool:
        """Whether somebody asked for the rule itself. Raises `BadSettings`."""
        from mpslint.settings.selectors import asked_for

        return rule.code in asked_for(self.select, self.extend_select)

    def with_all_told(self) -> Settings:
        """The same with all rules that are on without being asked for, and all that they find."""
        plain = Settings()
        return self._replace(**{name: getattr(plain, name) for name in _TELLING})

    def may_fix(self, code: str) -> bool:
        """Whether the fixes of a rule may be offered. Raises `BadSettings`."""
        if self.fixable == ("ALL",) and not self.unfixable:
            return True
        from mpslint.settings.selectors import enabled_codes

        return code in enabled_codes(self.fixable, (), self.unfixable, (), self.origin)
