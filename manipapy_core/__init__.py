"""manipapy: a robot-arm toolkit. From one robot description, exact kinematics and dynamics and all that follows."""

from . import dynamics, kinematics
from .dynamics import Payload
from .errors import InputError, ManipapyError
from .model import Chain, Robot

__all__ = ["Chain", "InputError", "ManipapyError", "Payload", "Robot", "dynamics", "kinematics"]
