"""The operator table, read without torch."""

from __future__ import annotations

import pytest

from mpslint.verify.harness import optable

YAML = """
- func: relu(Tensor self) -> Tensor
  device_check: NoCheck   # TensorIterator
  dispatch:
    CPU, CUDA: relu
    MPS: relu_mps

- func: mm(Tensor self, Tensor mat2) -> Tensor
  structured_delegate: mm.out

- func: mm.out(Tensor self, Tensor mat2, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  dispatch:
    CPU: mm_out_cpu
    MPS: mm_out_mps

- func: flatten(Tensor self) -> Tensor

- func: linalg_eigh_part(Tensor self) -> Tensor
  dispatch:
    CPU: eigh
""".splitlines()


@pytest.fixture
def operators() -> dict[str, optable.Operator]:
    return optable.load(YAML)


def releases(**since: optable.Version) -> optable.Releases:
    return optable.Releases((2, 15), since, [((2, 0), {"relu"}), ((2, 8), set())])


def test_structured_operators_have_the_kernels_of_their_group(operators) -> None:
    table = optable.OperatorTable(operators, releases(), (2, 13))
    assert table.registered("MPS") == {"relu", "mm", "mm.out"}
    assert table.is_structured("mm")


def test_an_operator_without_dispatch_is_composite(operators) -> None:
    assert [name for name, entry in operators.items() if entry.is_composite] == ["flatten"]


def test_the_device_check_of_an_operator_is_its_own(operators) -> None:
    table = optable.OperatorTable(operators, releases(), (2, 13))
    assert not table.is_checked("relu")
    assert table.is_checked("mm")


def test_older_releases_lack_kernels_and_newer_ones_have_more(operators) -> None:
    since = releases(mm=(2, 5), linalg_eigh_part=(2, 14))
    older = optable.OperatorTable(operators, since, (2, 4))
    newer = optable.OperatorTable(operators, since, (2, 14))
    assert older.mps_kernels() == set()  # relu always falls back there
    assert newer.mps_kernels() == {"relu", "mm", "mm.out", "linalg_eigh_part"}


def test_operators_that_always_fall_back_are_those_of_the_release(operators) -> None:
    assert optable.OperatorTable(operators, releases(), (2, 7)).mps_always_fallback() == {"relu"}
    assert optable.OperatorTable(operators, releases(), (2, 8)).mps_always_fallback() == set()


def test_the_packaged_table_reaches_from_2_0_to_2_15() -> None:
    table = optable.load_releases()
    assert table.newest == (2, 15)
    assert table.kernel_since["_linalg_eigh"] == (2, 14)
    assert len(table.kernel_since) > 150
    with pytest.raises(ValueError, match=r"2\.0 to 2\.15"):
        optable.open_table("2.13.0", "3.1")


@pytest.mark.parametrize("text", ["", "new", "2"])
def test_a_bad_version_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a torch version"):
        optable.parse_version(text)
