"""The report is the launcher's own, or it is not believed."""

from __future__ import annotations

import hashlib
import hmac
import os
import socket
import struct
from collections.abc import Callable
from typing import Any

import pytest

from mpslint.verify import Request, verify
from mpslint.verify.harness import channel, teller
from mpslint.verify.listener import Listener
from mpslint.verify.pace import Pace
from mpslint.verify.verdict import Basis, Stability, judge

from .conftest import ended, launch

Script = Callable[[str, str], str]
Send = channel.Send


def end(**changes: Any) -> dict[str, Any]:
    came = {"losses": 0, "params_digest": 0, "steps": 0, "ops": 0}
    report = {
        "outcome": "finished",
        "losses": [],
        "params_digest": [],
        "steps": 0,
        "device_ops": 0,
        "from_children": came,
        "told_steps": 500,
        "limits": [],
    }
    return {"end": {**report, **changes}, "status": 0}


def heard(tell: Callable[[Send, socket.socket], None]) -> channel.Told:
    """What comes of what a process tells, or somebody in it writes to the socket."""
    with Listener() as listener:
        handle = os.dup(listener.handle)
        copy = socket.socket(fileno=os.dup(handle))
        with copy:
            tell(teller.open_channel(handle).send, copy)
    return listener.told()


def foreign(record: bytes = b'{"end": {}, "status": 0}') -> bytes:
    return struct.pack(">I", len(record)) + os.urandom(32) + record


