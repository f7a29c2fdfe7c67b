"""The 1 kHz loop: a punctual thread and its statistics."""

from .loop import Histogram, LoopReport, LoopSettings, LoopStuck, PeriodicLoop, Spread
from .realtime import RealtimeReport, enter_realtime

__all__ = [
    "Histogram",
    "LoopReport",
    "LoopSettings",
    "LoopStuck",
    "PeriodicLoop",
    "RealtimeReport",
    "Spread",
    "enter_realtime",
]
