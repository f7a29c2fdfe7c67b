"""The command `manipapy`."""

from .app import main

__all__ = ["main"]