class TestChannel:
    def test_what_the_launcher_tells_arrives(self) -> None:
        def tell(send: Send, raw: socket.socket) -> None:
            send({"loss": 0.5})
            send({"used": True})
            send({"step": 1, "ops": 3})
            send(end(losses=[0.5], steps=1, device_ops=5))

        told = heard(tell)
        assert told.report is not None
        assert (told.status, told.report["losses"]) == (0, [0.5])

    def test_a_report_without_its_end_is_none(self) -> None:
        assert heard(lambda send, raw: send({"loss": 0.5})).report is None

    def test_an_end_that_was_cut_off_is_none(self) -> None:
        def tell(send: Send, raw: socket.socket) -> None:
            send({"loss": 0.5})
            raw.sendall(struct.pack(">I", 100) + bytes(40))

        assert heard(tell).report is None

    @pytest.mark.parametrize("when", ["first", "between", "instead of the end"])
    def test_what_somebody_else_writes_is_not_believed(self, when: str) -> None:
        def tell(send: Send, raw: socket.socket) -> None:
            if when == "first":
                raw.sendall(foreign())
            send({"loss": 0.5})
            if when != "first":
                raw.sendall(foreign())
            if when == "between":
                send(end(losses=[0.5]))

        with pytest.raises(channel.Forged, match="not written by the launcher"):
            heard(tell)

    @pytest.mark.parametrize(
        "body",
        [
            b"[" * 100_000,
            b'{"steps": ' + b"9" * 5000 + b"}",
            b"[]",
            b"\xff",
            b"",
            b"3",
            b'{"end": 3}',
        ],
        ids=["nested", "digits", "list", "no text", "nothing", "number", "end"],
    )
    def test_what_cannot_be_understood_is_not_believed_whoever_sealed_it(self, body: bytes) -> None:
        key = bytes(channel.KEY_BYTES)
        sealed = struct.pack(">I", len(body)) + hmac.digest(key, body, "sha256") + body
        with pytest.raises(channel.Forged, match="not one that the launcher writes"):
            channel.read(sealed, key)

    def test_nothing_may_follow_the_end(self) -> None:
        def tell(send: Send, raw: socket.socket) -> None:
            send(end())
            raw.sendall(b"one more")

        with pytest.raises(channel.Forged, match="after the report's end"):
            heard(tell)

    def test_a_record_cannot_be_sent_again(self) -> None:
        key, (ours, theirs) = os.urandom(channel.KEY_BYTES), socket.socketpair()
        with ours, theirs:
            ours.sendall(key)
            told = teller.open_channel(os.dup(theirs.fileno()))
            told.send({"loss": 0.5})
            sent = ours.recv(1 << 16)
        assert channel.read(sent, key).records == [{"loss": 0.5}]
        with pytest.raises(channel.Forged, match="not written by the launcher"):
            channel.read(sent + sent, key)

    @pytest.mark.parametrize(
        "changed",
        [
            {"losses": [0.1]},
            {"losses": [0.5, 0.4]},
            {"losses": []},
            {"losses": [0.5], "steps": 7},
            {"losses": [0.5], "steps": 1, "device_ops": 2},
            {"losses": [0.5], "steps": 1, "outcome": "died", "told": {"unavailable": "no device"}},
            {"losses": [0.5], "steps": 1, "told": {"limit": "not simulated"}},
        ],
    )
    def test_the_end_may_not_contradict_what_was_told(self, changed: dict[str, Any]) -> None:
        def tell(send: Send, raw: socket.socket) -> None:
            send({"loss": 0.5})
            send({"used": True})
            send({"step": 1, "ops": 3})
            send(changed.get("told", {}))
            send(end(**{"steps": 1, "device_ops": 5, **changed}))

        with pytest.raises(channel.Forged):
            heard(tell)

    def test_what_children_did_comes_on_top_of_what_was_told(self) -> None:
        came = {"losses": 1, "params_digest": 0, "steps": 2, "ops": 0}

        def tell(send: Send, raw: socket.socket) -> None:
            send({"loss": float("nan")})
            send(end(losses=[float("nan"), 0.4], steps=2, from_children=came))

        assert heard(tell).report is not None

    def test_operations_that_nobody_saw_are_not_believed(self) -> None:
        with pytest.raises(channel.Forged, match="operations of the device, and none was seen"):
            heard(lambda send, raw: send(end(device_ops=5)))

    def test_operations_of_children_come_with_their_records(self) -> None:
        came = {"losses": 0, "params_digest": 0, "steps": 0, "ops": 5}
        told = heard(lambda send, raw: send(end(device_ops=5, from_children=came)))
        assert told.report is not None

    @pytest.mark.parametrize("ends", [True, False])
    def test_what_took_the_check_apart_stands_whatever_comes_later(self, ends: bool) -> None:
        def tell(send: Send, raw: socket.socket) -> None:
            send({"touched": "opens the memory of a process, train.py:3"})
            if ends:
                send(end())

        with pytest.raises(channel.Forged, match=r"it opens the memory .*, train\.py:3"):
            heard(tell)

    def test_what_cannot_be_told_breaks_nothing(self) -> None:
        def tell(send: Send, raw: socket.socket) -> None:
            send({"loss": 0.5})
            with pytest.raises(TypeError):
                send({"loss": object()})
            send(end(losses=[0.5]))

        assert heard(tell).report is not None

    def test_a_clock_that_struck_between_two_halves_breaks_nothing(self) -> None:
        key, (ours, theirs) = os.urandom(channel.KEY_BYTES), socket.socketpair()
        with ours, theirs:
            ours.sendall(hashlib.sha256(channel.RATCHET + key).digest())
            teller.open_channel(os.dup(theirs.fileno())).send(end(outcome="stopped"))
            sent = ours.recv(1 << 16)
        assert channel.read(sent, key).report is not None

    def test_a_process_that_closed_all_its_files_sends_to_nobody_elses(self) -> None:
        mine, other = socket.socketpair()

        def tell(send: Send, raw: socket.socket) -> None:
            handles = [n for n in range(3, 200) if _same(n, raw.fileno()) and n != raw.fileno()]
            for handle in handles:
                os.dup2(mine.fileno(), handle)
            send(end())

        assert heard(tell).report is None
        other.setblocking(False)
        with pytest.raises(BlockingIOError):
            other.recv(1)
        mine.close()
        other.close()


def _same(one: int, two: int) -> bool:
    try:
        return os.fstat(one).st_ino == os.fstat(two).st_ino
    except OSError:
        return False


def basis() -> Basis:
    return Basis(launch("cuda"), (), lambda: Stability(True, set(), set()), lambda _: None, Pace(3))


