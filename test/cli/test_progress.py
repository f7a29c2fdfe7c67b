"""Progress of long commands: on a terminal only, and never in what programs read."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

LONG = """
import time
from manipapy_core.cli.progress import progress
with progress("reading run.mcap") as display:
    for number in range(12):
        display.update(number, 12, "counting" if number > 8 else "")
        time.sleep(0.1)
print("done")
"""
SHORT = LONG.replace("sleep(0.1)", "sleep(0.01)")


def run_on_terminal(*command: str, timeout: float = 120.0) -> tuple[str, str]:
    """Standard output, and what is written to the terminal that is the standard error."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "100", "TERM": "xterm"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, text=True, env=environment)
    os.close(theirs)
    shown = bytearray()
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        shown += part
    os.close(ours)
    out, _ = process.communicate(timeout=timeout)
    assert process.returncode == 0, shown.decode()
    return out, shown.decode()


def test_a_terminal_shows_what_is_done_and_how_much():
    out, shown = run_on_terminal(sys.executable, "-c", LONG)
    assert out == "done\n"
    assert "reading run.mcap" in shown and "counting" in shown and "%" in shown and "0:00:0" in shown


def test_what_is_quick_shows_nothing():
    assert run_on_terminal(sys.executable, "-c", SHORT) == ("done\n", "")


def test_a_pipe_gets_nothing():
    done = subprocess.run([sys.executable, "-c", LONG], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("done\n", "")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("srdf", "ur5"), "checking which links of ur5"),
        (("polytope", "ur5", "0", "-1.2", "1.4", "-0.7", "0.5", "2", "--tip", "tool0"), "polytope"),
    ],
)
def test_commands_that_take_long_show_it(words, text):
    program = f"""
import sys
from manipapy_core.cli import main, progress
progress.SHOW_AFTER = 0.0
sys.argv[1:] = {words!r}
main()
"""
    _, shown = run_on_terminal(sys.executable, "-c", program)
    assert text in shown
