"""The 1 kHz loop: a punctual thread and its statistics."""

from .histogram import Histogram, Spread
from .loop import LoopReport, LoopSettings, LoopStuck, PeriodicLoop
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
