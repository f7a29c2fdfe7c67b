"""Long compilations are announced, short ones are not."""

from __future__ import annotations

import os
import subprocess
import sys

from manipapy_core.compile_notice import TEXT

PROGRAM = """
import numpy as np
from manipapy_core.perception.points.dbscan import dbscan
print(dbscan(np.zeros((10, 3)), 0.1, 5))
"""


def test_a_long_compilation_is_announced_once_per_installation(tmp_path):
    """Here the compiled functions are kept in a folder that is empty at first."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=300)
        for _ in range(2)
    )
    assert first.returncode == second.returncode == 0, first.stderr + second.stderr
    assert first.stdout == second.stdout
    assert first.stderr.count(TEXT) == 1
    assert second.stderr == ""


LATE_PROGRAM = """
import numpy as np
from manipapy_core.compile_notice import report_late_compilation
from manipapy_core.perception.points.dbscan import dbscan
report_late_compilation("perception")
dbscan(np.zeros((10, 3)), 0.1, 5)
"""


def test_a_compilation_after_the_start_is_reported_with_its_function(tmp_path):
    """It delays an arm that moves: nodes compile before they are active."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", LATE_PROGRAM], env=environment, capture_output=True, text=True, timeout=300
        )
        for _ in range(2)
    )
    assert "after the start of perception" in first.stderr
    assert "manipapy_core.perception.points" in first.stderr
    assert second.stderr == ""
