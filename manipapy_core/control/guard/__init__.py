"""The safety guard: ordered checks, and the hold that answers them."""

from .checks import Action, Check, GuardSettings, Verdict
from .guard import CollisionAhead, Guard
from .hold import Hold

__all__ = [
    "Action",
    "Check",
    "CollisionAhead",
    "Guard",
    "GuardSettings",
    "Hold",
    "Verdict",
]
