"""Fix the files of a project together, so that each fits what the others become."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from mpslint.checking.checking import internal_error
from mpslint.errors import BadSource, MpslintError
from mpslint.fixing.fixer import MAX_TRIALS, Fixing, Made
from mpslint.fixing.fixing import Planned
from mpslint.halfway.halves import halves, leave, trees_in
from mpslint.halfway.ported_files import ported, untouched
from mpslint.halfway.program_files import ProgramFiles
from mpslint.porting.in_the_way import weighs
from mpslint.porting.judging import Objection
from mpslint.records import NamedTuple
from mpslint.semantics.context import Context
from mpslint.sources.files import spoken_path
from mpslint.sources.opening import open_source
from mpslint.sources.screening import names_in
from mpslint.together.along import along, casts_late, led_by
from mpslint.together.asked import off_on_macs, takes_mps
from mpslint.together.becoming import Becoming
from mpslint.together.beside import Beside
from mpslint.together.kept_runs import KeptRuns
from mpslint.together.shared_helper import Selecting, selecting

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mpslint.findings.results import FileResult
    from mpslint.fixing.blame import Barred
    from mpslint.fixing.fixer import Hidden
    from mpslint.project.project import Project
    from mpslint.semantics.elsewhere.elsewhere import Elsewhere
    from mpslint.settings.settings import Settings
    from mpslint.sources.source import SourceFile


Sharing = Callable[[Mapping[str, Selecting]], Mapping[str, "Settings"]]


class Job(NamedTuple):
    """A file that is fixed with others, or that uses what they define."""

    path: str
    data: bytes
    settings: Settings
    hidden: Hidden = frozenset()


class _Unopposed(NamedTuple):
    """What was judged when nothing spoke against it."""

    fixing: Fixing
    elsewhere: Elsewhere | None
    made: Made
    asked: Mapping[str, bytes | None]
    """The files that were looked into, and what they had become."""

    def holds(self, fixing: Fixing, made: Made, texts: Mapping[str, bytes]) -> bool:
        return (
            self.fixing is fixing
            and self.elsewhere is fixing.elsewhere
            and self.made is made
            and all(texts.get(path) == text for path, text in self.asked.items())
        )


class Together:
    """Files of a project that are fixed together: each is judged among the others as they
    become."""

    def __init__(self, project_of: Callable[[Settings, dict[str, bytes]], Project]) -> None:
        """`project_of` gives the project of settings with these texts in place of files."""
        self._project_of = project_of
        self._jobs: dict[str, Job] = {}
        self._sources: dict[str, SourceFile] = {}
        self._fixing: dict[str, Fixing] = {}
        self._made: dict[str, Made] = {}
        self._failed: dict[str, str] = {}
        self._watched: set[str] = set()
        self._fixable: set[str] = set()
        """Those of them that are fixed where others bring something about in them."""
        self._starting: list[Job] = []
        self._untouched: dict[str, FileResult] = {}
        self._unopposed: dict[str, _Unopposed] = {}
        self._becoming = Becoming(project_of)
        self._kept = KeptRuns()
        self._rests: dict[str, frozenset[str]] = {}
        """The other files on which it rests what the analysis says of a file as it is."""
        self._late: dict[str, bool] = {}
        """By file whether it casts what it has moved."""
        self._halves: set[str] = set()
        """Reasons that hold for the fixes on one way, and not for all of their files."""

    def add(self, job: Job) -> None:
        """A file to fix."""

        self._add(job, Fixing.to_fixed_point)

    def watch(self, job: Job, found: FileResult, *, fixable: bool = False) -> None:
        """A file that is judged with the others, and what is found in it. It is not fixed, but
        where it is `fixable` and what the others become brings something about in it."""
        self._watched.add(job.path)
        if fixable:
            self._fixable.add(job.path)
        self._add(job, lambda fixing: fixing.unfixed(found.findings, found.untold))

    def _add(self, job: Job, made: Callable[[Fixing], Made]) -> None:
        def first() -> None:
            source = open_source(job.path, job.data)
            project = self._project_of(job.settings, {})
            fixing = Fixing(source, job.settings, project, job.hidden)
            self._made[job.path] = made(fixing)
            self._jobs[job.path] = job
            self._sources[job.path] = source
            self._fixing[job.path] = fixing

        self._guarded(job.path, first)

    def leaves(self, found: FileResult) -> None:
        """A file that is not fixed, and what is found in it."""
        self._untouched[found.path] = found

    def doubt(self, doubts: Mapping[str, Barred]) -> None:
        """Lets fixes of files that were added be unsafe."""
        for path, barred in doubts.items():
            if path in self._fixing and barred:
                self._fixing[path].leave(barred)
                self._guarded(path, lambda path=path: self._make(path))  # type: ignore[misc]

    def starts(self, job: Job) -> None:
        """A file that uses others, and does nothing by itself that could be judged."""
        self._starting.append(job)

    @property
    def modules(self) -> frozenset[bytes]:
        """The names by which others would import what changes."""
        return frozenset(_module(path) for path, made in self._made.items() if made.applied)

    def planned(self, *, unsafe: bool, sharing: Sharing | None = None) -> dict[str, Planned | str]:
        """What becomes of each file, or the line that says why it cannot be fixed. `sharing` tells
        of those into which a selection was written the settings under which they share one."""
        self._settle_all()
        for _ in range(MAX_TRIALS):
            if not self._take_up_what_follows(unsafe=unsafe):
                break
            self._settle()
        self._kept.release()
        if sharing is not None:
            self._share(sharing(self._selecting(unsafe=unsafe)))
        found: dict[str, Planned | str] = dict(self._failed)
        around = self._around()
        for path, job in self._jobs.items():
            if path in self._watched:
                continue

            def last(path: str = path, job: Job = job) -> None:
                made, project = self._made[path], around[job.settings]
                result = self._fixing[path].result(made, project, unsafe=unsafe)
                found[path] = Planned(path, self._sources[path], result)

            self._guarded(path, last)
        found.update(self._failed)
        return found

    def settle(self) -> dict[str, Barred]:
        """Finds fixes that nothing speaks against; gives those of each file that are not safe."""
        self._settle_all()
        self._kept.release()
        return {path: fixing.barred for path, fixing in self._fixing.items()}

    def _settle_all(self) -> None:
        self._leave_what_never_asks()
        self._settle()
        if self._try_what_was_doubted():
            self._settle()

    def _selecting(self, *, unsafe: bool) -> dict[str, Selecting]:
        """The files into which a selection of the device was written, or will be, as they were."""
        found: dict[str, Selecting] = {}
        for path, job in self._jobs.items():

            def look(path: str = path, job: Job = job) -> None:
                lasts = unsafe and path not in self._watched
                made = self._fixing[path].to_last_point() if lasts else self._made[path]
                one = selecting(made, self._sources[path], job.settings)
                if one is not None:
                    found[path] = one

            self._guarded(path, look)
        return found

    def _share(self, sharing: Mapping[str, Settings]) -> None:
        """Makes files again that are settled, under settings by which they share a helper. What
        was found out about their fixes holds on: they do the same, and other files are judged
        again only where something speaks against one of them all the same."""
        for path, settings in sharing.items():
            self._jobs[path] = self._jobs[path]._replace(settings=settings)
            self._fixing[path] = self._fixing[path].under(settings, self._project_of(settings, {}))
            self._guarded(path, lambda path=path: self._make(path))  # type: ignore[misc]
        if sharing and self._remade(sharing):
            self._settle()

    def _settle(self) -> None:
        for _ in range(MAX_TRIALS):
            if not (self._remade() or self._cast_first_on_ways() or self._leave_half_ports()):
                break

    def _cast_first_on_ways(self) -> bool:
        """Lets files that cast too late cast first as long as others of their programs bring
        tensors to MPS; whether that is now otherwise for one."""
        for path, job in self._jobs.items():
            if path not in self._late:
                project = self._project_of(job.settings, {})
                self._late[path] = casts_late(path, job.data, project)
        kept = self._watched - self._fixable
        late = [path for path, is_there in self._late.items() if is_there and path not in kept]
        again = {
            path: goes
            for path, goes in along(late, self._made, self._programs).items()
            if self._fixing[path].for_port != goes
        }
        for path, goes in again.items():
            self._fixing[path].for_port = goes
            self._guarded(path, lambda path=path: self._make(path))  # type: ignore[misc]
            if self._made[path].applied:
                self._watched.discard(path)
        return bool(again)

    def _programs(self) -> Iterator[frozenset[str]]:
        jobs = (*self._jobs.values(), *self._starting)
        yield from (self._led_by(job)[1] for job in jobs)
        yield from led_by(self._untouched, self._project_of(jobs[0].settings, {}))

    def _try_what_was_doubted(self) -> bool:
        """Makes the files again that other files spoke against, as these have become; whether more
        is fixed so. A run that left that to the next one would not be done."""
        around, more = self._around(), False
        for path, job in self._jobs.items():
            made, project = self._made[path], around[job.settings]
            if path in self._watched or not any(one.reason for one in made.findings):
                continue
            if any(other.applied for name, other in self._made.items() if name != path):
                self._fixing[path].elsewhere = project
                self._guarded(path, lambda path=path: self._make(path))  # type: ignore[misc]
                more = more or len(self._made[path].applied) > len(made.applied)
        return more

    def _take_up_what_follows(self, *, unsafe: bool) -> bool:
        """Makes the fixes that are there only since other files of the run became what they are;
        whether there are some. A run that left them to the next one would not be done."""
        texts, around, more = self._texts(), self._around(), False
        for path, job in self._jobs.items() if texts else ():
            if path in self._watched - self._fixable:
                continue

            def take(path: str = path, job: Job = job) -> None:
                nonlocal more
                if not self._knows_none(path, texts):
                    self._kept.require(path, around[job.settings].runs_let_go)
                    made = self._fixing[path].following(
                        self._made[path], around[job.settings], unsafe=unsafe
                    )
                    if made is not None:
                        self._made[path], more = made, True
                        self._watched.discard(path)

            self._guarded(path, take)
        return more

    def _remade(self, paths: Iterable[str] | None = None) -> bool:
        """Judges files, all without `paths`; whether some must be fixed in another way."""
        around = self._around()
        again: set[str] = set()
        for path in self._jobs if paths is None else paths:
            job = self._jobs[path]

            def judge(path: str = path, job: Job = job) -> None:
                project, made = around[job.settings], self._made[path]
                against = self._against(path, project)
                if not against:
                    known = [
                        Objection(one.reason, frozenset(), one.row, on_mac=True)
                        for one in (*made.findings, *made.untold)
                        if one.reason and one.reason not in self._halves and weighs(one)
                    ]
                    again.update(self._left_alone_with(path, project, known))
                    return
                if self._fixing[path].bar(made, against):
                    again.add(path)
                    far = [one._replace(row=0) for one in against]
                    again.update(self._left_alone_with(path, project, far))
                    return
                for other in self._changed_among(
                    consulted.path for consulted in project.consulted()
                ):
                    if self._fixing[other].bar(self._made[other], _from_afar(path, against)):
                        again.add(other)

            self._guarded(path, judge)
        for path in again:
            self._guarded(path, lambda path=path: self._make(path))  # type: ignore[misc]
        return bool(again)

    def _against(self, path: str, project: Project) -> list[Objection]:
        """What speaks against the fixes of a file among the others as they become. Where nothing
        did, and none of the files that this rests on is another since, nothing does."""
        fixing, made = self._fixing[path], self._made[path]
        texts = self._texts()
        known = self._unopposed.get(path)
        if known is not None and known.holds(fixing, made, texts):
            return []
        if not made.applied and self._is_apart(path, texts):
            return []
        project.consulted()
        is_followed = path not in self._watched - self._fixable and self._kept.has_room(made.source)
        against = fixing.judged(made, project, together=True, again=is_followed)
        if is_followed:
            self._kept.note(path, fixing.runs, project.runs_let_go)
        if not against:
            asked = {one.path: texts.get(one.path) for one in project.consulted()}
            self._unopposed[path] = _Unopposed(fixing, fixing.elsewhere, made, asked)
        return against

    def _knows_none(self, path: str, texts: Mapping[str, bytes]) -> bool:
        """Whether a file asks nothing of the others that change."""
        if self._made[path].applied:
            others = [other for other in self._changed_among(texts) if other != path]
            judged = self._unopposed.get(path)
            if judged is not None and judged.asked.keys().isdisjoint(map(os.path.abspath, others)):
                return True
            return names_in(self._jobs[path].data).isdisjoint(map(_module, others))
        return self._is_apart(path, texts)

    def _is_apart(self, path: str, texts: Mapping[str, bytes]) -> bool:
        """Whether what the analysis says of a file that stays as it is rests on none of these
        texts: it says the same of it among them."""
        fixing, known = self._fixing[path], self._project_of(self._jobs[path].settings, {})
        if fixing.elsewhere is not known:
            return False
        if path not in self._rests:
            made = self._made[path]
            heard = known.overheard(lambda: fixing.said_before(made))[1]
            self._rests[path] = frozenset(known.files_of(heard))
        return self._rests[path].isdisjoint(texts)

    def _leave_what_never_asks(self) -> None:
        """Leaves files on the CPU that would go to MPS in programs of which another file does so
        only where its user wants CUDA."""
        opening = {path for path, made in self._made.items() if self._fixing[path].opens(made)}
        if not opening:
            return
        programs = [self._led_by(job) for job in (*self._jobs.values(), *self._starting)]
        asking: dict[str, str] = {}
        for path in [path for path in self._made if path in opening]:
            beside = self._beside_in(programs, path)
            if not beside or not self._takes_mps(path, self._made[path]):
                continue
            for other in beside:
                if other not in asking:
                    asking[other] = self._asks(other)
                if asking[other]:
                    against = Objection(
                        asking[other], frozenset(), 0, on_mac=True, is_far=True, is_opening=True
                    )
                    if self._fixing[path].bar(self._made[path], [against]):
                        self._guarded(path, lambda path=path: self._make(path))  # type: ignore[misc]
                    break

    def _beside_in(self, programs: Sequence[tuple[str, frozenset[str]]], path: str) -> list[str]:
        """The files that are in one program with another, which does not start it."""
        own = os.path.abspath(path)
        files = [files for first, files in programs if own in files and first != own]
        around = frozenset[str]().union(*files) - {own}
        return [one for one in self._jobs if os.path.abspath(one) in around]

    def _leave_half_ports(self) -> bool:
        """Leaves fixes on whose way something is left that no fix mends; whether there are some."""
        if not any(self._fixing[path].opened(made) for path, made in self._made.items()):
            return False
        project = next(iter(self._around().values()))

        files = {
            os.path.abspath(path): ported(
                self._sources[path],
                self._made[path],
                self._fixing[path].opened(self._made[path]),
                trees_in(project),
            )
            for path in self._jobs
        }
        for path, found in self._untouched.items():
            own = os.path.abspath(path)
            files.setdefault(own, untouched(path, found.findings, found.untold))
        starting = dict.fromkeys([*map(os.path.abspath, self._untouched), *files])
        doubted = halves(files, ProgramFiles(lambda _: project, starting), starting)
        again = [path for path in self._jobs if os.path.abspath(path) in doubted]
        for path in again:
            doubts = doubted[os.path.abspath(path)]
            self._halves.update(one.reason for one in doubts.values())
            leave(self._fixing[path], doubts)
            self._guarded(path, lambda path=path: self._make(path))  # type: ignore[misc]
        return bool(again)

    def _takes_mps(self, path: str, made: Made) -> bool:
        project = self._project_of(self._jobs[path].settings, {})
        source = made.source
        context = Context(source, project.tree(source), self._jobs[path].settings, project)
        found = takes_mps(context)
        context.worlds.release()
        return found

    def _asks(self, path: str) -> str:
        """Why a Mac runs this file on the CPU alone; empty: it does not."""
        source, settings = self._sources[path], self._jobs[path].settings
        if b"cuda" not in self._jobs[path].data:
            return ""
        project = self._project_of(settings, {})
        context = Context(source, project.tree(source), settings, project)
        node = off_on_macs(context)
        context.worlds.release()
        if node is None:
            return ""
        name = spoken_path(path)
        return f"{name}, {context.line(node)}: who runs that on a Mac has its GPU switched off"

    def _led_by(self, job: Job) -> tuple[str, frozenset[str]]:
        """A file, and all files of a program that starts with it."""
        project, path = self._project_of(job.settings, {}), os.path.abspath(job.path)
        return path, frozenset((*project.led_to(path, job.data.decode("utf-8", "replace")), path))

    def _left_alone_with(
        self, path: str, project: Project, against: Sequence[Objection]
    ) -> list[str]:
        """Files that import this one, or that it imports, go along: a program of which a part stays
        on the CPU is worse than one that is left as it is. Not who never comes to that row."""
        harms = _from_afar(path, [one for one in against if one.on_mac])
        if not harms:
            return []
        beside, found = Beside(self._jobs, project), []
        for other, made in self._made.items():
            if other == path or not made.applied:
                continue
            meant = [one for one in harms if beside.comes_to(other, path, one.row)]
            if beside.are(path, other) and self._fixing[other].bar(made, meant):
                found.append(other)
        return found

    def _make(self, path: str) -> None:
        self._made[path] = self._fixing[path].to_fixed_point()

    def _changed_among(self, paths: Iterable[str]) -> list[str]:
        known = {os.path.abspath(path): path for path, made in self._made.items() if made.applied}
        return [known[path] for path in dict.fromkeys(paths) if path in known]

    def _around(self) -> Mapping[Settings, Project]:
        """The projects with all files as they become."""
        used = {job.settings for job in self._jobs.values()}
        lasting = [fixing.elsewhere for fixing in self._fixing.values()]
        return self._becoming.around(self._texts(), used, lasting)

    def _texts(self) -> dict[str, bytes]:
        """The modules that become others, by absolute path."""
        return {
            os.path.abspath(path): made.source.data
            for path, made in self._made.items()
            if made.applied and path.endswith(".py")
        }

    def _guarded(self, path: str, step: Callable[[], None]) -> None:
        if path in self._failed:
            return
        try:
            step()
        except BadSource as error:
            self._failed[path] = str(error)
        except MpslintError:
            raise
        except Exception as error:
            self._failed[path] = internal_error(path, error)


def _module(path: str) -> bytes:
    """The name by which others would import a file."""
    stem = os.path.splitext(os.path.abspath(path))[0].removesuffix("__init__")
    return os.fsencode(os.path.basename(stem.rstrip(os.sep)))


def _from_afar(path: str, against: Sequence[Objection]) -> list[Objection]:
    """Objections of another file: which fix brings it about is not known."""
    name = spoken_path(path)
    return [
        one._replace(reason=f"{name}, {one.reason}", causes=frozenset(), is_far=True)
        for one in against
    ]
