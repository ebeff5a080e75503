"""The number of CUDA's devices is 0 on a Mac, and so is what is multiplied by it, where it goes."""

from __future__ import annotations

import pytest

from mpslint.semantics.worlds.events import DIVIDES, SETS_RATE, SIZES_BATCHES, Kind

from .conftest import Program

COUNT = "n = torch.cuda.device_count()\n"
SHARE = "def share(net, per):\n    net.to('cpu')\n    return 8 // per\n"


def harms(text: str) -> list[str]:
    events = Program(text).events(Kind.COUNTED)
    return [event.name for event in events if event.name and event.on_mac]


@pytest.mark.parametrize(
    ("text", "harm"),
    [
        (COUNT + "x = args.rank % n", DIVIDES),
        (COUNT + "size = int(args.size * n)\nx = total // size", DIVIDES),
        (COUNT + "args.size *= n\nx = total / args.size", DIVIDES),
        (COUNT + "args.size //= n", DIVIDES),
        (
            COUNT + "def share(net, per):\n    net.to('cpu')\n    return 8 // per\nshare(net, n)",
            DIVIDES,
        ),
        (COUNT + "torch.utils.data.DataLoader(data, 4 * n)", SIZES_BATCHES),
        (COUNT + "torch.utils.data.DataLoader(data, batch_size=n)", SIZES_BATCHES),
        (COUNT + "torch.optim.Adam(net.parameters(), lr=0.1 * n)", SETS_RATE),
    ],
)
def test_a_0_does_harm_where_it_arrives(text: str, harm: str) -> None:
    assert harms(text) == [harm]


@pytest.mark.parametrize(
    "text",
    [
        COUNT + 'x = "%d GPUs" % n',
        COUNT + "x = torch.ones(2) / n",
        COUNT + "x = total // max(1, n)",
        COUNT + "x = total // (n or 1)",
        COUNT + "if n > 1:\n    x = total // n",
        COUNT + "size = 4 if n == 0 else 4 * n\nx = total // size",
        COUNT + "if torch.cuda.is_available():\n    x = total // n",
        COUNT
        + "def share(net, per):\n    net.to('cpu')\n    return 8 // per\nif n:\n    share(net, n)",
        "n = len(sys.argv)\nx = total // n",
        "n = torch.mps.device_count()\nx = total // n",
        COUNT + "torch.utils.data.DataLoader(data, 4, num_workers=n)",
        COUNT + "torch.optim.Adam(net.parameters(), lr=0.1, weight_decay=n)",
    ],
)
def test_what_is_no_0_or_takes_one_is_not_told(text: str) -> None:
    assert harms(text) == []


def test_a_worker_that_is_started_for_each_gpu_is_started_for_none() -> None:
    text = """
        import torch.multiprocessing as mp

        def work(gpu, per_node):
            print(gpu % per_node)

        n = torch.cuda.device_count()
        mp.spawn(work, nprocs=n, args=(n,))
        """
    assert harms(text) == []
