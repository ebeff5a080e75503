"""What was found in a text, and what was worked out of it, is not worked out again."""

import ast
from collections import Counter
from pathlib import Path

import pytest

from mpslint.checking.linter import Linted, linted
from mpslint.fixing import fixer
from mpslint.fixing.fixer import Fixing, fix_source
from mpslint.fixing.shared_runs import _AsItWas, _Judged
from mpslint.model import Applicability, Edit, Finding, Fix, Severity
from mpslint.porting.judging import Before, Text
from mpslint.project.project import Project
from mpslint.semantics.context import Context
from mpslint.semantics.worlds.harm import harms, told_cuda
from mpslint.semantics.worlds.interpreter import Interpreter
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile
from mpslint.together import together
from mpslint.together.shared_helper import Selecting, shared
from mpslint.together.together import Job, Together
from mpslint.together.withheld import Projects

DEVICE = 'device = "cuda" if torch.cuda.is_available() else "cpu"'
MOVED = f"import torch\n\n{DEVICE}\nnet = torch.nn.Linear(2, 2).to(device)\n"
PROGRAM = f"{MOVED}print(net)\n"
STEPS = """import torch


def main(net, loader):
    torch.cuda.manual_seed(1)
    net = net.cuda()
    for x, y in loader:
        x, y = x.cuda(), y.cuda()
        loss = net(x.double()).sum()
        print(loss.item())
        torch.cuda.synchronize()


if __name__ == "__main__":
    main(torch.nn.Linear(2, 2), [])
"""
LOADED = MOVED + 'state = torch.load("net.pt")\nnet.load_state_dict(state)\n'


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that are looked at, in order."""
    seen: list[str] = []

    def look(source: SourceFile, *args: object, **kwargs: object) -> Linted:
        seen.append(source.text)
        return linted(source, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(fixer, "linted", look)
    return seen


def test_a_file_that_is_fixed_again_is_not_looked_at_again(looks: list[str]) -> None:
    fixing = Fixing(SourceFile.from_text(MOVED), Settings(), None, frozenset())
    first = fixing.to_fixed_point()
    before = len(looks)
    assert fixing.to_fixed_point().source.text == first.source.text != MOVED
    assert len(looks) == before


def test_a_text_that_a_port_makes_is_looked_at_once_where_the_port_asks_for_no_more(
    looks: list[str],
) -> None:
    fixed = fix_source(SourceFile.from_text(MOVED), Settings())
    assert looks == [MOVED, fixed.text]


def test_what_only_a_port_asks_for_is_fixed_beside_it() -> None:
    fixed = fix_source(SourceFile.from_text(LOADED), Settings())
    assert {one.code for one in fixed.applied} == {"MPS103", "MPS413"}


def test_among_other_files_a_text_is_looked_at_anew(looks: list[str], tmp_path: Path) -> None:
    source = SourceFile(str(tmp_path / "net.py"), MOVED.encode())
    fixing = Fixing(source, Settings(), Project(Settings()), frozenset())
    fixing.to_fixed_point()
    before = len(looks)
    fixing.elsewhere = Project(Settings(), {str(tmp_path / "other.py"): b"import torch\n"})
    fixing.to_fixed_point()
    assert len(looks) == 2 * before


def test_a_doubt_that_another_one_replaces_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def look(*_: object, **__: object) -> Linted:
        change = Edit(0, 3, "new", "old")
        fix = Fix("replace", (change,), Applicability.SAFE)
        place = (1, 1, 1, 4)
        return Linted([Finding("MPS201", "rule", "what", Severity.SLOW, *place, fix=fix)], [])

    monkeypatch.setattr(fixer, "linted", look)
    fixing = Fixing(SourceFile.from_text("old = 1\n"), Settings(), None, frozenset())
    fixing.leave({("MPS201", 0): "the first reason"})
    fixing.to_fixed_point()
    fixing.leave({("MPS201", 0): "the second reason"})
    (left,) = fixing.to_fixed_point().findings
    assert left.fix is not None
    assert left.fix.message == "replace (the second reason)"


def test_a_fixed_text_is_analysed_once_to_be_judged(monkeypatch: pytest.MonkeyPatch) -> None:
    fixing = Fixing(SourceFile.from_text(MOVED), Settings(), None, frozenset())
    made = fixing.to_fixed_point()
    analysed: list[str] = []
    context = Text.context

    def noted(text: Text, settings: Settings) -> Context:
        analysed.append(text.source.text)
        return context(text, settings)

    monkeypatch.setattr(Text, "context", noted)
    assert fixing.judged(made, None) == []
    assert analysed == [made.source.text]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The texts of files that are run in all worlds, in order."""
    seen: list[bytes] = []
    whole = Interpreter.run

    def noted(interpreter: Interpreter) -> None:
        seen.append(interpreter._text)
        whole(interpreter)

    monkeypatch.setattr(Interpreter, "run", noted)
    return seen


