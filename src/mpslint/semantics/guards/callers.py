"""What holds in a function because of everything in its file that calls it or hands it on.

Machine facts last as long as the process. So where every mention of a function stands behind
`assert torch.cuda.is_available()`, or in the CUDA arm of a test, the function runs only where CUDA
is: called, spawned, wrapped in a `partial` or put in a table. A function that nothing in the file
mentions, or that frameworks call by its name, is called by nobody knows whom: nothing is known.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from mpslint.semantics.guards.gpu_counts import GpuCounts
from mpslint.semantics.names.names import Names
from mpslint.semantics.syntax.index import FUNCTIONS, FunctionNode, Index
from mpslint.semantics.terms.facts_known import IMPOSSIBLE, NONE, Facts, last_name

if TYPE_CHECKING:
    from mpslint.semantics.elsewhere.imported import Imported
    from mpslint.semantics.guards.guards import Guards
    from mpslint.semantics.guards.settling import Settling

Definition = FunctionNode | ast.ClassDef

_PASSED_ON = (IMPOSSIBLE | {"no-cpu", "xpu", "npu"}) - {"asked-cuda", "asked-mps"}
"""What stays so in the called function. What its caller catches it still raises; and what a
switch of the user's is called says nothing in a helper any more."""
# Fact: Python's data model, pytest's discovery and xunit-style fixtures, `unittest.TestCase`.
_BY_RUNNERS = re.compile(
    r"__\w+__|test(_\w*)?|setUp(Class|Module)?|tearDown(Class|Module)?|(setup|teardown)(_\w+)?"
)
"""Names that a test runner or Python itself calls."""
# Fact: `torch.nn.Module`, `torch.autograd.Function`, `LightningModule` and its `Callback` hooks.
_BY_TRAINERS = re.compile(
    r"forward|backward|on_\w+|configure_\w+|(training|validation|test|predict)_step"
)
"""Methods that modules and trainers call."""
_CONSTRUCTORS = ("__init__", "__new__", "setUp", "setUpClass", "setup_method", "setup_class")
"""Methods without which no other method of an object runs."""
_SPAWNERS = ("spawn", "start_processes")
_DEPTH = 12
_BASES = 3


