"""The fuzzer finds what it is to find, and its targets run; `make fuzz` runs them for long."""

import subprocess
import sys
from pathlib import Path

import pytest
from fuzz.__main__ import TARGETS
from fuzz.outcome import expect_equal, outcome
from fuzz.runner import Case, case_of, run_case

from groundup.errors import DataError, TokenizerError


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_each_target_finds_nothing(target, capsys):
    cases = [Case(target, 0, number) for number in range(12)]
    assert all(run_case(case) for case in cases), capsys.readouterr().err


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_case_makes_the_same_input_again(target):
    case = Case(target, 7, 3)
    again = case_of(str(case), TARGETS)
    assert repr(again.make()) == repr(case.make()) != repr(Case(target, 8, 3).make())


WITH_A_FAULT = """
import os, signal, sys, time
from fuzz.outcome import Target
from fuzz.runner import run

def check(number):
    if number > 900:
        {fault}

target = Target("planted", lambda rng: rng.randrange(1000), check)
sys.exit(0 if run([target], 1, 60, limit_s=2) else 1)
"""


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("raise KeyError(number)", "KeyError: 9"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "it ended the process with status -11"),
        ("os._exit(1)", "it ended the process with status 1"),  # as the sanitizers do
        ("time.sleep(99)", "it took longer than 2 s"),
    ],
)
def test_faults_are_reported_with_the_input(fault, message):
    code = WITH_A_FAULT.format(fault=fault)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=Path(__file__).parent, timeout=100
    )
    assert done.returncode == 1
    assert "finding in case planted:1:" in done.stderr
    assert "input: 9" in done.stderr and message in done.stderr


def test_only_the_errors_that_are_expected_pass():
    def fail(error):
        raise error

    assert outcome(lambda: 7) == ("result", 7)
    assert outcome(lambda: fail(TokenizerError("no"))) == ("error", "no")
    assert outcome(lambda: fail(ValueError("no")), ValueError) == ("error", "no")
    for error, refusal in [
        (ValueError("no"), TokenizerError),
        (DataError("no"), ValueError),
        (KeyError(1), ValueError),
    ]:
        with pytest.raises((type(error), AssertionError)):
            outcome(lambda error=error: fail(error), refusal)
    with pytest.raises(AssertionError, match="one sentence"):
        outcome(lambda: fail(TokenizerError("two\nlines")))
    with pytest.raises(AssertionError, match=r"ids \(first at 1\)"):
        expect_equal([1, 2], [1, 3], "ids")
