"""The safety guard: ordered checks of every tick, and the hold."""

from .checks import Action, Check, GuardSettings, Verdict
from .collision import CollisionAhead, ForecastPolicy
from .guard import Guard
from .hold import Hold

__all__ = [
    "Action",
    "Check",
    "CollisionAhead",
    "ForecastPolicy",
    "Guard",
    "GuardSettings",
    "Hold",
    "Verdict",
]
