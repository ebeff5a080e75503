"""What a file holds is told by its bytes, whatever its name is, and nothing of it is executed."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import struct
import zlib
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch

from mpslint.verify import compare, contents, saved

WEIGHTS = {"layer": {"weight": [[0.5, 1.5]] * 12, "bias": 0.25}, "epoch": 3}


def differ(one: bytes, two: bytes, near: float = 1e-5) -> str | None:
    """What is said of two runs that leave these bytes in a file of no telling name."""
    return saved.difference({"out": contents.read(one)}, {"out": contents.read(two)}, near)


def png(shade: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    lines = b"".join(b"\1" + bytes([shade, 0, 0, 0]) for _ in range(4))
    header = struct.pack(">IIBBBBB", 4, 4, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines))


def test_an_array_of_another_width_is_named_with_both_sizes() -> None:
    def archive(kind: str) -> bytes:
        file = io.BytesIO()
        numpy.savez(file, samples=numpy.zeros(3), table=numpy.zeros(2, kind))
        return file.getvalue()

    told = differ(archive("f8"), archive("f4"))
    assert (
        told == "out holds tensors of other sizes than the original's (table.npy: 8 bytes for 16)"
    )


def state(bias: float) -> dict[str, Any]:
    return {"model": OrderedDict(w=torch.ones(3, 2), b=torch.tensor([bias])), "best": 0.5}


KINDS = {
    "a pickle of numbers": lambda v: pickle.dumps({"loss": v, "epoch": 3}),
    "a pickle of lists": lambda v: pickle.dumps({"weight": [[v, 1.0]] * 12}),
    "a pickle of arrays": lambda v: pickle.dumps({"w": numpy.full(7, v, "float32")}),
    "an old pickle of arrays": lambda v: pickle.dumps({"w": numpy.full(7, v)}, protocol=2),
    "a pickle of a numpy number": lambda v: pickle.dumps({"loss": numpy.float32(v)}),
    "a pickle of tensors": lambda v: pickle.dumps(state(v)),
    "a packed pickle": lambda v: gzip.compress(pickle.dumps([v]), mtime=0),
    "an array": lambda v: numpy_bytes(numpy.full(3, v)),
    "a JSON document": lambda v: json.dumps({"a": [{"b": v}], "seconds": 3.5}).encode(),
    "a table": lambda v: f"step,loss\n1,{v}\n".encode(),
    "a picture": lambda v: png(int(v * 100)),
    "a plain picture": lambda v: b"P5\n2 2\n255\n" + bytes([int(v * 100)] * 4),
    "safetensors": lambda v: safetensors(v),
}


def numpy_bytes(values: Any) -> bytes:
    import io

    stream = io.BytesIO()
    numpy.save(stream, values)
    return stream.getvalue()


def safetensors(value: float) -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    return struct.pack("<Q", len(header)) + header + struct.pack("<2f", value, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_are_compared_in(kind: str) -> None:
    one, same, other = (contents.read(KINDS[kind](v)) for v in (0.5, 0.5, 0.75))
    assert saved.has_numbers({"out": one})
    assert saved.difference({"out": one}, {"out": same}, 0.0) is None
    assert saved.difference({"out": one}, {"out": other}, 1e-5) is not None


def save_pickled(what: Any, path: Path) -> None:
    path.write_bytes(pickle.dumps(what))


def save_as_before(what: Any, path: Path) -> None:
    torch.save(what, path, _use_new_zipfile_serialization=False)


@pytest.mark.parametrize("save", [torch.save, save_pickled, save_as_before])
def test_a_checkpoint_of_any_name_is_compared(tmp_path: Path, save: Any) -> None:
    found = []
    for bias in (0.5, 0.5, 0.75):
        save(state(bias), tmp_path / "weights")
        found.append(saved.collect(str(tmp_path), {}))
    one, same, other = found
    assert saved.difference(one, same, 1e-5) is None
    assert saved.difference(one, other, 1e-5) == "weights holds other tensors than the original's"


def test_a_number_beside_the_tensors_of_a_checkpoint_is_compared(tmp_path: Path) -> None:
    found = []
    for best in (0.5, 0.75):
        torch.save({**state(1.0), "best": best}, tmp_path / "weights")
        found.append(saved.collect(str(tmp_path), {}))
    assert saved.difference(*found, 1e-5) == "weights holds other numbers than the original's"


def test_a_checkpoint_moved_to_the_cpu_first_is_the_same(tmp_path: Path) -> None:
    torch.save(torch.nn.Linear(2, 2).state_dict(), tmp_path / "weights")
    one = saved.collect(str(tmp_path), {})
    plain = dict(torch.load(tmp_path / "weights"))
    torch.save(plain, tmp_path / "weights")
    assert saved.difference(one, saved.collect(str(tmp_path), {}), 0.0) is None


def checkpoint(model: torch.nn.Module, save: Any, path: Path) -> contents.Saved:
    save({"model": model.state_dict(), "device_rng": torch.zeros(2)}, path / "weights")
    return saved.read(str(path / "weights"))


def two_layers() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))


class Wrapper(torch.nn.Module):
    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module


@pytest.mark.parametrize("save", [torch.save, save_pickled, save_as_before])
def test_a_checkpoint_has_its_tensors_under_the_names_of_the_original(
    tmp_path: Path, save: Any
) -> None:
    plain = checkpoint(two_layers(), save, tmp_path)
    wrapped = checkpoint(Wrapper(two_layers()), save, tmp_path)
    for same_device in (0.0, compare.SAME_DEVICE):
        found = saved.difference({"weights": plain}, {"weights": wrapped}, same_device)
        assert found == "weights holds no 0.bias, as the original's does"


def test_on_another_device_a_model_need_not_be_wrapped(tmp_path: Path) -> None:
    wrapped = checkpoint(Wrapper(two_layers()), torch.save, tmp_path)
    plain = checkpoint(two_layers(), torch.save, tmp_path)
    assert saved.difference({"weights": wrapped}, {"weights": plain}, 1e-5) is None


def test_what_a_script_itself_calls_a_tensor_may_be_another_word(tmp_path: Path) -> None:
    found = []
    for word in ("cuda_rng", "device_rng"):
        torch.save({**two_layers().state_dict(), word: torch.zeros(2)}, tmp_path / "weights")
        found.append(saved.collect(str(tmp_path), {}))
    assert saved.difference(*found, 0.0) is None


class Runs:
    """Executes something when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("import builtins; builtins.executed = True",)