class Callers:
    """Facts at the entry of functions and classes, each worked out once."""

    def __init__(
        self,
        guards: Guards,
        settling: Settling,
        counts: GpuCounts,
        index: Index,
        names: Names,
        told: Imported | None = None,
    ) -> None:
        self._guards = guards
        self._settling = settling
        self._counts = counts
        self._index = index
        self._names = names
        self._told = told
        self._known: dict[ast.AST, Facts] = {}
        self._busy: list[ast.AST] = []
        self._texts: set[object] | None = None

    def entry(self, definition: Definition) -> Facts:
        """The facts that hold whenever the body of `definition` runs."""
        known = self._known.get(definition)
        if known is not None:
            return known
        if definition in self._busy or len(self._busy) > _DEPTH:
            return NONE
        self._busy.append(definition)
        try:
            facts = self._entry(definition)
        finally:
            self._busy.pop()
        self._known[definition] = facts
        return facts

    def mentions(self, definition: Definition) -> list[ast.expr]:
        """Where the file speaks of `definition`, outside itself, in types and in `isinstance`."""
        name, index = definition.name, self._index
        scope = self._names.scope_of(definition)
        found: list[ast.expr] = [
            use
            for use in index.names.get(name, ())
            if isinstance(use.ctx, ast.Load) and self._names.owner(name, use) is scope
        ]
        if isinstance(scope.node, ast.ClassDef):
            found += [
                use
                for use in index.attributes.get(name, ())
                if isinstance(use.ctx, ast.Load) and self._names.resolve(use) is None
            ]
        return [x for x in found if not self._is_type(x) and not index.within(x, definition)]

    def named_by_frameworks(self, definition: Definition, *, folders: bool = True) -> bool:
        """Whether others may call it by its name: `test_x`, `__all__ = ["x"]`, `getattr(m, "x")`

        `folders`: whether a folder of that name is taken for such a text, too.
        """
        name = definition.name
        if _BY_RUNNERS.fullmatch(name):
            return True
        if self._in_text(name) and (folders or not self._names_folders(name)):
            return True
        method = isinstance(self._index.parents.get(definition), ast.ClassDef)
        return method and _BY_TRAINERS.fullmatch(name) is not None

    def _entry(self, definition: Definition) -> Facts:
        facts = self._constructed(definition)
        if self.named_by_frameworks(definition):
            return facts
        sites = self.mentions(definition)
        if not sites and self._told is not None:
            return facts | self._imported(definition)
        common: Facts | None = None
        for site in sites:
            here = self._at(site) & _PASSED_ON
            common = here if common is None else common & here
            if not common:
                break
        return facts | common if common else facts

    def _imported(self, definition: Definition) -> Facts:
        """What the files beside this one know where they use what it alone defines: a function, or
        an object of the class around a method."""
        owner = self._index.parents.get(definition)
        named = owner if isinstance(owner, ast.ClassDef) else definition
        if self._told is None or not isinstance(self._index.parents.get(named), ast.Module):
            return NONE
        if named is not definition and self.mentions(named):
            return NONE
        return self._told.entered(named.name)

    def _constructed(self, definition: Definition) -> Facts:
        """What the constructor of the object has made sure of."""
        owner = self._index.parents.get(definition)
        if not isinstance(owner, ast.ClassDef) or isinstance(definition, ast.ClassDef):
            return NONE
        if definition.name in _CONSTRUCTORS:
            return NONE
        if any(last_name(d) in ("staticmethod", "classmethod") for d in definition.decorator_list):
            return NONE
        return self._set_up(owner, _BASES)

    def _set_up(self, owner: ast.ClassDef, depth: int) -> Facts:
        """What the constructors of a class have made sure of, or those that it inherits."""
        facts: Facts = NONE
        own: set[str] = set()
        for item in owner.body:
            if isinstance(item, FUNCTIONS) and item.name in _CONSTRUCTORS:
                facts |= self._settling.after(item)
                own.add(item.name)
        if depth == 0 or own:
            return facts
        for base in owner.bases:
            if isinstance(base, ast.Name):
                for binding in self._names.bindings(base.id, base):
                    if isinstance(binding.node, ast.ClassDef):
                        facts |= self._set_up(binding.node, depth - 1)
        return facts

    def _at(self, site: ast.expr) -> Facts:
        """What holds where `site` mentions a function or class."""
        parent = self._index.parents[site]
        if isinstance(parent, ast.ClassDef):
            return self._guards.at(parent) | self.entry(parent)  # a base: as the class itself
        facts = self._guards.at(site)
        if isinstance(parent, ast.Call) and last_name(parent.func) in _SPAWNERS:
            for keyword in parent.keywords:
                if keyword.arg == "nprocs" and self._counts.implies_cuda(keyword.value, 1):
                    facts |= {"cuda"}  # No GPU, no process.
        return facts

    def _is_type(self, use: ast.expr) -> bool:
        """In an annotation (`-> "Runner"`), `isinstance` or `super`: a word for it, no use."""
        child: ast.AST = use
        for parent in self._index.ancestors(use):
            if isinstance(parent, ast.arg):
                return True
            if isinstance(parent, FUNCTIONS):
                return child is parent.returns
            if isinstance(parent, ast.AnnAssign):
                return child is parent.annotation
            if isinstance(parent, ast.Call):
                word = last_name(parent.func)
                return word in ("isinstance", "issubclass", "super") and child is not parent.func
            if isinstance(parent, ast.stmt):
                return False
            child = parent
        return False

    def _in_text(self, name: str) -> bool:
        if self._texts is None:
            self._texts = {item.value for item in self._index.strings}
        return name in self._texts and any(
            item.value == name and not self._is_type(item) for item in self._index.strings
        )

    def _names_folders(self, name: str) -> bool:
        """Whether all texts of this name are parts of paths."""
        return all(self._in_path(item) for item in self._index.strings if item.value == name)

    def _in_path(self, text: ast.Constant) -> bool:
        """A folder, `os.path.join(root, "train")`, is no function that is called by its name."""
        call = self._index.parents[text]
        return (
            isinstance(call, ast.Call)
            and last_name(call.func) == "join"
            and self._names.resolve(call.func) == "os.path.join"
        )
