"""Control laws: each with one `step`, made by name, changed without a jump."""

from .adaptive import Adaptive
from .cartesian import CartesianImpedance
from .gains import Gain, GainError, GainShape
from .impedance import JointImpedance
from .joint import PD, PID
from .law import Law
from .model_based import ComputedTorque, Feedforward, GravityCompensation, PDGravity
from .registry import LAWS, UnknownLaw, law_class, make_law
from .sliding import SlidingMode
from .switching import LawSwitcher

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
