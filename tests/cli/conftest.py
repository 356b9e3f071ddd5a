"""What tests of commands share."""

import pytest

from groundup.cli.main import main


@pytest.fixture
def run_command(capsys):
    """Runs a command line in this process: (exit code, stdout, stderr)."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return run
