"""What functions and classes of a project can be given, and of which names it is certain that they
stand for one: Python finds one module for them, however the program was started, and nobody in the
project puts something else in the place of what that defines.
"""

from __future__ import annotations

import ast
import os
import re
from typing import TYPE_CHECKING

from mpslint.facts.priors import understood
from mpslint.project.layout.added_folders import WORD
from mpslint.project.layout.definition_texts import definition_of
from mpslint.project.layout.import_texts import apart, imported_modules
from mpslint.project.layout.modules import is_foreign
from mpslint.project.layout.word_holders import rows_with
from mpslint.project.uses.importers import is_imported
from mpslint.semantics.syntax.fitting import UNBOUND, signature_of
from mpslint.semantics.syntax.index import FUNCTIONS
from mpslint.semantics.syntax.signatures import certain_signature, is_bound_nowhere

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects, Whole
    from mpslint.semantics.syntax.fitting import Signature

_INIT = "__init__.py"
_STEPS = 3
"""So many modules hand a name on, one to the next."""
_MADE = re.compile(rb"^[ \t]+(?=def __init__[ \t]*\()", re.M)
_END = re.compile(rb"\)[ \t]*(?:->[^\n:]*)?:")
"""Where the head of a function ends, or something in it seems to."""
_MOST_ENDS = 3
_REPLACED = (
    rb"\.%(name)s[ \t]*=[^=]",
    rb"\b%(name)s\.__init__[ \t]*=[^=]",
    rb"\b(?:setattr|delattr|patch\w*|globals|vars|replace\w*)\b[^\n]*\b%(name)s\b",
)
"""What puts something in the place of a function or class, in the module or under its name."""
_REPLACING = (b"setattr", b"delattr", b"patch", b"globals", b"vars", b"replace")
"""What the last of these begins with."""
_REWRITING = (
    b"__defaults__",
    b"__kwdefaults__",
    b"sys.modules[",
    b"__init_subclass__",
    b"getmembers",
)
_RUNNING = re.compile(rb"\b(?:exec(?:file)?\(|run_path\(|builtins\b)")
"""By these files run with names that they do not bind themselves."""
_OF_INIT = re.compile(rb"\.__init__[ \t]*=[^=]|setattr\([^,\n]+,[ \t]*[\"']__init__[\"']")
"""By these a project changes what its functions and classes take, of whatever name."""
_BY_TEXT = (b"setattr", b"__dict__", b"globals()", b"patch")
"""By these it may be put there by its name in quotes, some lines away."""


