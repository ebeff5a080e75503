"""The forms in which programs ask for a backend, each with what it settles."""

from __future__ import annotations

import pytest
from probing import probe

from mpslint.semantics.terms.facts_known import Facts

CUDA = "torch.cuda.is_available()"
MPS = "torch.backends.mps.is_available()"


def facts(program: str) -> Facts:
    context, node = probe("import torch\nimport sys\n" + program)
    return context.guards.at(node)


@pytest.mark.parametrize(
    "program",
    [
        f"if a:\n    pass\nelif {CUDA}:\n    probe(1)",
        f"if not {CUDA}:\n    pass\nelif a:\n    probe(1)",
        f"while {CUDA}:\n    probe(1)",
        f"if {CUDA}:\n    if a:\n        for i in y:\n            probe(1)",
        f"if {CUDA}:\n    def f():\n        probe(1)",
        f"if {CUDA}:\n    class C:\n        x = probe(1)",
        f"if {CUDA}:\n    with a:\n        probe(1)",
        f"if {CUDA}:\n    try:\n        pass\n    finally:\n        probe(1)",
        f"if not (not {CUDA}):\n    probe(1)",
        f"if not (a or not {CUDA}):\n    probe(1)",
        f"if not {CUDA} or probe(1):\n    pass",
        f"x = 0 if not {CUDA} else probe(1)",
        f"x = [probe(i) for i in y if {CUDA}]",
        f"x = {{i: probe(i) for i in y if a and {CUDA}}}",
        f"x = any(probe(i) for i in y if {CUDA})",
        f"if all([a, {CUDA}]):\n    probe(1)",
        f"if any(({CUDA}, x.is_cuda)):\n    probe(1)",
        f"if bool({CUDA}):\n    probe(1)",
        f"if {CUDA} is True:\n    probe(1)",
        f"if {CUDA} == False:\n    pass\nelse:\n    probe(1)",
        f"if (ok := {CUDA}):\n    probe(1)",
        f"if (a and {CUDA}) or ({CUDA} and b):\n    probe(1)",
    ],
)
def test_every_form_of_a_condition_passes_its_test_on(program: str) -> None:
    assert "cuda" in facts(program)


@pytest.mark.parametrize(
    "program",
    [
        f"def f():\n    if not {CUDA}:\n        return 0\n    probe(1)",
        f"def f():\n    if not {CUDA}:\n        raise E\n    probe(1)",
        f"for i in y:\n    if not {CUDA}:\n        continue\n    probe(1)",
        f"for i in y:\n    if not {CUDA}:\n        break\n    probe(1)",
        f"if not {CUDA}:\n    sys.exit(1)\nprobe(1)",
        f"if not {CUDA}:\n    print('no')\n    exit()\nprobe(1)",
        f"import pytest\nif not {CUDA}:\n    pytest.skip('no')\nprobe(1)",
        f"def f():\n    if {CUDA}:\n        x = 1\n    else:\n        return\n    probe(1)",
        f"def f():\n    if not {CUDA}:\n        if a:\n            return\n        else:\n"
        "            raise E\n    probe(1)",
        f"def f():\n    if not {CUDA} or a:\n        return\n    probe(1)",
        f"def f():\n    if not {CUDA}:\n        return\n    for i in y:\n        probe(1)",
        f"assert a and {CUDA}, 'no'\nprobe(1)",
        f"assert {CUDA}\nif a:\n    probe(1)",
        "assert x.is_cuda\nprobe(1)",
        f"class T:\n    def f(self):\n        self.assertTrue({CUDA})\n        probe(1)",
    ],
)
def test_what_goes_on_has_passed_the_exits_before_it(program: str) -> None:
    assert "cuda" in facts(program)


@pytest.mark.parametrize(
    "program",
    [
        f"import pytest\n@pytest.mark.skipif(not {CUDA}, reason='')\ndef f():\n    probe(1)",
        f"import pytest\n@pytest.mark.skipif(not {CUDA}, reason='')\nclass T:\n"
        "    def f(self):\n        probe(1)",
        f"import unittest\n@unittest.skipIf(not {CUDA}, '')\ndef f():\n    probe(1)",
        f"import unittest\n@unittest.skipUnless({CUDA}, '')\ndef f():\n    probe(1)",
        "@require_cuda\ndef f():\n    probe(1)",
        "@onlyCUDA\ndef f():\n    probe(1)",
        "@require_torch_multi_gpu\ndef f():\n    probe(1)",
        f"import pytest\npytestmark = pytest.mark.skipif(not {CUDA}, reason='')\n"
        "def f():\n    probe(1)",
        f"import pytest\npytestmark = [pytest.mark.slow, pytest.mark.skipif(not {CUDA})]\n"
        "def f():\n    probe(1)",
    ],
)
def test_a_marked_test_runs_only_where_its_mark_lets_it(program: str) -> None:
    assert "cuda" in facts(program)


