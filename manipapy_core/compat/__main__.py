"""Runs a program written for ManipulaPy: `python -m manipapy_core.compat program.py [arguments]`."""

from __future__ import annotations

import os
import runpy
import sys

from .alias import install


def main() -> None:
    """Runs the program that the command line names, with its own folder first in the search path."""
    if len(sys.argv) < 2:
        sys.exit("usage: python -m manipapy_core.compat program.py [arguments]")
    del sys.argv[0]
    install(replace=True)
    sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[0])))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
