"""Inverse kinematics: one solution in microseconds, all of them, along a path, or by the textbook's methods."""

from .closed_form import closed_form
from .inputs import NotAPose
from .numeric import IKTolerances
from .result import IKBatch, IKResult, IKSolutions, IKStatus
from .selection import centre_of_limits, clearance, manipulability, near
from .solve import solve, solve_batch
from .textbook import damped_least_squares, jacobian_transpose, pseudo_inverse
from .tracking import Break, BreakReason, Track, track

__all__ = [
    "Break",
    "BreakReason",
    "IKBatch",
    "IKResult",
    "IKSolutions",
    "IKStatus",
    "IKTolerances",
    "NotAPose",
    "Track",
    "centre_of_limits",
    "clearance",
    "closed_form",
    "damped_least_squares",
    "jacobian_transpose",
    "manipulability",
    "near",
    "pseudo_inverse",
    "solve",
    "solve_batch",
    "track",
]
