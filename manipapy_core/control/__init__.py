"""Control of an arm: control laws, trajectory execution, the safety guard and the 1 kHz loop."""

from .arm_model import SimulatedArm
from .controller import ArmController, ControllerBusy
from .execution.execution import Execution, GoalPhase
from .execution.goal import (
    ErrorCode,
    ExecutionSettings,
    GoalRefused,
    GoalStatus,
    GoalTolerances,
    JointTolerance,
    Outcome,
)
from .execution.validation import ValidatedGoal, prepare
from .guard.checks import Action, Check, GuardSettings, Verdict
from .guard.collision import CollisionAhead, ForecastPolicy
from .guard.guard import Guard
from .guard.hold import Hold
from .laws.law import GainError, Law
from .laws.registry import LAWS, LawSwitcher, UnknownLaw, law_class, make_law
from .loop.loop import LoopReport, LoopSettings, LoopStuck, PeriodicLoop
from .loop.realtime import RealtimeReport
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
    "ForecastPolicy",
    "GainError",
    "GoalPhase",
    "GoalRefused",
    "GoalStatus",
    "GoalTolerances",
    "Guard",
    "GuardSettings",
    "Hold",
    "JointTolerance",
    "Kind",
    "Law",
    "LawSwitcher",
    "LoopReport",
    "LoopSettings",
    "LoopStuck",
    "Outcome",
    "PeriodicLoop",
    "RealtimeReport",
    "Reference",
    "SimulatedArm",
    "SimulatedJoint",
    "State",
    "StateFilter",
    "Status",
    "TunedGains",
    "UltimateGain",
    "UnknownLaw",
    "ValidatedGoal",
    "Verdict",
    "find_ultimate_gain",
    "law_class",
    "make_law",
    "prepare",
    "ziegler_nichols",
]
