"""Control laws, their registry, and the switch between them without a jump of the efforts."""

from .adaptive import Adaptive
from .cartesian import CartesianImpedance
from .law import Gain, GainError, GainShape, Law
from .model_based import ComputedTorque, Feedforward, GravityCompensation, JointImpedance, PDGravity, SlidingMode
from .pid import PD, PID
from .registry import LAWS, LawSwitcher, UnknownLaw, law_class, make_law

__all__ = [
    "LAWS",
    "PD",
    "PID",
    "Adaptive",
    "CartesianImpedance",
    "ComputedTorque",
    "Feedforward",
    "Gain",
    "GainError",
    "GainShape",
    "GravityCompensation",
    "JointImpedance",
    "Law",
    "LawSwitcher",
    "PDGravity",
    "SlidingMode",
    "UnknownLaw",
    "law_class",
    "make_law",
]
