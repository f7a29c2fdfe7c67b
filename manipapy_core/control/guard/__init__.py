"""The safety guard: ordered checks, and the hold that answers them."""

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
