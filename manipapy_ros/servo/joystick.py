"""Twists from a joystick: sticks move and turn the tip while a switch is held."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from rclpy.parameter import Parameter
from sensor_msgs.msg import Joy

from manipapy_core.errors import InputError
from manipapy_core.typing import Array

from ..common.params import Param, Values

JOYSTICK_PARAMETERS = (
    Param("joy.axes", [3.0, 4.0, -1.0, 1.0, 0.0, -1.0],
          "Axis for turns about x, y, z and moves along x, y, z; -1: none", kind=Parameter.Type.DOUBLE_ARRAY),
    Param("joy.up_buttons", [2.0, 3.0, 1.0, 0.0],
          "Buttons for turns about z to the left and right, and moves down and up along z; -1: none",
          kind=Parameter.Type.DOUBLE_ARRAY),
    Param("joy.enable_button", 4, "Button that must be held; -1: none", minimum=-1, maximum=63),
    Param("joy.linear_speed", 0.15, "Speed of a full stick [m/s]", minimum=0.0, maximum=2.0),
    Param("joy.angular_speed", 0.6, "Speed of a full stick [rad/s]", minimum=0.0, maximum=5.0),
    Param("joy.dead_zone", 0.08, "Deflection below which a stick is at rest", minimum=0.0, maximum=0.9),
)  # fmt: skip


@dataclass(frozen=True)
class Joystick:
    """Mapping from a joystick to a twist in base axes; its defaults are those of a gamepad with two sticks."""

    axes: tuple[int, ...]
    buttons: tuple[int, ...]
    """Turn left, turn right, down, up."""
    enable: int
    linear_speed: float
    angular_speed: float
    dead_zone: float

    @classmethod
    def of(cls, values: Values) -> Joystick:
        """As `JOYSTICK_PARAMETERS` set it."""
        axes, buttons = (tuple(int(n) for n in values[name]) for name in ("joy.axes", "joy.up_buttons"))
        if len(axes) != 6 or len(buttons) != 4:
            raise InputError(f"joy.axes has {len(axes)} and joy.up_buttons {len(buttons)} numbers; give 6 and 4")
        return cls(
            axes,
            buttons,
            int(values["joy.enable_button"]),
            float(values["joy.linear_speed"]),
            float(values["joy.angular_speed"]),
            float(values["joy.dead_zone"]),
        )

    def is_enabled(self, message: Joy) -> bool:
        """Whether the switch is held."""
        return self.enable < 0 or self._pressed(message, self.enable) > 0.0

    def twist(self, message: Joy) -> Array | None:
        """Twist in base axes, angular first [rad/s, m/s], shape (6,); None while the switch is not held."""
        if not self.is_enabled(message):
            return None
        twist = np.array([self._deflection(message, axis) for axis in self.axes])
        left, right, down, up = (self._pressed(message, button) for button in self.buttons)
        twist[2] += left - right
        twist[5] += up - down
        twist[:3] *= self.angular_speed
        twist[3:] *= self.linear_speed
        return twist

    def _deflection(self, message: Joy, axis: int) -> float:
        if not 0 <= axis < len(message.axes):
            return 0.0
        value = float(message.axes[axis])
        return 0.0 if abs(value) < self.dead_zone else value

    @staticmethod
    def _pressed(message: Joy, button: int) -> float:
        return float(0 <= button < len(message.buttons) and message.buttons[button] != 0)
