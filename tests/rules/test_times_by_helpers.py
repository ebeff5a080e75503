"""Times that a helper takes of what it is handed, by whatever clock, are those of queueing."""

from __future__ import annotations

import pytest

from mpslint.checking.linter import lint
from mpslint.settings.settings import Settings
from mpslint.sources.source import SourceFile

HEADER = """\
import contextlib, datetime, time, timeit
import torch

device = torch.device("mps" if torch.backends.mps.is_available() else "cpu")
net = torch.nn.Linear(9, 9).to(device)
x = torch.rand(8, 9, device=device)
"""
NOW = """\
def now():
    {wait}
    return time.perf_counter()

start = now()
{work}
print(now() - start)
"""
MEASURE = """\
def measure(f, *a):
    start = time.perf_counter()
    f(*a)
    {wait}
    return time.perf_counter() - start
"""
DECORATOR = """\
def timed(f):
    def wrapper(*a):
        start = time.perf_counter()
        result = f(*a)
        {wait}
        print(time.perf_counter() - start)
        return result
    return wrapper

@timed
def run(x):
    return {work}

run(x)
"""
OBJECT = """\
class Timer:
    def __enter__(self):
        self.start = time.perf_counter()
    def __exit__(self, *a):
        {wait}
        print(time.perf_counter() - self.start)

with Timer():
    {work}
"""
MANAGER = """\
@contextlib.contextmanager
def timed():
    start = time.perf_counter()
    yield
    {wait}
    print(time.perf_counter() - start)

with timed():
    {work}
"""
OF_DAYS = """\
start = datetime.datetime.now()
{work}
{wait}
print(datetime.datetime.now() - start)
"""
IN_TABLE = """\
times = {{}}
times["start"] = time.time()
{work}
{wait}
times["end"] = time.time()
print(times["end"] - times["start"])
"""
FORMS = (DECORATOR, OBJECT, MANAGER, OF_DAYS, IN_TABLE)
WAIT = "torch.mps.synchronize()"


def is_told(program: str) -> bool:
    source = SourceFile("program.py", (HEADER + program).encode())
    return bool(list(lint(source, Settings(select=("MPS601",)))))


@pytest.mark.parametrize("form", FORMS)
def test_a_helper_that_waits_for_nothing_reads_its_clock_too_early(form: str) -> None:
    assert is_told(form.format(work="net(x)", wait="pass"))


@pytest.mark.parametrize("form", FORMS)
def test_a_helper_that_waits_or_what_waits_itself_is_told_nothing(form: str) -> None:
    assert not is_told(form.format(work="net(x)", wait=WAIT))
    assert not is_told(form.format(work="net(x).cpu()", wait="pass"))
    assert not is_told(form.format(work="sorted([1])", wait="pass"))


def test_a_function_that_hands_back_the_clock_is_a_clock() -> None:
    assert is_told(NOW.format(work="net(x)", wait='"""The time."""'))
    assert not is_told(NOW.format(work="net(x)", wait=WAIT))
    assert not is_told(NOW.format(work="net(x).cpu()", wait='"""The time."""'))


@pytest.mark.parametrize("given", ["net, x", "lambda: net(x)", "f=net"])
def test_what_all_callers_hand_over_to_be_measured_is_only_queued(given: str) -> None:
    assert is_told(MEASURE.format(wait="pass") + f"print(measure({given}))\n")
    assert not is_told(MEASURE.format(wait=WAIT) + f"print(measure({given}))\n")


@pytest.mark.parametrize("given", ["sorted, [1]", "lambda: net(x).cpu()", "unknown"])
def test_where_one_caller_hands_over_something_else_nobody_knows(given: str) -> None:
    program = MEASURE.format(wait="pass") + f"print(measure({given}))\n"
    assert not is_told(program)
    assert not is_told(program + "print(measure(net, x))\n")


@pytest.mark.parametrize("named", ["", "stmt="])
def test_timeit_of_what_only_queues_is_told(named: str) -> None:
    assert is_told(f"print(timeit.timeit({named}lambda: x @ x.T, number=100))\n")
    assert not is_told(f"print(timeit.timeit({named}lambda: (x @ x.T).cpu(), number=100))\n")
    assert not is_told(f"print(timeit.timeit({named}lambda: sorted([1]), number=100))\n")


@pytest.mark.parametrize("parameters", ["f", "f, /"])
def test_a_decorator_that_calls_what_it_is_given_measures_it(parameters: str) -> None:
    decorated = MEASURE.replace("f, *a", parameters).replace("*a", "x")
    work = "@measure\ndef step(x):\n    return net(x)\n"
    assert is_told(decorated.format(wait="pass") + work)
    assert not is_told(decorated.format(wait=WAIT) + work)
    assert not is_told(decorated.format(wait="pass") + work.replace("net(x)", "net(x).cpu()"))


@pytest.mark.parametrize("parameters", ["*, f=sorted", "n, f=sorted"])
def test_a_decorator_that_calls_something_else_than_what_it_is_given_is_not_known(
    parameters: str,
) -> None:
    decorated = MEASURE.replace("f, *a", parameters).replace("*a", "x")
    work = "@measure\ndef step(x):\n    return net(x)\n"
    assert not is_told(decorated.format(wait="pass") + work)


def test_a_measuring_function_that_only_an_annotation_names_measures_nothing_there() -> None:
    alone = MEASURE.replace("f, *a", "f").replace("*a", "x").format(wait="pass")
    assert not is_told(alone + "def step(x) -> measure:\n    return net(x)\n")
    assert is_told(alone + "print(measure(net))\n")
