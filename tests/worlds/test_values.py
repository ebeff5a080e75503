"""Values: atoms that hold in some worlds, and what joins, picks, lifts, packs and ports them."""

from __future__ import annotations

import ast
from functools import reduce
from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mpslint.semantics.worlds.joining import join, parted, pick, port
from mpslint.semantics.worlds.machines import (
    ALL,
    CPU,
    CUDA,
    GPUS,
    MAC,
    MACHINES,
    NVIDIA,
    PORTED,
    SWITCH,
)
from mpslint.semantics.worlds.values import (
    BOT,
    CONST,
    DEVICE,
    FALSE,
    HOST,
    MODULE,
    NAME,
    NO_TESTS,
    NONE,
    SOME,
    TENSOR,
    TRUE,
    UNK,
    UNKNOWN,
    Atom,
    Cases,
    Value,
    by_world,
    cases_of,
    device,
    lift,
    negated,
    one,
    pack,
    places,
    restrict,
    same,
    tensor,
    truth,
    where,
)
from mpslint.semantics.worlds.values import tested as hanging_on

from .conftest import by_machine

PLACES = [ast.Name(id=name) for name in ("first", "second", "third")]
TESTS = [ast.Name(id=name) for name in ("ask", "ask_again")]
repeatable = settings(derandomize=True, deadline=None, max_examples=120, database=None)


def devices() -> st.SearchStrategy[Atom]:
    return st.builds(
        Atom,
        st.just(DEVICE),
        st.sampled_from(["cuda", "mps", "cpu", "?"]),
        st.sampled_from([None, *PLACES]),
        st.frozensets(st.sampled_from(TESTS)),
        st.booleans(),
    )


def placed() -> st.SearchStrategy[Atom]:
    return st.builds(
        Atom,
        st.sampled_from([TENSOR, MODULE]),
        st.tuples(
            st.sampled_from(["cuda", "mps", "cpu", "?"]),
            st.sampled_from([None, "float32", "float64"]),
        ),
    )


def others() -> st.SearchStrategy[Atom]:
    return st.sampled_from(
        [
            UNK,
            NONE,
            TRUE,
            FALSE,
            Atom(HOST),
            Atom(CONST, 0),
            Atom(CONST, 1),
            Atom(CONST, "gloo", maybe=True),
            Atom(SOME, 2),
            Atom(NAME, "torch.cuda.synchronize"),
            Atom(UNKNOWN, symbol=("options", "cuda")),
        ]
    )


atoms = st.one_of(devices(), placed(), others())
sets = st.integers(0, ALL)
machine_sets = st.lists(st.sampled_from(MACHINES), unique=True).map(sum)


@st.composite
def values(draw: st.DrawFn) -> Value:
    """A value: an atom, or several over disjoint sets of worlds."""
    rest, cases = ALL, []
    for atom in draw(st.lists(st.one_of(atoms, st.just(BOT)), min_size=1, max_size=4)):
        mask = draw(sets) & rest
        cases.append((mask, atom))
        rest &= ~mask
    cases.append((rest, draw(atoms)))
    return pack(cases)


def in_each_world(value: Value) -> list[Atom]:
    return [one(value, 1 << bit) for bit in range(ALL.bit_length())]


def is_partition(value: Value) -> bool:
    if isinstance(value, Atom):
        return True
    seen = 0
    for worlds, _ in value.cases:
        if not worlds or worlds & seen:
            return False
        seen |= worlds
    return seen == ALL


def gist(atom: Atom) -> tuple[object, ...]:
    """An atom without where it was written, and what decided it as a set."""
    return atom.kind, atom.v, atom.maybe, atom.made, atom.tests, frozenset(places(atom))


# pack


@repeatable
@given(values())
def test_a_packed_value_covers_all_worlds_and_each_once(value: Value) -> None:
    assert is_partition(value)


@repeatable
@given(st.lists(st.tuples(sets, atoms), max_size=5))
def test_packing_keeps_what_each_world_had(parts: list[tuple[int, Atom]]) -> None:
    rest, disjoint = ALL, []
    for mask, atom in parts:
        disjoint.append((mask & rest, atom))
        rest &= ~mask
    packed = pack(disjoint)
    for mask, atom in disjoint:
        for _, got in cases_of(packed, mask):
            assert same(got, atom)
    for _, got in cases_of(packed, rest):
        assert got is BOT


def test_equal_atoms_are_packed_into_one() -> None:
    assert isinstance(pack([(NVIDIA, device("cpu")), (ALL & ~NVIDIA, device("cpu"))]), Atom)


def test_one_and_true_are_not_the_same_constant() -> None:
    assert isinstance(pack([(NVIDIA, Atom(CONST, 1)), (ALL & ~NVIDIA, TRUE)]), Cases)


def test_worlds_without_a_case_have_no_value() -> None:
    assert one(pack([(CUDA, device("cuda"))]), MAC) is BOT


# lift, by_world, restrict


