"""The command `manipapy`."""

from __future__ import annotations

import sys

from .. import requirements

__all__ = ["main"]


def main() -> None:
    """Entry point: a package that is missing is a sentence, not a traceback."""
    try:
        from .app import main as run

        run()
    except ModuleNotFoundError as error:
        sentence = requirements.missing(error)
        if sentence is None:
            raise
        sys.exit(f"manipapy: {sentence}; `manipapy doctor` checks everything")