@pytest.mark.parametrize(
    "program",
    [
        f"ok = {CUDA}\nif ok:\n    probe(1)",
        f"ok = {CUDA}\ndef f():\n    if ok:\n        probe(1)",
        f"ok = not {CUDA}\nif not ok:\n    probe(1)",
        f"ok = {CUDA} and not args.cpu\nif ok:\n    probe(1)",
        f"ok: bool = {CUDA}\nif ok:\n    probe(1)",
        f"ok = True if {CUDA} else False\nif ok:\n    probe(1)",
        f"ok = False\nif {CUDA}:\n    ok = True\nif ok:\n    probe(1)",
        f"ok, n = {CUDA}, 3\nif ok:\n    probe(1)",
        f"a.ok = {CUDA}\nif a.ok:\n    probe(1)",
        f"class C:\n    def __init__(self):\n        self.ok = {CUDA}\n"
        "    def f(self):\n        if self.ok:\n            probe(1)",
        f"def ready():\n    return {CUDA}\nif ready():\n    probe(1)",
        f"def ready():\n    return a and {CUDA}\nif ready():\n    probe(1)",
        f"def ready():\n    if not {CUDA}:\n        return False\n    return a\n"
        "if ready():\n    probe(1)",
        "count = torch.cuda.device_count()\nif count > 0:\n    probe(1)",
        "from transformers.utils import is_torch_cuda_available as ok\n"
        "if is_torch_cuda_available():\n    probe(1)",
        "from common import TEST_CUDA\nif TEST_CUDA:\n    probe(1)",
        f"yes = {CUDA}\nok = yes\nif ok:\n    probe(1)",
    ],
)
def test_a_flag_or_helper_carries_its_test_with_it(program: str) -> None:
    assert "cuda" in facts(program)


@pytest.mark.parametrize(
    ("test", "fact"),
    [
        ("torch.cuda.device_count()", "cuda"),
        ("torch.cuda.device_count() > 0", "cuda"),
        ("torch.cuda.device_count() > 1", "cuda"),
        ("torch.cuda.device_count() >= 1", "cuda"),
        ("torch.cuda.device_count() != 0", "cuda"),
        ("torch.cuda.device_count() == 2", "cuda"),
        ("not torch.cuda.device_count() == 0", "cuda"),
        ("not torch.cuda.device_count() < 1", "cuda"),
        ("torch.cuda.device_count() == 0", "no-cuda"),
        ("torch.cuda.device_count() < 1", "no-cuda"),
        ("torch.cuda.device_count() <= 0", "no-cuda"),
        ("not torch.cuda.device_count()", "no-cuda"),
        ("torch.mps.device_count() > 0", "mps"),
        ("'cuda' in str(device)", "cuda"),
        ("'cuda' in device.type", "cuda"),
        ("'cuda' not in str(device)", "no-cuda"),
        ("device.type.startswith('cuda')", "cuda"),
        ("device.type in ('cuda',)", "cuda"),
        ("device.type in ['mps', 'cpu']", "no-cuda"),
        ("device.type not in ('mps', 'cpu')", "no-mps"),
        ("'cuda' == device.type", "cuda"),
        ("device == torch.device('cuda')", "cuda"),
        ("device != 'cpu'", "no-cpu"),
        ("x.is_mps", "mps"),
        ("not x.is_cuda", "no-cuda"),
        ("torch.version.cuda", "cuda"),
        ("torch.version.cuda is not None", "cuda"),
        ("torch.version.cuda is None", "no-cuda"),
        ("torch.accelerator.is_available()", "accelerator"),
        ("not torch.accelerator.is_available()", "no-mps"),
        ("torch.accelerator.current_accelerator() is not None", "accelerator"),
        ("torch.xpu.is_available()", "no-mps"),
        (MPS + " and torch.backends.mps.is_built()", "mps"),
        ("not torch.backends.mps.is_built()", "no-mps"),
        ("not hasattr(torch.backends, 'mps')", "no-mps"),
        ("sys.platform != 'darwin'", "no-mps"),
        ("x.type() == 'torch.cuda.FloatTensor'", "cuda"),
    ],
)
def test_a_comparison_settles_what_it_compares(test: str, fact: str) -> None:
    assert fact in facts(f"if {test}:\n    probe(1)")