@repeatable
@given(values(), values())
def test_a_lifted_function_is_applied_in_each_world(a: Value, b: Value) -> None:
    lifted = lift(lambda x, y: Atom("pair", (gist(x), gist(y))), a, b)
    assert is_partition(lifted)
    for x, y, got in zip(*map(in_each_world, (a, b, lifted)), strict=True):
        assert got.v == (gist(x), gist(y))


def test_a_function_of_plain_atoms_is_called_once() -> None:
    calls = []

    def count(atom: Atom) -> Atom:
        calls.append(atom)
        return atom

    assert lift(count, TRUE) is TRUE
    assert len(calls) == 1


@repeatable
@given(values())
def test_by_world_with_no_change_changes_nothing(value: Value) -> None:
    assert list(map(gist, in_each_world(by_world(lambda _, atom: atom, value)))) == list(
        map(gist, in_each_world(value))
    )


@repeatable
@given(values(), sets)
def test_a_restricted_value_is_nothing_elsewhere(value: Value, worlds: int) -> None:
    left = restrict(value, worlds)
    for bit, (before, after) in enumerate(
        zip(in_each_world(value), in_each_world(left), strict=True)
    ):
        if worlds >> bit & 1:
            assert gist(before) == gist(after)
        else:
            assert after is BOT


# join


@repeatable
@given(atoms, atoms)
def test_a_join_does_not_hang_on_the_order_of_its_two_sides(a: Atom, b: Atom) -> None:
    assert gist(join(a, b))[:5] == gist(join(b, a))[:5]


@repeatable
@given(atoms)
def test_a_join_with_itself_is_itself(atom: Atom) -> None:
    assert join(atom, atom) is atom


@repeatable
@given(devices())
def test_a_join_of_equal_devices_is_that_device(atom: Atom) -> None:
    assert gist(join(atom, atom.but())) == gist(atom)


@repeatable
@given(atoms)
def test_a_join_with_nothing_is_the_other(atom: Atom) -> None:
    assert join(atom, BOT) is atom
    assert join(BOT, atom) is atom


@repeatable
@given(atoms, atoms)
def test_a_join_hangs_on_the_tests_of_both_sides(a: Atom, b: Atom) -> None:
    if a.kind in (DEVICE, TENSOR, MODULE) and a.kind == b.kind:
        assert join(a, b).tests == a.tests | b.tests


def test_cuda_or_something_unknown_is_perhaps_cuda() -> None:
    got = join(device("cuda", PLACES[0]), UNK)
    assert (got.v, got.maybe, places(got)) == ("cuda", True, (PLACES[0],))


def test_cuda_or_mps_is_an_open_choice() -> None:
    assert join(device("cuda"), device("mps")).v == "?"


def test_cuda_or_the_cpu_is_perhaps_cuda() -> None:
    got = join(device("cpu"), device("cuda"))
    assert (got.v, got.maybe) == ("cuda", True)


@pytest.mark.parametrize("third", ["cuda", "cpu"])
def test_three_ways_join_to_the_same_in_any_order(third: str) -> None:
    """Cuda, MPS and a third: somebody can have MPS, whichever arm is written first."""
    joined = {
        reduce(join, order).v
        for order in permutations([device("cuda"), device("mps"), device(third)])
    }
    assert joined == {"?"}


def test_a_joined_device_knows_both_places_where_it_is_written() -> None:
    got = join(device("cuda", PLACES[0]), device("cuda", PLACES[1]))
    assert set(places(got)) == set(PLACES[:2])


def test_tensors_on_two_devices_join_to_one_on_an_unknown_device() -> None:
    got = join(tensor("cpu", "float32"), tensor("mps", "float32"))
    assert (got.kind, got.v) == (TENSOR, ("?", "float32"))


def test_tensors_of_two_dtypes_join_to_one_of_an_unknown_dtype() -> None:
    assert join(tensor("mps", "float64"), tensor("mps", "float32")).v == ("mps", None)


def test_a_name_that_is_none_until_it_is_imported_is_the_name() -> None:
    name = Atom(NAME, "torch.autocast")
    assert join(name, NONE) is name
    assert join(NONE, name) is name


def test_values_of_two_switches_join_to_one_without_a_switch() -> None:
    a, b = (Atom(UNKNOWN, symbol=("options", name)) for name in ("cuda", "cpu"))
    assert join(a, b).symbol is None


# pick


@repeatable
@given(values(), values(), machine_sets, machine_sets)
def test_of_two_arms_each_world_has_the_value_of_the_one_that_it_took(
    a: Value, b: Value, left: int, right: int
) -> None:
    got = pick(left, a, right, b, NO_TESTS)
    assert is_partition(got)
    for bit, (x, y, z) in enumerate(zip(*map(in_each_world, (a, b, got)), strict=True)):
        world = 1 << bit
        if world & PORTED:
            continue  # What a port changes is asked of `port`.
        if world & left and not world & right:
            assert gist(z) == gist(x)
        elif world & right and not world & left:
            assert gist(z) == gist(y)
        elif world & left & right and a is not b:
            assert gist(z)[:5] == gist(join(x, y))[:5]


