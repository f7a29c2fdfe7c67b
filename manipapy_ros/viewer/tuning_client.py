"""Law, gains and speed of a running controller, set from the web page through its parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.parameter import Parameter, parameter_value_to_python

from manipapy_core.control import LAWS, law_class
from manipapy_core.draw import TuningCommands
from manipapy_core.model import Chain

from ..client.session import NoAnswer, Refused, RosSession

CONTROLLER = "controller"


class TuningClient:
    """Reads and sets parameters of the node `controller`.

    Args:
        session: Whose node is used.
        chain: The arm, for default gains.
        set_motion_speed: Sets the share of the limits that new motions use.
    """

    def __init__(self, session: RosSession, chain: Chain, set_motion_speed: Callable[[float], None]):
        self._session, self._chain, self._set_motion_speed = session, chain, set_motion_speed
        laws = {
            name: {gain.name: f"{gain.text} [{gain.unit}], {gain.shape.value}" for gain in law.GAINS}
            for name, law in LAWS.items()
        }
        self.commands = TuningCommands(
            laws=laws,
            gain=self.gain,
            set_law=self.set_law,
            set_gain=self.set_gain,
            set_motion_speed=self.set_motion_speed,
            set_speed=self.set_speed,
        )

    def gain(self, law: str, name: str) -> list[float]:
        """Values of a gain: those of the controller if it answers and they are set, otherwise the defaults."""
        try:
            request = GetParameters.Request(names=[f"gains.{law}.{name}"])
            answer = self._session.call(GetParameters, f"{CONTROLLER}/get_parameters", request, seconds=1.0)
            found: Any = parameter_value_to_python(answer.values[0]) if answer.values else None
        except NoAnswer:
            found = None
        values = found if found else law_class(law).default_gains(self._chain)[name]
        return np.atleast_1d(np.asarray(values, dtype=np.float64)).tolist()

    def set_law(self, law: str) -> str:
        """Change the control law."""
        self._set("law", law)
        return f"the law is {law}"

    def set_gain(self, law: str, name: str, values: list[float]) -> str:
        """Change a gain."""
        self._set(f"gains.{law}.{name}", values)
        return f"{name} of {law} is {' '.join(f'{value:g}' for value in values)}"

    def set_motion_speed(self, share: float) -> str:
        """Change the speed of motions that are planned from now on."""
        self._set_motion_speed(share)
        return f"new motions use {100 * share:.0f} % of the limits"

    def set_speed(self, share: float) -> str:
        """Change the speed of the running motion."""
        self._set("speed", share)
        return f"motions run at {100 * share:.0f} % of their speed"

    def _set(self, name: str, value: str | float | list[float]) -> None:
        message: ParameterMessage = Parameter(name, value=value).to_parameter_msg()
        answer = self._session.call(
            SetParameters, f"{CONTROLLER}/set_parameters", SetParameters.Request(parameters=[message])
        )
        if not answer.results[0].successful:
            raise Refused(f"{self._session.namespace}/{CONTROLLER}", answer.results[0].reason)