@pytest.mark.parametrize(
    "test",
    [
        "torch.cuda.device_count() >= 0",
        "torch.cuda.device_count() < 2",
        "torch.cuda.device_count() != 3",
        "torch.backends.cuda.is_built()",
        "hasattr(torch, 'cuda')",
        "device.type in ('cuda', 'mps')",
        "device.type != 'cpu'",
        f"{CUDA} or {MPS}",
        f"{CUDA} if a else True",
        "other.cuda.is_available()",
        "torch.distributed.is_available()",
        "sys.platform == 'linux'",
    ],
)
def test_a_test_that_passes_elsewhere_too_does_not_mean_cuda(test: str) -> None:
    assert "cuda" not in facts(f"if {test}:\n    probe(1)")


@pytest.mark.parametrize(
    "program",
    [
        f"if {CUDA}:\n    x = 1\nprobe(1)",
        f"try:\n    assert {CUDA}\nexcept AssertionError:\n    probe(1)",
        f"def f():\n    assert {CUDA}\nprobe(1)",
        f"def f():\n    if not {CUDA}:\n        x = 1\n    probe(1)",
        f"def f():\n    if not {CUDA}:\n        if a:\n            return\n    probe(1)",
        f"while {CUDA}:\n    break\nelse:\n    probe(1)",
        f"ok = {CUDA}\nok = args.ok\nif ok:\n    probe(1)",
        f"ok = {CUDA}\nif a:\n    ok = True\nif ok:\n    probe(1)",
        f"def ready(x):\n    if x:\n        return {CUDA}\n    return True\n"
        "if ready(1):\n    probe(1)",
        f"def f(ok={CUDA}):\n    if ok:\n        probe(1)",
        f"x = [i for i in y if {CUDA}]\nprobe(1)",
        f"x = probe(1) and {CUDA}",
        f"@decorate({CUDA})\ndef f():\n    probe(1)",
        f"lambda: {CUDA}\nprobe(1)",
    ],
)
def test_a_test_says_nothing_where_it_was_not_asked(program: str) -> None:
    assert "cuda" not in facts(program)


@pytest.mark.parametrize(
    ("program", "holds"),
    [
        ("for i in range(torch.cuda.device_count()):\n    probe(1)", True),
        ("[probe(i) for i in range(torch.cuda.device_count())]", True),
        ("n = torch.cuda.device_count()\nfor i in range(n):\n    probe(1)", True),
        ("for i in range(0, torch.cuda.device_count()):\n    probe(1)", True),
        ("for i in range(torch.cuda.device_count() + 1):\n    probe(1)", False),
        ("for i in range(torch.cuda.device_count()):\n    pass\nprobe(1)", False),
        ("for i in range(torch.cuda.device_count()):\n    pass\nelse:\n    probe(1)", False),
        ("for i in range(3):\n    probe(1)", False),
    ],
)
def test_a_loop_over_the_gpus_has_no_turn_without_cuda(program: str, holds: bool) -> None:
    assert ("cuda" in facts(program)) is holds


@pytest.mark.parametrize(
    ("program", "holds"),
    [
        ("try:\n    probe(1)\nexcept:\n    pass", True),
        ("try:\n    probe(1)\nexcept Exception:\n    pass", True),
        ("try:\n    probe(1)\nexcept (KeyError, AssertionError):\n    pass", True),
        ("try:\n    if a:\n        probe(1)\nexcept RuntimeError as error:\n    pass", True),
        ("import contextlib\nwith contextlib.suppress(RuntimeError):\n    probe(1)", True),
        ("import pytest\nwith pytest.raises(RuntimeError):\n    probe(1)", True),
        ("try:\n    probe(1)\nexcept OSError:\n    pass", False),
        ("try:\n    probe(1)\nfinally:\n    pass", False),
        ("try:\n    pass\nexcept RuntimeError:\n    pass\nelse:\n    probe(1)", False),
        ("try:\n    pass\nexcept RuntimeError:\n    pass\nfinally:\n    probe(1)", False),
        ("try:\n    def f():\n        probe(1)\nexcept RuntimeError:\n    pass", False),
        ("try:\n    probe(1)\nexcept RuntimeError:\n    raise", False),
        ("try:\n    probe(1)\nexcept RuntimeError:\n    print('no')\n    raise", False),
        ("try:\n    probe(1)\nexcept RuntimeError:\n    if a:\n        raise", True),
        ("with open(p):\n    probe(1)", False),
    ],
)
def test_an_exception_is_caught_only_where_a_handler_takes_it(program: str, holds: bool) -> None:
    assert ("caught" in facts(program)) is holds