@pytest.mark.parametrize("protocol", range(2, 6))
def test_nothing_in_a_pickle_is_executed(protocol: int) -> None:
    import builtins

    found = contents.read(pickle.dumps({"loss": 0.5, "trap": Runs()}, protocol))
    assert not hasattr(builtins, "executed")
    assert saved.has_numbers({"out": found})


BOMBS = {
    "a place in the memory that is far away": b"\x80\x02Nr\xff\xff\xff\x7f.",
    "bytes that are not there": b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b".",
    "an empty stack": b"\x80\x020.",
    "no end": b"\x80\x04.."[:3] + b"].",
    "lists in lists": b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".",
    "a list in itself": b"\x80\x02]q\0h\0a.",
    "pairs of pairs of pairs": b"\x80\x02K\1" + b"2\x86" * 200 + b".",
}


@pytest.mark.parametrize("kind", BOMBS)
def test_a_pickle_that_is_made_to_harm_takes_neither_time_nor_memory(kind: str) -> None:
    assert isinstance(contents.read(BOMBS[kind]), contents.Unread | contents.Mixed)


def test_times_and_devices_in_a_pickle_are_no_results() -> None:
    one = pickle.dumps({"seconds": 1.5, "device": "cuda:0", "loss": 0.5})
    two = pickle.dumps({"seconds": 2.5, "device": "mps:0", "loss": 0.5})
    assert differ(one, two, 0.0) is None


def test_pixels_may_differ_by_rounding_on_another_device() -> None:
    assert differ(png(50), png(51)) is None
    assert differ(png(50), png(51), 0.0) is not None


def test_of_an_unknown_kind_of_file_only_the_same_can_be_said() -> None:
    one, two = (contents.read(b"\0\1" + name) for name in (b"a", b"b"))
    assert not saved.has_numbers({"out": one})
    assert saved.uncomparable({"out": one}, {"out": one}) == []
    assert saved.uncomparable({"out": one}, {"out": two}) == ["out (an unknown kind of file)"]


def test_of_very_many_files_it_is_said_where_the_comparison_ends(tmp_path: Path) -> None:
    for number in range(502):
        (tmp_path / f"{number:03}").write_text("0.5")
    found = saved.collect(str(tmp_path), {})
    assert saved.unread(found) == ["500 (and all after it: more than 500 files)"]