class Callees:
    def __init__(self, projects: Projects, modules: Modules) -> None:
        self._projects = projects
        self._modules = modules
        self._heads: dict[tuple[str, str], Signature | None] = {}
        """By the text of a definition, as it seems."""
        self._rewritten: dict[str, bool] = {}
        """By the head of the project."""
        self._replaced: dict[tuple[str, str], bool] = {}
        """By that and by a name."""

    def signature(
        self, path: str, qualified: str, *, certain: bool
    ) -> tuple[Signature | None, tuple[str, ...]]:
        """What a name that the file at `path` imports can be given, as the text seems to have it,
        or for certain; and the files that this rests on."""
        return (self._certain_for if certain else self._seeming)(path, qualified)

    def _seeming(self, path: str, qualified: str) -> tuple[Signature | None, tuple[str, ...]]:
        files: tuple[str, ...] = ()
        for _ in range(_STEPS):
            module, name = apart(qualified)
            found, looked = self._modules.find(path, module)
            files += looked
            if found is None or found == path or not name:
                break
            if (found, name) not in self._heads:
                self._heads[found, name] = _signature(self._modules.text(found) or b"", name)
            if self._heads[found, name] is not None or not found.endswith(_INIT):
                return self._heads[found, name], files
            text = self._modules.text(found) or b""
            handed = [one for one in imported_modules(text) if apart(one)[1] == name]
            if len(handed) != 1:
                break
            path, qualified = found, handed[0]
        return None, files

    def _certain_for(self, path: str, qualified: str) -> tuple[Signature | None, tuple[str, ...]]:
        """The same for certain, of a name of the file's own as well, which may be `UNBOUND`."""
        whole = self._projects.searched(path)
        if whole is None or path not in whole.modules:
            return None, ()
        if self._is_rewritten(whole):
            return None, whole.files
        if "." not in qualified and self._is_unbound(whole, path, qualified):
            return UNBOUND, whole.files
        ask = self._certain if "." in qualified else self._certain_in
        return ask(whole, path, qualified, _STEPS), whole.files

    def _is_unbound(self, whole: Whole, path: str, name: str) -> bool:
        """Whether a name of the file at `path` stands for nothing, whoever runs that."""
        tree = self._modules.tree(path)
        if tree is None or not is_bound_nowhere(tree, name) or self._is_replaced(whole, name):
            return False
        texts = (self._modules.text(other) or b"" for other in (*whole.modules, *whole.others))
        return not any(_RUNNING.search(text) for text in texts)

    def _certain(self, whole: Whole, path: str, qualified: str, steps: int) -> Signature | None:
        module, name = apart(qualified)
        found = self._modules.find(path, module)[0]
        if not steps or found is None or found == path or found not in whole.modules:
            return None
        if not self._is_alone(whole, path, module, found):
            return None
        return self._certain_in(whole, found, name, steps)

    def _certain_in(self, whole: Whole, path: str, name: str, steps: int) -> Signature | None:
        tree = self._modules.tree(path)
        if tree is None or self._is_replaced(whole, name):
            return None
        return certain_signature(
            tree, name, lambda qualified: self._certain(whole, path, qualified, steps - 1)
        )

    def _is_alone(self, whole: Whole, path: str, module: str, found: str) -> bool:
        """Whether no other file may be the module that the file at `path` imports so."""
        if module.startswith("."):
            return True
        if is_foreign(module) or understood(module.partition(".")[0]):
            return False
        inner = os.path.join(*module.split("."))
        places = (f"{os.sep}{inner}.py", os.path.join(os.sep + inner, _INIT))
        alone = [one for one in whole.modules if one.endswith(places)] == [found]
        if alone and ("." in module or os.path.dirname(found) == whole.head):
            return True  # A lone name further down is a package of somebody else's as often.
        # A program has its own folder first.
        own = os.path.dirname(path)
        return (
            found in {own + place for place in places}
            and WORD not in (self._modules.text(path) or b"")
            and os.path.basename(path) != _INIT
            and not is_imported(self._modules, whole, path, or_run=True)
        )

    def _is_rewritten(self, whole: Whole) -> bool:
        """Whether the project changes functions and classes that it does not name."""
        if whole.head not in self._rewritten:
            texts = [self._modules.text(other) or b"" for other in whole.modules]
            self._rewritten[whole.head] = any(
                any(word in text for word in _REWRITING)
                or _OF_INIT.search(text) is not None
                or (b"setattr(" in text and (b"dir(" in text or b"vars(" in text))
                for text in texts
            )
        return self._rewritten[whole.head]

    def _is_replaced(self, whole: Whole, name: str) -> bool:
        key = whole.head, name
        if key not in self._replaced:
            self._replaced[key] = self._puts_another(whole, name.encode("utf-8", "replace"))
        return self._replaced[key]

    def _puts_another(self, whole: Whole, word: bytes) -> bool:
        quoted = (b'"%s"' % word, b"'%s'" % word)
        for other in self._modules.holding_alone((*whole.modules, *whole.others), word):
            text = self._modules.text(other) or b""
            if any(_replaces(row, word) for row in rows_with(word, text)):
                return True
            if any(one in text for one in quoted) and any(one in text for one in _BY_TEXT):
                return True
        return False


def _replaces(row: bytes, word: bytes) -> bool:
    """Whether a row puts something in the place of what has this name. In most rows nothing does,
    which is seen without an expression for each name."""
    is_given = b"=" in row and (b"." + word in row or word + b".__init__" in row)
    if not is_given and not any(one in row for one in _REPLACING):
        return False
    spelled = b"|".join(_REPLACED) % {b"name": re.escape(word)}
    return re.search(spelled, row) is not None


def _signature(text: bytes, name: str) -> Signature | None:
    """What the text of a module says that a function or class can be given."""
    block = definition_of(text, name)
    if block is None or block is text:
        return None
    is_class = block.startswith(b"class ")
    at = 0
    if is_class:
        made = _MADE.search(block)
        if made is None:
            return None
        at = made.end()
    end = at
    for _ in range(_MOST_ENDS):
        match = _END.search(block, end)
        if match is None:
            break
        end = match.end()
        try:
            (function,) = ast.parse(block[at:end].rpartition(b":")[0] + b": pass").body
        except (SyntaxError, ValueError):
            continue  # A comment, or a text, that looks like the end.
        if isinstance(function, FUNCTIONS):
            return signature_of(function.args, bound=is_class)
    return None