def test_what_two_arms_leave_hangs_on_the_test_between_them() -> None:
    test = frozenset(TESTS[:1])
    got = pick(NVIDIA, device("cuda"), ALL & ~NVIDIA, device("cpu"), test)
    assert all(atom.tests == test for atom in in_each_world(got))


def test_what_both_arms_leave_alike_hangs_on_no_test() -> None:
    same_in_both = device("cpu")
    got = pick(NVIDIA, same_in_both, ALL & ~NVIDIA, same_in_both, frozenset(TESTS))
    assert got is same_in_both


def test_a_choice_of_cuda_or_the_cpu_is_mps_once_ported() -> None:
    asked = NVIDIA | PORTED
    got = pick(asked, device("cuda"), ALL & ~asked, device("cpu"), frozenset(TESTS))
    assert by_machine(got) == "cuda cuda cpu mps cpu"


# port


@repeatable
@given(values())
def test_a_port_never_changes_what_other_machines_have(value: Value) -> None:
    ported = port(value)
    assert is_partition(ported)
    for bit, (before, after) in enumerate(
        zip(in_each_world(value), in_each_world(ported), strict=True)
    ):
        if not 1 << bit & PORTED:
            assert gist(before) == gist(after)


@repeatable
@given(values())
def test_a_port_changes_only_where_something_is(value: Value) -> None:
    before, after = in_each_world(value), in_each_world(port(value))
    for x, y in zip(before, after, strict=True):
        assert gist(x) == gist(y) or (where(x), where(y)) == ("cuda", "mps")


@repeatable
@given(values())
def test_a_second_port_changes_nothing(value: Value) -> None:
    once = port(value)
    assert list(map(gist, in_each_world(port(once)))) == list(map(gist, in_each_world(once)))


def test_cuda_everywhere_stays_cuda_once_ported() -> None:
    """Nobody chose: this is a device that breaks, not one that leaves the Mac out."""
    value = pack([(ALL & ~CPU, device("cuda")), (CPU, device("cpu"))])
    assert by_machine(port(value)) == "cuda cuda cuda cuda cpu"


def test_a_tensor_moves_with_the_choice() -> None:
    value = pack([(NVIDIA | PORTED, tensor("cuda")), (MAC | CPU, tensor("cpu"))])
    assert by_machine(port(value)) == "cuda cuda cpu mps cpu"


def test_what_hangs_on_a_switch_is_ported_for_its_own_state_alone() -> None:
    on, off = SWITCH[0], ALL & ~SWITCH[0]
    value = pack(
        [
            (on & (NVIDIA | PORTED), device("cuda")),
            (on & (MAC | CPU), device("cpu")),
            (off, device("cpu")),
        ]
    )
    ported = port(value)
    assert {where(atom) for _, atom in cases_of(ported, PORTED & on)} == {"mps"}
    assert {where(atom) for _, atom in cases_of(ported, PORTED & off)} == {"cpu"}


# parted


def test_a_mac_with_the_cpu_where_cuda_has_its_gpu_is_parted() -> None:
    value = pack([(NVIDIA, device("cuda")), (ALL & ~NVIDIA, device("cpu"))])
    assert parted(value, ALL) == MAC


def test_a_mac_with_mps_or_an_open_choice_is_not() -> None:
    for there in ("mps", "?"):
        value = pack([(NVIDIA, device("cuda")), (ALL & ~NVIDIA, device(there))])
        assert parted(value, ALL) == 0


def test_several_gpus_alone_part_nobody() -> None:
    value = pack([(GPUS, device("cuda")), (ALL & ~GPUS, device("cpu"))])
    assert parted(value, ALL) == 0


# atoms


def test_truth_is_known_of_what_can_only_be_true_or_false() -> None:
    assert truth(Atom(SOME, 1)) is True
    assert truth(device("cuda")) is True
    assert truth(Atom(CONST, 0)) is False
    assert truth(NONE) is False
    for open_one in (UNK, device("cuda", maybe=True), Atom(CONST, True, maybe=True), Atom(HOST)):
        assert truth(open_one) is None


def test_a_switch_negated_twice_is_itself() -> None:
    symbol = ("options", "cuda")
    assert negated(negated(symbol)) == symbol
    assert negated(symbol) != symbol


@repeatable
@given(atoms, st.frozensets(st.sampled_from(TESTS)))
def test_an_atom_that_hangs_on_more_tests_is_still_the_same(
    atom: Atom, tests: frozenset[ast.expr]
) -> None:
    got = hanging_on(atom, tests)
    assert (got.kind, got.v, got.maybe, got.symbol) == (atom.kind, atom.v, atom.maybe, atom.symbol)
    assert got.tests == atom.tests | tests
