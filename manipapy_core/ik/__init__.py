"""Inverse kinematics: one solution in microseconds, all of them, along a path, or by the textbook's methods."""

from ..compiler.algorithms.ik_step import Task
from .closed_form import closed_form
from .methods import damped_least_squares, jacobian_transpose, pseudo_inverse
from .numeric import Tolerances
from .objectives import centre_of_limits, clearance, manipulability, near
from .poses import NotAPose
from .result import IKBatch, IKResult, IKSolutions, IKStatus
from .solve import solve, solve_batch
from .tracking import Break, BreakReason, Track, track

__all__ = [
    "Break",
    "BreakReason",
    "IKBatch",
    "IKResult",
    "IKSolutions",
    "IKStatus",
    "NotAPose",
    "Task",
    "Tolerances",
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
