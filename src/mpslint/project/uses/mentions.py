"""Who in a project uses what one of its files defines, and how: nobody, or with which arguments.

A function that nobody calls stops nobody. Its name is looked for in all files of the project, the
settings and shell scripts among them, since both start what Python alone does not show. A project
that is too large to be looked through, or whose folder is not known, may use everything.
"""

from __future__ import annotations

import ast
import os
import re
from functools import partial
from typing import TYPE_CHECKING

from mpslint.project.layout.whole import PROSE, SETTINGS
from mpslint.project.layout.word_holders import is_torchs, stands_alone
from mpslint.project.published.published import Published
from mpslint.project.uses.calls_beside import calls_beside
from mpslint.project.uses.importable import Importable
from mpslint.project.uses.leading import Leading
from mpslint.project.uses.live_uses import LiveUses
from mpslint.project.uses.named_arguments import names_argument
from mpslint.project.uses.named_by_text import Texts, has_text, word_of
from mpslint.project.uses.namesakes import is_namesake
from mpslint.project.uses.nowhere import Nowhere
from mpslint.project.uses.offered import Offered
from mpslint.project.uses.own_names import is_of_own_class, read
from mpslint.project.uses.taken_by_text import TakenByText, is_found_from_inside, takers
from mpslint.project.uses.tries import Tries
from mpslint.project.uses.unreached import Unreached
from mpslint.semantics.elsewhere.elsewhere import ANYTHING, Given
from mpslint.semantics.syntax.paths import is_example
from mpslint.semantics.syntax.type_questions import only_asks
from mpslint.semantics.uses.defined import is_handed_on, own_makers, own_methods
from mpslint.semantics.uses.given_in_tables import gives
from mpslint.semantics.uses.known_bases import line
from mpslint.semantics.uses.looked_up import is_looked_up, modules_before
from mpslint.semantics.uses.overridden import replaces

if TYPE_CHECKING:
    from mpslint.project.layout.modules import Modules
    from mpslint.project.layout.whole import Projects, Whole
    from mpslint.semantics.context import Context
    from mpslint.semantics.elsewhere.elsewhere import Elsewhere

_STEPS = 3
"""So many users, each of the next, are asked whether anybody uses them in turn."""
_MOST_PARSED = 16
"""A name that stands in more modules than this is a common word, and somebody may mean this."""


