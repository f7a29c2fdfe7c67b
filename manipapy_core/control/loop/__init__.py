"""The periodic loop: a real-time thread and its timing statistics."""

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
