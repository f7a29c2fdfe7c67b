"""Control of an arm: laws with one `step`, trajectory execution, the safety guard, the 1 kHz loop."""

from .bounds import MotionBounds
from .controller import ArmController, ControllerBusy
from .execution import (
    ErrorCode,
    Execution,
    ExecutionSettings,
    GoalRefused,
    GoalStatus,
    JointTolerance,
    JointTrajectory,
    Outcome,
    Phase,
    Plan,
    Tolerances,
    prepare,
)
from .guard import Action, Check, CollisionAhead, Guard, GuardSettings, Hold, Verdict
from .laws import LAWS, GainError, Law, LawSwitcher, UnknownLaw, law_class, make_law
from .loop import LoopReport, LoopSettings, LoopStuck, PeriodicLoop, RealtimeReport
from .plant import SimulatedArm
from .settings import ControllerSettings
from .state import Reference, State
from .state_filter import FilterSettings, StateFilter
from .status import Status
from .tuning import Kind, SimulatedJoint, TunedGains, UltimateGain, find_ultimate_gain, ziegler_nichols

__all__ = [
    "LAWS",
    "Action",
    "ArmController",
    "Check",
    "CollisionAhead",
    "ControllerBusy",
    "ControllerSettings",
    "ErrorCode",
    "Execution",
    "ExecutionSettings",
    "FilterSettings",
    "GainError",
    "GoalRefused",
    "GoalStatus",
    "Guard",
    "GuardSettings",
    "Hold",
    "JointTolerance",
    "JointTrajectory",
    "Kind",
    "Law",
    "LawSwitcher",
    "LoopReport",
    "LoopSettings",
    "LoopStuck",
    "MotionBounds",
    "Outcome",
    "PeriodicLoop",
    "Phase",
    "Plan",
    "RealtimeReport",
    "Reference",
    "SimulatedArm",
    "SimulatedJoint",
    "State",
    "StateFilter",
    "Status",
    "Tolerances",
    "TunedGains",
    "UltimateGain",
    "UnknownLaw",
    "Verdict",
    "find_ultimate_gain",
    "law_class",
    "make_law",
    "prepare",
    "ziegler_nichols",
]