class Mentions:
    def __init__(self, projects: Projects, modules: Modules, elsewhere: Elsewhere) -> None:
        self._modules = modules
        self._elsewhere = elsewhere
        self._projects = projects
        self._published = Published(modules)
        self._taken = TakenByText(modules)
        self._texts = Texts(modules, self._taken)
        self._offered = Offered(modules)
        self._live = LiveUses(self.uses)
        self.alive = LiveUses(self.uses, alive=True)
        self._leading = leading = Leading(modules, self._taken)
        self.unreached = Unreached(projects, modules, self._published, self._offered, leading)
        importable = self._importable = Importable(projects, modules)
        self._tries = Tries(self._published, leading)
        self.nowhere = Nowhere(
            projects, modules, self._published, leading, importable, self.unreached
        )

    def take_over(self, known: Mentions, changed: frozenset[str]) -> None:
        """Takes over what another one knows that has other texts for the `changed` files alone."""
        self._taken.take_over(known._taken, changed)

    def uses(
        self, path: str, name: str, *, method: bool, alive: bool = False, steps: int = _STEPS
    ) -> tuple[bool, tuple[str, ...]]:
        """Whether another file of the project may use the function `name` of the file at the
        absolute `path`, or the `method` of that name; and the files that this rests on. What only
        such functions use as nobody uses, in so many `steps`, is used by nobody. `alive`: nor does
        who ends at an import, or a test of a program."""
        whole = self._projects.searched(path)
        if whole is None:
            return True, ()
        if name == ANYTHING:
            return self._is_open(whole, path)
        installed, told = self._published.is_for_others(whole)
        if installed and is_example(os.path.relpath(path, whole.head)):
            return True, told
        installed = installed and not self._published.leaves_out(whole, path)
        if installed and not name.startswith("_"):
            if method or self._offered.includes(whole, path) or self._lists(path, name):
                return True, told
        holding = frozenset(self._modules.holding_alone(whole.modules, word_of(name)))
        files, parsed, nobodys = whole.files, 0, []
        live = self.alive if alive else self._live
        for other in whole.modules:
            if other == path:
                continue
            if not method and self._leading.may_take(other, path, name, named=other in holding):
                left, told = self._left(whole, path, other, alive=alive)
                if not left and (resting := self._taking(other, live, steps)) is not None:
                    return True, (other, *told, *resting)
            if other not in holding:
                continue
            if not method and b"import" not in (self._modules.text(other) or b""):
                if self._texts.is_quoted(whole, other, path, name, is_open=installed):
                    if not (alive and self._left(whole, path, other, alive=True)[0]):
                        return True, files  # Whoever has the module to look in may be any of them.
                continue
            if method and is_torchs(word_of(name), self._modules.text(other) or b""):
                continue
            if not method and is_namesake(self._modules, other, path, name):
                continue
            parsed += 1
            context = self._modules.context(other, self._elsewhere)
            if parsed > _MOST_PARSED or context is None:
                return True, files
            found = (
                self._names_method(whole, context, path, name)
                if method
                else self._mentions(whole, context, path, name, installed=installed)
            )
            if found is None or found:
                left, told = self._left(whole, path, other, alive=alive)
                if left:
                    nobodys.append(other)
                    continue
                if found is None:
                    return True, files
                if live.any_of(context, found, steps):
                    return True, (other, *told, *live.rests_on(context, steps))
        if alive and self._tries.has_more(whole, path, nobodys, self._importable):
            return True, files
        for other in whole.others:
            if self._texts.tell(whole, other, path, name) or self._leading.open.lead(other, path):
                return True, (files if other.endswith(SETTINGS) else (other,))
        return False, files

    def _lists(self, path: str, name: str) -> bool:
        """Whether a module has a name in the list of what it hands on."""
        if b"__all__" not in (self._modules.text(path) or b""):
            return False
        context = self._modules.context(path, self._elsewhere)
        return context is None or any(
            text.value == name and is_handed_on(context, text) for text in context.index.strings
        )

    def _left(
        self, whole: Whole, path: str, other: str, *, alive: bool
    ) -> tuple[bool, tuple[str, ...]]:
        """Whether nobody comes to a module for the sake of that at `path`; and what tells so."""
        if alive and (
            self._importable.is_lost(whole, other) or self._tries.alone(whole, path, other)
        ):
            return True, ()
        left, told = self.unreached.includes(other)
        return left, (*told, *self._importable.rests_on(whole, other)) if alive else told

    def _taking(self, other: str, live: LiveUses, steps: int) -> frozenset[str] | None:
        """The files that show who comes to where a file takes names from texts; None: nobody."""
        context = self._modules.context(other, self._elsewhere)
        found = takers(context) if context is not None else []
        if context is None or not found:
            return frozenset()
        is_alive = live.any_of(context, found, steps)
        return live.rests_on(context, steps) if is_alive else None

    def is_published(self, path: str) -> tuple[bool, tuple[str, ...]]:
        """Whether others install the project of a file, and may use whatever has a public name in
        it; and the files that this rests on."""
        whole = self._projects.searched(path)
        return (True, ()) if whole is None else self._published.includes(whole, path)

    def may_run(self, path: str) -> bool:
        """Whether the project of a file is small enough to run who calls it, for what they give."""
        return self._projects.of(path) is not None

    def _is_open(self, whole: Whole, path: str) -> tuple[bool, tuple[str, ...]]:
        """Whether a file that nothing in its project uses may yet be for somebody: it is new, or is
        started by hand, or others install it. A module of a program's package is none of these."""
        if os.path.join(os.path.dirname(path), "__init__.py") not in whole.modules:
            return True, whole.folders
        for_others, told = self._published.includes(whole, path)
        return for_others, told or whole.files

    def takes(self, path: str, name: str) -> tuple[bool, tuple[str, ...]]:
        """Whether another file of the project may have a variable of the module at the absolute
        `path`: such a name is a common word, so that only those are looked at that name the
        module; and the files that this rests on."""
        whole = self._projects.searched(path)
        if whole is None:
            return True, ()
        folder, stem = os.path.split(path.removesuffix(".py"))
        own = stem if stem != "__init__" else os.path.basename(folder)
        word = word_of(name)
        for other in self._modules.holding_alone((*whole.modules, *whole.others), word_of(own)):
            data = self._modules.text(other) or b""
            if other == path:
                continue
            if not other.endswith(".py"):
                if not other.endswith(PROSE) and stands_alone(word, data):
                    return True, (other,)
                continue
            if self._taken.takes(other, path, name):
                return True, (other,)
            if b"*" in data or stands_alone(word, data):
                context = self._modules.context(other, self._elsewhere)
                if context is None:
                    return True, (other,)
                if self._takes_variable(context, path, name):
                    return True, (other, *self._live.rests_on(context, _STEPS))
        return False, whole.files

    def _takes_variable(self, context: Context, path: str, name: str) -> bool:
        """Whether a file imports a variable by its name or by a star, or has the module and looks
        at an attribute of that name; and somebody comes to where it does something with that."""
        here = context.source.path
        found: list[ast.expr] = []
        for node in context.index.of(ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                if alias.name in (name, "*") and self._may_be(here, module, path):
                    is_star = alias.name == "*"
                    own = read(context, name if is_star else alias.asname or name)
                    if is_star and not own and not self._elsewhere.is_imported(here):
                        continue  # A program, or a test: nobody has it from there.
                    if is_star or not own:
                        return True  # It may be there for others.
                    found += own
        found += [
            use
            for use in context.index.attributes.get(name, ())
            if (qualified := context.resolve(use.value)) is not None
            and self._may_be(here, qualified, path)
        ]
        return bool(found) and self._live.any_of(context, found, _STEPS)

    def gives(self, path: str, given: Given) -> tuple[bool, tuple[str, ...]]:
        """Whether somebody in the project calls what is asked about, and all who do give the
        parameter: who names it in a text is one more of them. And the files that this rests on. Of
        a project that is too large to be looked through those count who stand beside it."""
        calls, files = self.calls(path, given, self._elsewhere, by_text=False)
        whole = self._projects.searched(path)
        if calls is None and whole is None and self._projects.has_head(path):
            named, files = calls_beside(self._modules, self._elsewhere, path, given.name)
            calls = [
                (one, call) for one, call in named if call.func in self._uses(one, path, given)
            ]
        return bool(calls) and all(gives(where, given, call) for where, call in calls or ()), files

    def setter(self, path: str, attributes: frozenset[str]) -> str | None:
        """A file of the project that sets an attribute of one of these names, of whatever object:
        the objects that the file at `path` makes may be among these. What it sets of `self` itself
        is known."""
        whole = self._projects.searched(path)
        if not attributes or whole is None:
            return None
        names = b"|".join(re.escape(word_of(name)) for name in sorted(attributes))
        stored = rb"\.(?:%s)\s*(?::[^=\n]*)?=(?!=)" % names
        anywhere, of_others = re.compile(stored), re.compile(rb"(?<!\bself)" + stored)
        for other in whole.modules:
            data = self._modules.text(other) or b""
            if not anywhere.search(data):
                continue
            if of_others.search(data) or (other != path and self._may_derive(other, path)):
                return other
        return None

    def _may_derive(self, other: str, path: str) -> bool:
        """Whether a class of another file may be derived from one that the file at `path` defines,
        so that what it sets of `self` is set of such an object."""
        context = self._modules.context(other, self._elsewhere)
        return context is None or any(
            where.source.path == path if klass is not None else self._may_be_of_project(where, base)
            for owner in context.index.of(ast.ClassDef)
            for where, klass, base in line(context, owner)
        )

    def _may_be_of_project(self, context: Context, base: str) -> bool:
        return (
            not base
            or "." in (base[0], base[-1])
            or ("." in base and self._is_of_project(context.source.path, base))
        )

    def is_named(self, path: str, parameter: str) -> bool:
        """Whether anybody in the project gives a parameter by its name, be it in a table, on a
        command line or in a settings file."""
        whole = self._projects.searched(path)
        return whole is None or names_argument(self._modules, whole, parameter)

    def calls(
        self, path: str, given: Given, elsewhere: Elsewhere, *, by_text: bool = True
    ) -> tuple[list[tuple[Context, ast.Call]] | None, tuple[str, ...]]:
        """The calls of what is asked about, each with its file; None where somebody may do more
        with it than call it, or is not seen, those who may call it `by_text` (`eval(name)`) among
        them; and the files that this rests on."""
        whole = self._projects.searched(path)
        if whole is None:
            return None, ()
        files = whole.files
        definer = None if given.method else self._modules.context(path, elsewhere)
        own = own_methods(definer, given.name) if definer is not None else ()
        word = word_of(given.name)
        found: list[tuple[Context, ast.Call]] = []
        users = self._modules.holding_alone(whole.modules, word)
        if len(users) > _MOST_PARSED:
            return None, files
        for other in users:
            unreached, told = self.unreached.includes(other) if other != path else (False, ())
            if unreached:
                continue
            if by_text and other != path and self._taken.takes(other, path, given.name):
                return None, (other, *told)
            context = self._modules.context(other, elsewhere)
            is_other = self._texts.other_owner(whole, path, given.name)
            is_held = None if given.method else partial(self._taken.is_held, whole.modules, path)
            if context is None or has_text(context, given.name, is_other, is_held=is_held):
                return None, files
            for use in self._uses(context, path, given):
                if not self._live.any_of(context, [use], _STEPS):
                    files = (*files, *self._live.rests_on(context, _STEPS))
                    continue
                call = context.index.parents.get(use)
                if isinstance(call, ast.Call) and call.func is use:
                    found.append((context, call))
                elif isinstance(call, ast.Attribute) and call.attr in own:
                    continue  # What that makes of the class is seen there.
                elif not only_asks(context.index, use):
                    return None, (other, *told, *self._live.rests_on(context, _STEPS))
        for other in whole.others:
            if self._texts.tell(whole, other, path, given.name):
                if by_text or not self._texts.gives(other, given):
                    return None, (other,)
        return found, files

    def overrides(
        self, path: str, name: str, method: str, *, is_made: bool
    ) -> tuple[bool, tuple[str, ...]]:
        """Whether all classes of the project that are derived from a class have their own `method`,
        and there are some; where somebody may make an object of it as well (`is_made`), whether
        nobody has another use for it; and the files that this rests on."""
        published, told = self.is_published(path)
        whole = self._projects.searched(path)
        if published or whole is None:
            return False, told
        users = self._modules.holding_alone(whole.modules, word_of(name))
        if len(users) > _MOST_PARSED:
            return False, whole.files
        asked = Given(name, "", None, method=False)
        derived: list[str] = []
        is_other = self._texts.other_owner(whole, path, name)
        for other in users:
            context = self._modules.context(other, self._elsewhere)
            if context is None or (is_made and has_text(context, name, is_other)):
                return False, (other,)
            for use in self._uses(context, path, asked):
                klass = context.index.parents.get(use)
                if isinstance(klass, ast.ClassDef) and use in klass.bases:
                    if not replaces(context, klass, name, method):
                        return False, (other,)
                    derived.append(klass.name)
                elif isinstance(klass, ast.Attribute) and klass.attr == method:
                    return False, (other,)  # `Base.__init__(self)`
                elif is_made and not only_asks(context.index, use):
                    return False, (other,)
        if is_made and any(self._texts.tell(whole, one, path, name) for one in whole.others):
            return False, whole.files
        skips = rb"\bsuper\(\s*(?:%s)\s*," % b"|".join(re.escape(word_of(one)) for one in derived)
        if any(re.search(skips, self._modules.text(one) or b"") for one in whole.modules):
            return False, whole.files
        return bool(derived), whole.files

    def _uses(self, context: Context, path: str, given: Given) -> list[ast.expr]:
        """What in a file may be the function, by its name or as an attribute."""
        here, name, method = context.source.path, given.name, given.method
        found: list[ast.expr] = [
            use
            for use in context.index.attributes.get(name, ())
            if self._may_mean(context, use, path, method=method)
        ]
        if method or (here != path and not self._takes(context, path, name)):
            return found
        found += own_makers(context, name) if here == path else []
        return found + [
            use for use in context.index.names.get(name, ()) if isinstance(use.ctx, ast.Load)
        ]

    def _takes(self, context: Context, path: str, name: str) -> bool:
        """Whether a file may have a name from the one at `path`, and does not define another."""
        bindings = context.names.module.bindings.get(name, ())
        return not bindings or any(
            binding.kind == "import"
            and self._is_from(context.source.path, binding.qualified or "", path)
            for binding in bindings
        )

    def _names_method(
        self, whole: Whole, context: Context, path: str, name: str
    ) -> list[ast.expr] | None:
        """Where a file may have a method of another; None: somebody may look it up by a text."""
        if has_text(context, name, self._texts.other_owner(whole, path, name)):
            return None
        definer = self._modules.context(path, self._elsewhere)
        return [
            use
            for use in context.index.attributes.get(name, ())
            if self._may_mean(context, use, path, method=True)
            and not is_of_own_class(context, use, definer, self._may_be_of_project)
        ]

    def _mentions(
        self, whole: Whole, context: Context, path: str, name: str, *, installed: bool
    ) -> list[ast.expr] | None:
        """Where a file has a function of another; None: wherever it is imported from there. A
        package that only hands it on has no use for it, and who takes it from there is another
        file; but others may, who install that."""
        here = context.source.path
        hands_on = os.path.basename(here) == "__init__.py"
        is_other = self._texts.other_owner(whole, path, name)
        if has_text(
            context,
            name,
            is_other,
            listed=installed or not hands_on,
            is_held=lambda: installed or self._taken.is_held(whole.modules, path),
        ):
            return None
        found: list[ast.expr] = [
            use
            for use in context.index.attributes.get(name, ())
            if self._may_mean(context, use, path, method=False)
        ]
        for bound, binding in context.names.every_binding():
            if binding.kind != "import" or not binding.qualified:
                continue
            if binding.qualified.rpartition(".")[2] == name and (
                self._is_from(here, binding.qualified, path)
            ):
                if hands_on and installed:
                    return None
                found += read(context, bound)
        if name not in context.names.module.bindings:
            found += [
                use
                for use in read(context, name)
                if context.names.owner(name, use) is None
                and ((known := context.resolve(use)) is None or self._is_from(here, known, path))
            ]
        return [use for use in found if not only_asks(context.index, use)]

    def _may_mean(self, context: Context, use: ast.Attribute, path: str, *, method: bool) -> bool:
        """Whether `x.name` may be what is looked for: of a module its function, of an object its
        method. A module that lies in a table (`models[args.model].Model(args)`) is any that the
        project has as a value."""
        here = context.source.path
        qualified = context.resolve(use.value)
        if qualified is None:
            if method or any(
                self._may_be(here, one, path) for one in modules_before(context, use.value)
            ):
                return True
            whole = self._projects.searched(path) if is_looked_up(context, use.value) else None
            return whole is not None and self._taken.is_held(whole.modules, path)
        if method:
            return self._is_of_project(here, qualified) and self._found(here, qualified) is None
        return self._may_be(here, qualified, path)

    def _found(self, here: str, module: str) -> str | None:
        return self._modules.find(here, module)[0]

    def _is_of_project(self, here: str, qualified: str) -> bool:
        """Whether a name that `here` imports comes from a module of the project."""
        while qualified.strip("."):
            if self._found(here, qualified) is not None:
                return True
            head = qualified.rpartition(".")[0]
            qualified = head if head.strip(".") or not qualified.startswith(".") else ""
        return False

    def _is_from(self, here: str, qualified: str, path: str) -> bool:
        body = qualified.lstrip(".")
        module = qualified[: len(qualified) - len(body)] + body.rpartition(".")[0]
        return self._may_be(here, module, path)

    def _may_be(self, here: str, module: str, path: str) -> bool:
        """Whether a module that `here` names may be the file at `path`, or a package that hands on
        what that defines. One that is not found where Python looks first may be found once a
        script was started in its own folder, or has put another on `sys.path`."""
        found = self._found(here, module)
        if found is not None:
            if found == path or found.endswith("__init__.py"):
                return True
            return is_found_from_inside(here, module, path)
        own = path.removesuffix(".py").removesuffix(os.sep + "__init__")
        ending = os.sep + module.lstrip(".").replace(".", os.sep)
        return own.endswith(ending) or os.path.dirname(own).endswith(ending)