def test_the_run_that_rules_ask_says_what_fixes_are_compared_with(run: list[bytes]) -> None:
    fixed = fix_source(SourceFile.from_text(MOVED), Settings())
    assert Counter(run) == {MOVED.encode(): 1, fixed.text.encode(): 2}


def test_what_is_heard_beside_the_rules_is_what_is_said_of_a_text() -> None:
    source = SourceFile.from_text(STEPS)
    heard = _AsItWas(Settings(), None)
    linted(source, Settings(), sharing=heard)
    assert heard.said == Before(Text(source, [], None)).said(Settings())
    assert heard.said.on_cuda["main"]


def test_rules_find_the_same_by_the_run_of_a_text_that_was_judged() -> None:
    source = SourceFile.from_text(STEPS)
    context = Text(source, [], None).context(Settings())
    list(harms(context.worlds))
    told_cuda(context.worlds, context.index, lambda _: False)
    judged = _Judged(context)
    shared_one = linted(source, Settings(), context.tree, sharing=judged)
    alone = linted(source, Settings())
    assert repr(shared_one.told) == repr(alone.told) != "[]"


def test_a_file_that_was_judged_among_others_is_run_once_more_for_each_state_of_them(
    run: list[bytes], tmp_path: Path
) -> None:
    program = f"import net\n{MOVED}print(net.net, net)\n"
    settings = Settings(root=str(tmp_path))
    files = Together(Project)
    for name, text in {"net.py": MOVED, "program.py": program}.items():
        (tmp_path / name).write_text(text)
    for name, text in {"net.py": MOVED, "program.py": program}.items():
        files.add(Job(str(tmp_path / name), text.encode(), settings))
    planned = files.planned(unsafe=False)
    assert not isinstance(made := planned[str(tmp_path / "program.py")], str)
    # Once to be fixed and once among the others, where it is judged and then looked at.
    assert run.count(made.after) == 2


@pytest.mark.parametrize("leads", [True, False])
def test_a_file_is_asked_for_switches_only_of_the_programs_of_others(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, leads: bool
) -> None:
    asked: list[str] = []

    def note(context: Context) -> None:
        asked.append(Path(context.source.path).name)

    monkeypatch.setattr(together, "off_on_macs", note)
    texts = {"net.py": MOVED, "train.py": f"import net\n{MOVED}" if leads else MOVED}
    settings = Settings(root=str(tmp_path))
    files = Together(Project)
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    for name, text in texts.items():
        files.add(Job(str(tmp_path / name), text.encode(), settings))
    files.planned(unsafe=False)
    assert asked == (["train.py"] if leads else [])


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each file is parsed as it is."""
    seen: Counter[str] = Counter()
    parse = SourceFile.parse

    def noted(source: SourceFile) -> ast.Module:
        seen[Path(source.path).name] += 1
        return parse(source)

    monkeypatch.setattr(SourceFile, "parse", noted)
    return seen


def test_who_imports_files_that_share_a_helper_is_parsed_once_for_all(
    parsed: Counter[str], tmp_path: Path
) -> None:
    names = ["one", "two", "six"]
    for name in names:
        (tmp_path / f"{name}.py").write_text(MOVED)
    program = "".join(f"import {name}\n" for name in names)
    (tmp_path / "program.py").write_text(program)
    settings = Settings(root=str(tmp_path))
    selecting = {
        str(tmp_path / f"{name}.py"): Selecting(
            SourceFile(str(tmp_path / f"{name}.py"), MOVED.encode()),
            settings,
            is_new=True,
            is_repeated=False,
        )
        for name in names
    }
    assert len(shared(selecting, Project)) == len(names)
    assert parsed["program.py"] == 1


def test_helpers_of_several_folders_are_made_in_the_order_of_their_names(tmp_path: Path) -> None:
    settings, selecting = Settings(root=str(tmp_path)), {}
    folders = ["a", "b", "c", "d", "e", "f"]
    for place in (f"{folder}/{name}.py" for folder in folders for name in ("one", "two")):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_text(PROGRAM)
        source = SourceFile(str(tmp_path / place), PROGRAM.encode())
        selecting[source.path] = Selecting(source, settings, is_new=True, is_repeated=False)
    made = dict.fromkeys(one.helper_module for one in shared(selecting, Project).values())
    assert [Path(str(one)).parent.name for one in made] == folders


def test_a_tree_is_kept_for_the_projects_of_all_settings() -> None:
    projects = Projects()
    one, other = projects.of(Settings()), projects.of(Settings(style="helper"))
    assert one is not other
    assert one.modules.trees is other.modules.trees
