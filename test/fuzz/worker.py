"""Runs cases of one target in this process and records what should not have happened."""

from __future__ import annotations

import json
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from .targets import PERMITTED, TARGETS

MAX_SECONDS = 2.0
"""Of processor time: machines are busy."""
MAX_WAIT = 120.0
"""[s]"""
MAX_MEMORY = 1 << 30
"""[B]"""
WARM_UP = 20
"""Cases before the first that counts."""


class Hang(BaseException):
    """A case takes too long; no `except Exception` hides it."""


@dataclass(frozen=True)
class Finding:
    """A case that should have ended otherwise."""

    target: str
    seed: int
    what: str


def _ring(*_: object) -> None:
    raise Hang()


def run_cases(target: str, seeds: Iterable[int], *, progress: Path | None = None, seconds: float = float("inf")):
    """Runs cases; yields after each the number of cases so far and the finding, or None.

    Args:
        target: Of `TARGETS`.
        seeds: One per case.
        progress: File that gets the seed before each case, for the case that this process dies.
        seconds: Time after which no case begins [s].
    """
    function, count = TARGETS[target], 0
    warnings.simplefilter("ignore")
    before = [signal.signal(number, _ring) for number in (signal.SIGALRM, signal.SIGPROF)]
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    for seed in range(WARM_UP):
        with suppress(*PERMITTED):
            function(random.Random(-1 - seed), folder)  # what is compiled or imported first is not counted
    until = time.monotonic() + seconds
    try:
        for seed in seeds:
            if time.monotonic() > until:
                return
            if progress is not None:
                progress.write_text(str(seed), encoding="ascii")
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            finding = None
            signal.setitimer(signal.ITIMER_REAL, MAX_WAIT)
            signal.setitimer(signal.ITIMER_PROF, 2.0 * MAX_SECONDS)
            began = time.process_time()
            try:
                function(random.Random(seed), folder)
            except PERMITTED:
                pass
            except Hang:
                finding = f"takes longer than {2.0 * MAX_SECONDS:g} s of processor time, or {MAX_WAIT:g} s of waiting"
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                finding = "".join(traceback.format_exception(error)[-3:])
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
                signal.setitimer(signal.ITIMER_PROF, 0.0)
            taken = time.process_time() - began
            if finding is None and taken > MAX_SECONDS:
                finding = f"took {taken:.1f} s of processor time"
            grown = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak)
            if finding is None and grown > MAX_MEMORY:
                finding = f"took {grown >> 20} MiB"
            count += 1
            yield count, None if finding is None else Finding(target, seed, finding)
    finally:
        for number, handler in zip((signal.SIGALRM, signal.SIGPROF), before):
            signal.signal(number, handler)
        shutil.rmtree(folder, ignore_errors=True)


def main() -> None:
    """python -m fuzz.worker target first count seconds file: findings as JSON lines, then the number of cases."""
    target, first, count, seconds, file = sys.argv[1:]
    done = 0
    seeds = range(int(first), int(first) + int(count))
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, resource.RLIM_INFINITY))
    for done, finding in run_cases(target, seeds, progress=Path(file), seconds=float(seconds)):  # noqa: B007
        if finding is not None:
            print(json.dumps(asdict(finding)), flush=True)
    print(json.dumps({"cases": done}), flush=True)


if __name__ == "__main__":
    main()
