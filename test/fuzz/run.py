"""Runs the fuzzers in processes of their own: python -m fuzz.run [--seconds 60] [--targets urdf,xacro] [--first 0].

Every case is a target and a seed, so that a finding can be run again: python -m fuzz.run --targets urdf --first 1234
--cases 1.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from .targets import TARGETS

BATCH = 20_000
"""Cases of one process."""
SHARES = {"urdf": 8.0, "xacro": 3.0}
"""Of the time, in place of 1."""


def fuzz(target: str, first: int, cases: int, seconds: float) -> tuple[int, list[dict]]:
    """Number of cases, and the findings; a process that dies is a finding, too."""
    done, findings, end = 0, [], time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        progress = Path(folder) / "seed"
        while done < cases and time.monotonic() < end:
            count, left = min(BATCH, cases - done), end - time.monotonic()
            numbers = [str(first + done), str(count), f"{left:.1f}", str(progress)]
            command = [sys.executable, "-m", "fuzz.worker", target, *numbers]
            process = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=dict(os.environ))
            rows = [json.loads(line) for line in process.stdout.splitlines() if line.startswith("{")]
            findings += [row for row in rows if "seed" in row]
            ended = [row["cases"] for row in rows if "cases" in row]
            if ended:
                done += ended[0]
                continue
            seed = int(progress.read_text(encoding="ascii")) if progress.exists() else first + done
            findings.append({"target": target, "seed": seed, "what": f"the process ended with {process.returncode}"})
            done = seed + 1 - first
    return done, findings


def main() -> int:
    """Runs all targets, each for its share of the time."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--targets", default=",".join(TARGETS))
    parser.add_argument("--first", type=int, default=0, help="seed of the first case")
    parser.add_argument("--cases", type=int, default=sys.maxsize)
    options = parser.parse_args()
    names, found = options.targets.split(","), 0
    total = sum(SHARES.get(name, 1.0) for name in names)
    for name in names:
        done, findings = fuzz(name, options.first, options.cases, options.seconds * SHARES.get(name, 1.0) / total)
        found += len(findings)
        for finding in findings[:20]:
            print(f"{name}, seed {finding['seed']}: {finding['what']}")
        print(f"{name}: {done} cases, {len(findings)} findings", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