class TestVerdict:
    def test_an_end_by_a_signal_after_a_good_report_is_no_pass(self) -> None:
        judged = judge(launch("mps", ending=ended(code=-9)), basis())
        assert judged.verdict == "inconclusive"
        assert "killed by SIGKILL after its end" in judged.reason

    def test_another_exit_status_than_the_announced_one_is_no_pass(self) -> None:
        judged = judge(launch("mps", ending=ended(code=3)), basis())
        assert judged.verdict == "inconclusive"
        assert "exits 3, but announced 0" in judged.reason

    def test_a_report_that_is_not_believed_is_no_pass(self) -> None:
        forged = launch("mps")._replace(report=None, distrusted="a part was not its own")
        judged = judge(forged, basis())
        assert judged.verdict == "inconclusive"
        assert "not believed: a part was not its own" in judged.reason

    def test_long_outputs_that_differ_are_no_pass(self) -> None:
        long = launch("mps", ending=ended(cut=1, digest="b"))
        judged = judge(long, basis())
        assert judged.verdict == "inconclusive"
        assert "more output than is kept" in judged.reason

    def test_long_outputs_that_are_the_same_pass(self) -> None:
        reference = launch("cuda", ending=ended(cut=1, digest="a"))
        same = basis()._replace(reference=reference)
        assert judge(launch("mps", ending=ended(cut=1, digest="a")), same).verdict == "pass"


USES_THE_DEVICE = "import torch\nx = torch.ones(3, device='mps') * 2\n"
FORGERIES = {
    "counters that were poked": (
        "import sys, torch\nrecorder = sys.modules['mpslint_harness.recorder'].RECORDER\n"
        "try: recorder.ops = 100\nexcept AttributeError: pass\n",
        "the script changed what the check recorded (ops)",
    ),
    "losses that were made up": (
        USES_THE_DEVICE + "import sys\n"
        "sys.modules['mpslint_harness.recorder'].RECORDER.losses.append(0.1)\n",
        "the report's losses are not those that were seen",
    ),
    "a report of its own, and a death": (
        "import json, os, signal, torch\n"
        "report = dict(outcome='finished', exit_code=0, error=None, steps=3, forwards=3, limits=[],"
        " device_ops=60, losses=[], params_digest=[], device_calls=[], notes=[])\n"
        "out = os.path.join(os.path.dirname(os.environ['TMPDIR']), 'out')\n"
        "os.makedirs(out, exist_ok=True)\n"
        "json.dump(report, open(os.path.join(out, 'report.json'), 'w'))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n",
        "killed by SIGKILL",
    ),
    "a report of its own on every socket": (
        USES_THE_DEVICE + "import json, os, socket, stat, struct\n"
        "body = json.dumps({'end': {}, 'status': 0}).encode()\n"
        "for n in range(3, 64):\n    try:\n"
        "        if stat.S_ISSOCK(os.fstat(n).st_mode):\n"
        "            os.write(n, struct.pack('>I', len(body)) + bytes(32) + body)\n"
        "    except OSError: pass\n",
        "not written by the launcher",
    ),
    "a death after the end": (
        USES_THE_DEVICE + "import atexit, os, signal\n"
        "atexit.register(os.kill, os.getpid(), signal.SIGKILL)\n",
        "killed by SIGKILL after its end",
    ),
}


@pytest.mark.parametrize("how", FORGERIES)
def test_a_forged_run_does_not_pass(script: Script, how: str) -> None:
    text, reason = FORGERIES[how]
    request = Request(
        script("train.py", text), devices=("mps",), negative_control=False, timeout=600.0
    )
    report = verify(request)
    assert report.verdict == "inconclusive", report.to_text()
    assert reason in report.reason


def test_numbers_in_the_middle_of_a_long_output_are_not_passed_over(
    script: Script,
) -> None:
    text = (
        "import torch\nx = torch.ones(3, device='cuda')\n"
        "for i in range(60000):\n"
        "    print(f'the value of one entry is {i + SHIFT * (i == 30000):8}, which is long')\n"
    )
    original, patched = text.replace("SHIFT", "0"), text.replace("SHIFT", "1")
    path = script("train.py", original)
    report = verify(
        Request(
            path,
            patched={path: patched.encode()},
            devices=("cuda",),
            negative_control=False,
            timeout=600.0,
        )
    )
    assert report.verdict == "inconclusive", report.to_text()
    assert "more output than is kept" in report.reason
