"""The rules of the verdict, one sentence each, on runs that are made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from mpslint.verify import verdict
from mpslint.verify.contents import Text
from mpslint.verify.launch import Launch
from mpslint.verify.numbers import Printed
from mpslint.verify.outcome import classify, first_sentence
from mpslint.verify.pace import Pace
from mpslint.verify.verdict import Basis, Judgement, Stability

from .conftest import LIMIT, ended, launch, raised

SAME_AGAIN = Stability(values=True, unstable_lines=set(), unstable_files={})


def basis(
    reference: Launch | None,
    *refused: Launch,
    stability: Stability = SAME_AGAIN,
    excuse: str | None = None,
    steps: int = 3,
    trains: bool = False,
) -> Basis:
    reasons = tuple(classify(run) for run in refused)
    return Basis(
        reference, reasons, lambda: stability, lambda _run: excuse, Pace(steps), trains=trains
    )


def judge(patched: Launch, reference: Launch | None = None, **more: Any) -> Judgement:
    return verdict.judge(patched, basis(reference or launch("cuda"), **more))


def test_the_same_steps_and_losses_pass() -> None:
    judged = judge(launch("mps"))
    assert judged.verdict == "pass"
    assert "same numbers" in judged.reason


def test_a_late_loss_counts_on_the_device_of_the_original() -> None:
    late = [0.5] * 300
    reference = launch("cuda", losses=late)
    assert judge(launch("cuda", losses=[*late[:-1], 0.6]), reference).verdict == "fail"
    # elsewhere rounding has grown by then
    assert judge(launch("mps", losses=[*late[:-1], 0.5001]), reference).verdict == "pass"


def test_what_was_compared_is_counted() -> None:
    printed = ended(stdout="accuracy 0.5 of 9\n")
    judged = judge(launch("mps", ending=printed), launch("cuda", ending=printed))
    assert "(3 losses, 2 states of the weights, 2 printed numbers)" in judged.reason


def test_a_patched_script_that_raises_where_the_original_ran_fails() -> None:
    judged = judge(launch("mps", **raised("ValueError", "no")))
    assert judged.verdict == "fail"
    assert "ValueError: no at train.py:7" in judged.reason


def test_a_device_error_fails() -> None:
    error = raised("RuntimeError", "Expected all tensors to be on the same device, but found ...")
    assert judge(launch("mps", **error)).verdict == "fail"


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (raised("FileNotFoundError", "[Errno 2] No such file or directory: 'data.bin'"), "data"),
        (raised("ModuleNotFoundError", "No module named 'apex'"), "apex"),
        (raised("EOFError", "EOF when reading a line"), "stdin"),
        (raised("URLError", "<urlopen error [Errno 101] Network is unreachable>"), "network"),
    ],
)
def test_an_original_that_lacks_something_decides_nothing(error: Any, word: str) -> None:
    original = launch("cuda", **error)
    judged = verdict.judge(launch("mps", **error), basis(None, original))
    assert judged.verdict == "inconclusive"
    assert word in judged.reason


def test_wrong_arguments_decide_nothing() -> None:
    ending = ended(code=2, stderr="usage: train.py [-h] data\ntrain.py: error: data is required")
    original = launch("cuda", ending=ending, outcome="exit", exit_code=2)
    judged = verdict.judge(original, basis(None, original))
    assert judged.verdict == "inconclusive"
    assert "arguments" in judged.reason


def test_a_new_device_error_fails_although_the_original_lacks_data() -> None:
    original = launch("cuda", **raised("FileNotFoundError", "data.bin"))
    patched = launch("mps", **raised("AssertionError", "Torch not compiled with CUDA enabled"))
    assert verdict.judge(patched, basis(None, original)).verdict == "fail"


MIXED = "Expected all tensors to be on the same device, but found at least two devices, {} and cpu!"


def test_the_originals_own_device_error_is_not_new_in_another_line() -> None:
    original = launch("cuda", **raised("RuntimeError", MIXED.format("cuda:0")))
    patched = launch("cuda", **raised("RuntimeError", MIXED.format("cuda:0"), line=12))
    judged = verdict.judge(patched, basis(None, original))
    assert judged.verdict == "inconclusive"
    assert "the original cannot run here" in judged.reason


def test_the_originals_own_device_error_is_not_new_on_another_device() -> None:
    original = launch("cuda", **raised("RuntimeError", MIXED.format("cuda:0")))
    patched = launch("mps", **raised("RuntimeError", MIXED.format("mps:0")))
    assert verdict.judge(patched, basis(None, original)).verdict == "inconclusive"


NO_CUDA = ("AssertionError", "Torch not compiled with CUDA enabled")


def test_cuda_that_is_left_fails_where_the_original_wants_it_earlier() -> None:
    original = launch("cuda", **raised("ValueError", "no such kernel"))
    without = launch("cpu", **raised(*NO_CUDA, line=3))
    patched = launch("cpu", **raised(*NO_CUDA, line=9))
    judged = verdict.judge(patched, basis(None, original, without))
    assert judged.verdict == "fail"
    assert judged.reason == "AssertionError: Torch not compiled with CUDA enabled at train.py:9"


def test_what_the_program_itself_says_to_a_machine_without_cuda_decides_nothing() -> None:
    original = launch("cuda", **raised("ValueError", "no such kernel"))
    refusal = raised("RuntimeError", "this program requires a GPU")
    refusal["error"]["own"] = True
    cpu = launch("cpu", **refusal)
    judged = verdict.judge(cpu, basis(None, original, cpu))
    assert judged.verdict == "inconclusive"
    assert "the original cannot run here: ValueError: no such kernel" in judged.reason
    assert "; the patched script: RuntimeError: this program requires a GPU" in judged.reason


def test_an_exit_of_the_program_itself_for_want_of_cuda_decides_nothing() -> None:
    original = launch("cuda", outcome="limit", limits=["CUDA graphs"])
    ending = ended(code=1, stderr="this program requires a GPU")
    cpu = launch("cpu", ending=ending, outcome="exit", exit_code=1)._replace(status=1)
    assert verdict.judge(cpu, basis(None, original, cpu)).verdict == "inconclusive"


def test_the_same_end_of_both_is_told_once() -> None:
    error = raised("FileNotFoundError", "[Errno 2] No such file or directory: 'data.bin'")
    judged = verdict.judge(launch("mps", **error), basis(None, launch("cuda", **error)))
    assert "patched" not in judged.reason


def test_a_script_that_fails_on_the_plain_cpu_too_is_not_blamed_on_the_device() -> None:
    peer = launch("cpu", **raised("ValueError", "no data in train.py:3"))
    alone = launch("mps", **raised("ValueError", "no data in train.py:5", line=9))
    judged = verdict.judge_alone(alone, peer, basis(peer, trains=True))
    assert judged.verdict == "inconclusive"
    assert "the same on the plain CPU" in judged.reason


def test_without_a_run_of_the_original_nothing_passes() -> None:
    original = launch("cuda", outcome="limit", limits=["CUDA graphs"])
    judged = verdict.judge(launch("mps"), basis(None, original))
    assert judged.verdict == "inconclusive"
    assert "CUDA graphs" in judged.reason


def test_a_limit_of_the_simulation_is_neither_pass_nor_fail() -> None:
    judged = judge(launch("mps", outcome="limit", limits=["sparse tensors"]))
    assert judged.verdict == "inconclusive"
    assert "sparse tensors" in judged.reason


def test_a_limit_that_the_script_swallowed_still_counts() -> None:
    assert judge(launch("mps", limits=["Metal shaders"])).verdict == "inconclusive"


def test_death_by_a_signal_is_inconclusive() -> None:
    died = launch("mps", ending=ended(code=-11))._replace(report=None)
    judged = judge(died)
    assert judged.verdict == "inconclusive"
    assert "SIGSEGV" in judged.reason


def test_a_process_without_a_report_is_inconclusive() -> None:
    gone = launch("mps", ending=ended(code=1, stderr="boom"))._replace(report=None)
    judged = judge(gone)
    assert judged.verdict == "inconclusive"
    assert "boom" in judged.reason


def test_a_simulator_that_fails_its_self_test_is_inconclusive() -> None:
    judged = judge(launch("mps", outcome="unavailable", self_test={"failed": ["autograd"]}))
    assert judged.verdict == "inconclusive"
    assert "autograd" in judged.reason


def test_a_script_without_torch_is_inconclusive() -> None:
    assert judge(launch("mps", outcome="no-torch")).verdict == "inconclusive"


def test_memory_that_ran_out_is_inconclusive() -> None:
    assert judge(launch("mps", **raised("MemoryError", ""))).verdict == "inconclusive"
    stopped = launch("mps", ending=ended(code=None, stopped="memory"))
    assert judge(stopped).verdict == "inconclusive"


def test_a_run_that_never_used_the_device_says_so() -> None:
    judged = judge(launch("mps", device_ops=0, parameters_on_device=0))
    assert judged.verdict == "inconclusive"
    assert "never used the device" in judged.reason


def test_parameters_left_on_the_cpu_are_noticed() -> None:
    judged = judge(launch("mps", parameters_on_device=2))
    assert judged.verdict == "inconclusive"
    assert "2 of 4 parameters" in judged.reason


def test_an_autocast_that_is_off_on_mps_makes_fewer_operations() -> None:
    original, patched = launch("cuda", device_ops=92), launch("mps", device_ops=37)
    assert "only 37 operations" in judge(patched, original).reason
    held_against = basis(original)._replace(mixed_precision=True)
    assert verdict.judge(patched, held_against).verdict == "pass"


def test_an_exit_before_training_fails() -> None:
    quick = launch("mps", outcome="exit", steps=0, forwards=0, losses=[], params_digest=[])
    judged = judge(quick)
    assert judged.verdict == "fail"
    assert "0 optimizer steps instead of 3" in judged.reason


def test_one_step_too_few_fails() -> None:
    short = launch("mps", outcome="exit", steps=2, losses=[0.9, 0.8])
    assert judge(short).verdict == "fail"


def test_a_script_that_ends_where_the_original_goes_on_fails() -> None:
    reference = launch("cuda", steps=0, forwards=24, losses=[], params_digest=[])
    patched = launch("mps", steps=0, forwards=3, outcome="finished", losses=[], params_digest=[])
    assert judge(patched, reference).verdict == "fail"


def test_an_endless_loop_fails_where_the_original_was_quick() -> None:
    endless = launch("mps", ending=ended(code=None, stopped="timeout", seconds=LIMIT))
    judged = judge(endless)
    assert judged.verdict == "fail"
    assert "did not end within 60 s" in judged.reason


@pytest.mark.parametrize("done", [{"steps": 0, "forwards": 0}, {"steps": 0, "forwards": 2}])
def test_a_script_that_the_clock_ended_counts_only_with_work_done(done: dict[str, int]) -> None:
    patched = launch("cpu", outcome="stopped", losses=[], params_digest=[], **done)
    judged = verdict.judge_alone(patched, None, basis(None))
    assert judged.verdict == ("ran" if done["forwards"] else "inconclusive")


def test_numbers_of_fewer_digits_than_the_originals_are_no_pass() -> None:
    """What is lost may be too little to be seen on these data."""
    half = launch("mps", halves=["float16"])
    judged = judge(half)
    assert judged.verdict == "ran"
    assert "it computes in float16, which the original does not" in judged.reason
    assert judge(half, launch("cuda", halves=["bfloat16"])).verdict == "pass"
    assert judge(launch("mps"), launch("cuda", halves=["float16"])).verdict == "pass"


def test_a_run_that_the_clock_ended_before_the_originals_end_is_told_as_such() -> None:
    """Whatever it lacks is not held against it, and what it gave so far is no pass."""
    whole = launch("cuda", outcome="finished", steps=9, losses=[0.9, 0.8, 0.7] * 3)
    judged = judge(launch("cpu"), whole, steps=0)
    assert judged.verdict == "inconclusive"
    assert judged.reason == (
        "the time limit came after 3 optimizer steps; the original on simulated cuda made 9"
    )
    other = launch("cpu", losses=[0.9, 0.8, 0.1])
    assert "by then loss 3 is 0.1, the original's 0.7" in judge(other, whole, steps=0).reason


def test_a_timeout_beside_a_slow_original_is_inconclusive() -> None:
    endless = launch("mps", ending=ended(code=None, stopped="timeout", seconds=LIMIT))
    slow = launch("cuda", ending=ended(seconds=40.0))
    assert judge(endless, slow).verdict == "inconclusive"


def test_a_loss_that_is_off_by_a_thousandth_on_cuda_fails() -> None:
    judged = judge(launch("cuda", losses=[0.9, 0.8008, 0.7]))
    assert judged.verdict == "fail"
    assert "loss 2" in judged.reason


def test_a_loss_that_is_off_by_a_thousandth_on_mps_does_not_pass() -> None:
    assert judge(launch("mps", losses=[0.9, 0.8008, 0.7])).verdict == "inconclusive"


def test_a_learning_rate_that_is_off_shows_in_the_change_of_the_parameters() -> None:
    digests = [{"step": 1, "l2": 2.0, "sum": 1.0}, {"step": 2, "l2": 1.8999, "sum": 0.9}]
    assert judge(launch("mps", params_digest=digests)).verdict == "inconclusive"


def test_rounding_on_another_device_passes() -> None:
    assert judge(launch("mps", losses=[0.9 + 1e-7, 0.8, 0.7])).verdict == "pass"


def test_no_numbers_are_claimed_when_the_original_is_not_deterministic() -> None:
    shaky = Stability(values=False, unstable_lines=set(), unstable_files={})
    judged = judge(launch("mps", losses=[0.5, 0.4, 0.3]), stability=shaky)
    assert judged.verdict == "ran"
    assert "same numbers" not in judged.reason
    assert "numbers not compared: the original's own change" in judged.reason


def test_a_known_cause_on_another_device_is_told_and_no_numbers_are_claimed() -> None:
    judged = judge(launch("mps", losses=[0.91, 0.8, 0.7]), excuse="autocast")
    assert judged.verdict == "ran"
    assert "same numbers" not in judged.reason
    assert judged.reason.endswith("numbers not compared: autocast")


def test_a_known_cause_excuses_nothing_on_the_same_device() -> None:
    assert judge(launch("cuda", losses=[0.91, 0.8, 0.7]), excuse="autocast").verdict == "fail"


def test_other_printed_numbers_are_noticed() -> None:
    reference = launch("cuda", ending=ended(stdout="accuracy 0.512\n"))
    patched = launch("mps", ending=ended(stdout="accuracy 0.519\n"))
    assert judge(patched, reference).verdict == "inconclusive"


@pytest.mark.parametrize("excuse", ["", "autocast"])
def test_nan_on_another_device_where_the_original_has_none_fails(excuse: str) -> None:
    reference = launch("cuda", ending=ended(stdout="accuracy 0.512\n"))
    patched = launch("mps", ending=ended(stdout="accuracy nan\n"))
    judged = judge(patched, reference, excuse=excuse)
    assert judged.verdict == "fail"
    assert "nan" in judged.reason


def test_nan_that_the_original_prints_as_well_is_no_failure() -> None:
    reference = launch("cuda", ending=ended(stdout="accuracy nan 0.5\n"))
    patched = launch("mps", ending=ended(stdout="accuracy nan 0.7\n"))
    assert judge(patched, reference).verdict == "inconclusive"


@pytest.mark.parametrize("device", ["mps", "cpu"])
def test_a_line_that_names_the_device_is_compared_without_the_name(device: str) -> None:
    said = "training on {} for 4 steps\naccuracy 0.5\n"
    reference = launch("cuda", ending=ended(stdout=said.format("cuda:0")))
    patched = launch(device, ending=ended(stdout=said.format(device)))
    assert judge(patched, reference).verdict == "pass"
    other = launch(device, ending=ended(stdout=said.format(device).replace("4 steps", "3 steps")))
    assert judge(other, reference).verdict == "inconclusive"


def test_lines_that_the_original_prints_anew_each_time_are_left_out() -> None:
    reference = launch("cuda", ending=ended(stdout="run 123\nloss 0.5\n"))
    patched = launch("mps", ending=ended(stdout="run 456\nloss 0.5\n"))
    shaky = Stability(values=True, unstable_lines={(0, None)}, unstable_files={})
    judged = judge(patched, reference, stability=shaky)
    assert judged.verdict == "pass"
    assert judged.left_out == ("numbers on 1 printed line that the original changes each time",)
    assert "but for numbers on 1 printed line" in judged.reason


def test_beside_a_number_that_changes_each_time_the_rest_of_its_line_is_compared() -> None:
    reference = launch("cuda", ending=ended(stdout="run 123 of 9 gave 0.5\n"))
    shaky = Stability(values=True, unstable_lines={(0, 0)}, unstable_files={})
    right = launch("mps", ending=ended(stdout="run 456 of 9 gave 0.5\n"))
    wrong = launch("mps", ending=ended(stdout="run 456 of 9 gave 0.7\n"))
    assert judge(right, reference, stability=shaky).verdict == "pass"
    assert judge(wrong, reference, stability=shaky).verdict == "inconclusive"


def test_where_every_number_changes_from_run_to_run_none_was_compared() -> None:
    silent = {"losses": [], "params_digest": []}
    reference = launch("cuda", ending=ended(stdout="run 123\n"), **silent)
    patched = launch("mps", ending=ended(stdout="run 456\n"), **silent)
    shaky = Stability(values=True, unstable_lines={(0, None)}, unstable_files={})
    assert judge(patched, reference, stability=shaky).verdict == "ran"


ROLL_OUT: dict[str, Any] = {"steps": 0, "forwards": 24, "losses": [], "params_digest": []}


def test_a_roll_out_before_the_first_step_is_not_a_pass() -> None:
    made_an_optimizer = {**ROLL_OUT, "optimizers": 1}
    judged = judge(launch("mps", **made_an_optimizer), launch("cuda", **made_an_optimizer))
    assert judged.verdict == "inconclusive"
    assert "none ran" in judged.reason


def test_a_text_that_holds_a_step_which_did_not_run_is_not_a_pass() -> None:
    both = launch("mps", **ROLL_OUT), launch("cuda", **ROLL_OUT)
    assert judge(*both, trains=True).verdict == "inconclusive"
    assert judge(*both, trains=False).verdict == "ran"


def test_a_missing_device_call_on_cuda_fails() -> None:
    reference = launch("cuda", device_calls=[["torch.cuda.synchronize", ""]])
    judged = judge(launch("cuda"), reference)
    assert judged.verdict == "fail"
    assert "torch.cuda.synchronize" in judged.reason


def test_an_additional_wait_on_cuda_is_told_and_passes() -> None:
    patched = launch("cuda", device_calls=[["torch.cuda.synchronize", ""]])
    judged = judge(patched)
    assert judged.verdict == "pass"
    assert any("waits" in note for note in judged.notes)


def test_another_additional_device_call_on_cuda_fails() -> None:
    patched = launch("cuda", device_calls=[["torch.cuda.empty_cache", ""]])
    assert judge(patched).verdict == "fail"


class TestWithoutAnOriginal:
    def alone(self, run: Launch, peer: Launch | None = None, trains: bool = True) -> Judgement:
        return verdict.judge_alone(run, peer, basis(peer, trains=trains))

    def test_a_script_that_trains_on_the_device_passes(self) -> None:
        assert self.alone(launch("mps"), launch("cpu")).verdict == "pass"

    def test_a_device_error_fails(self) -> None:
        run = launch("cpu", **raised("AssertionError", "Torch not compiled with CUDA enabled"))
        assert self.alone(run).verdict == "fail"

    def test_missing_data_decides_nothing(self) -> None:
        assert (
            self.alone(launch("mps", **raised("FileNotFoundError", "x"))).verdict == "inconclusive"
        )

    def test_an_exit_code_of_its_own_decides_nothing_on_the_cpu(self) -> None:
        run = launch("cpu", outcome="exit", exit_code=1)
        judged = self.alone(run)
        assert judged.verdict == "inconclusive"
        assert "exits 1 by itself" in judged.reason

    def test_an_error_that_the_cpu_has_too_decides_nothing(self) -> None:
        error = raised("ValueError", "bad shape")
        judged = self.alone(launch("mps", **error), launch("cpu", **error))
        assert judged.verdict == "inconclusive"

    def test_an_error_that_only_the_device_has_fails(self) -> None:
        run = launch("mps", **raised("ValueError", "bad shape"))
        assert self.alone(run, launch("cpu")).verdict == "fail"

    def test_a_training_step_that_never_ran_is_noticed(self) -> None:
        run = launch("mps", steps=0, forwards=1, losses=[], outcome="exit")
        judged = self.alone(run)
        assert judged.verdict == "inconclusive"
        assert "none ran" in judged.reason

    def test_other_numbers_than_on_the_cpu_do_not_pass(self) -> None:
        run = launch("mps", losses=[0.9, 0.8008, 0.7])
        assert self.alone(run, launch("cpu")).verdict == "inconclusive"

    def test_a_run_that_never_used_the_device_says_so(self) -> None:
        judged = self.alone(launch("mps", device_ops=0), launch("cpu"))
        assert "never used the device" in judged.reason


def digests(norm: float, total: float) -> list[dict[str, float]]:
    return [{"step": 1, "l2": norm, "sum": total}]


def test_a_sum_in_which_terms_cancel_is_held_against_the_norm() -> None:
    original = launch("cuda", params_digest=digests(11.685291, 7.430461))
    patched = launch("mps", params_digest=digests(11.685288, 7.430372))
    assert judge(patched, original).verdict == "pass"


def test_a_sum_that_is_off_by_more_than_rounding_does_not_pass() -> None:
    original = launch("cuda", params_digest=digests(11.685291, 7.430461))
    patched = launch("mps", params_digest=digests(11.685291, 7.4301))
    assert judge(patched, original).verdict == "inconclusive"


class TestWordsOfAnError:
    def test_advice_after_the_first_sentence_is_left_out(self) -> None:
        message = "can't convert mps:0 device type tensor to numpy. Use Tensor.cpu() to copy it."
        judged = judge(launch("mps", **raised("TypeError", message)))
        assert "tensor to numpy at train.py:7" in judged.reason

    def test_a_dot_inside_a_name_ends_no_sentence(self) -> None:
        assert first_sentence("module 'torch.mps' has no attribute 'Event'") == (
            "module 'torch.mps' has no attribute 'Event'"
        )

    def test_a_long_sentence_keeps_its_beginning_and_its_end(self) -> None:
        said = first_sentence(f"Expected one of {'cpu, ' * 60} at start of device string: metal")
        assert said.startswith("Expected one of cpu")
        assert said.endswith("at start of device string: metal")
        assert len(said) < 200

    def test_colours_of_a_terminal_are_left_out(self) -> None:
        assert first_sentence("Weights \x1b[1monly\x1b[0m load failed. Do this") == (
            "Weights only load failed"
        )


def test_the_numbers_that_differ_are_shown() -> None:
    one = launch("cuda", ending=ended(stdout="0 1 2 3 4 5 6 7.12345678"))
    two = launch("cuda", ending=ended(stdout="0 1 2 3 4 5 6 7.12345679"))
    assert "prints 6 7.12345679 where the original prints 6 7.12345678" in judge(two, one).reason


def saving(launch_: Launch, number: float) -> Launch:
    line = (Printed(number, 0.0),)
    return launch_._replace(saved={"w.json": Text((line,))})


def test_a_file_with_other_numbers_does_not_pass() -> None:
    judged = judge(saving(launch("mps"), 1.5), saving(launch("cuda"), 1.0))
    assert judged.verdict == "inconclusive"
    assert "w.json holds other numbers" in judged.reason


def test_a_file_with_other_numbers_fails_on_the_device_of_the_original() -> None:
    judged = judge(saving(launch("cuda"), 1.5), saving(launch("cuda"), 1.0))
    assert judged.verdict == "fail"


def test_a_file_that_the_original_changes_each_time_is_left_out() -> None:
    shaky = Stability(values=True, unstable_lines=set(), unstable_files={"w.json": None})
    judged = judge(saving(launch("mps"), 1.5), saving(launch("cuda"), 1.0), stability=shaky)
    assert judged.verdict == "pass"


def test_where_no_run_gave_a_number_none_is_called_the_same() -> None:
    silent = {"steps": 0, "losses": [], "params_digest": []}
    judged = judge(launch("mps", **silent), launch("cuda", **silent))
    assert judged.verdict == "ran"
    assert "same numbers" not in judged.reason
    assert "neither gave numbers to compare" in judged.reason


def working(*rows: tuple[str, float, float]) -> Any:
    return {"placement": [list(row) for row in rows]}


def test_a_model_that_is_left_on_the_cpu_is_told_by_its_name() -> None:
    before = working(("Big.trunk", 9.0, 0.0), ("Big.head", 1.0, 0.0), ("Small", 10.0, 0.0))
    after = working(("Big.trunk", 0.0, 9.0), ("Big.head", 0.0, 1.0), ("Small", 10.0, 0.0))
    judged = judge(launch("mps", **after), launch("cuda", **before))
    assert judged.verdict == "inconclusive"
    assert "Big runs on the CPU (50 % of the work of all models)" in judged.reason


def test_a_part_that_is_left_on_the_cpu_is_told_by_its_own_name() -> None:
    before = working(("Big.trunk.0", 9.0, 0.0), ("Big.trunk.1", 9.0, 0.0), ("Big.head", 2.0, 0.0))
    after = working(("Big.trunk.0", 0.0, 9.0), ("Big.trunk.1", 0.0, 9.0), ("Big.head", 2.0, 0.0))
    judged = judge(launch("mps", **after), launch("cuda", **before))
    assert judged.reason.startswith("Big.trunk runs on the CPU (90 %")


def test_what_the_original_has_on_the_cpu_may_stay_there() -> None:
    rows = working(("Big", 0.0, 9.0), ("Small", 1.0, 0.0))
    assert judge(launch("mps", **rows), launch("cuda", **rows)).verdict == "pass"


def test_next_to_no_work_on_the_cpu_is_only_noted() -> None:
    before, after = (working(("Big", 999.0, 0.0), ("Tiny", *tiny)) for tiny in [(1, 0), (0, 1)])
    judged = judge(launch("mps", **after), launch("cuda", **before))
    assert judged.verdict == "pass"
    assert any("Tiny runs on the CPU" in note for note in judged.notes)


SILENT: dict[str, Any] = {"steps": 0, "losses": [], "params_digest": []}


def test_a_result_that_is_only_logged_is_compared() -> None:
    one = launch("cuda", logged=["accuracy 0.5 in 3 ms"], **SILENT)
    same = launch("mps", logged=["accuracy 0.5 in 9 ms"], **SILENT)
    other = launch("mps", logged=["accuracy 0.7 in 3 ms"], **SILENT)
    assert judge(same, one).verdict == "pass"
    assert "it logs 0.7 where the original logs 0.5" in judge(other, one).reason


def test_another_copy_to_the_host_on_a_cuda_machine_is_noted() -> None:
    calls = [["move", "cuda:0"]]
    reference = launch("cuda", device_calls=calls)
    judged = judge(launch("cuda", device_calls=[*calls, ["move", "cpu"]]), reference)
    assert judged.verdict == "pass"
    assert judged.notes == ("the patched script copies 1 more tensors to the host",)
