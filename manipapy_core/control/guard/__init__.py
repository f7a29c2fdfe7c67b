"""The safety guard: ordered checks, and the hold that answers them."""

from .guard import CollisionAhead, Guard
from .hold import Hold
from .settings import GuardSettings
from .verdict import Action, Check, Verdict

__all__ = ["Action", "Check", "CollisionAhead", "Guard", "GuardSettings", "Hold", "Verdict"]
