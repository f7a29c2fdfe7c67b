"""Keyboard teleoperation in a plain terminal: `manipapy teleop`."""

from __future__ import annotations

import os
import select
import sys
import termios
import time
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from control_msgs.msg import JointJog
from geometry_msgs.msg import TwistStamped
from moveit_msgs.msg import ServoStatus
from rclpy.node import Node

from manipapy_core.errors import InputError

RATE = 50.0
"""Commands per second while a key is held [Hz]."""
HELD = 0.25
"""A key counts as held this long after its last repetition [s]; terminals do not report its release."""
FIRST_HELD = 0.6
"""The same after its first press: terminals begin to repeat after half a second [s]."""
TWISTS = {
    "w": (3, 1.0), "s": (3, -1.0), "a": (4, 1.0), "d": (4, -1.0), "q": (5, 1.0), "e": (5, -1.0),
    "i": (1, 1.0), "k": (1, -1.0), "j": (0, -1.0), "l": (0, 1.0), "u": (2, 1.0), "o": (2, -1.0),
}  # fmt: skip
"""Key to the component of a twist, angular first, and its sign."""
HELP = """\
w s   forward, back (x)      i k   turn about y      + -   faster, slower
a d   left, right (y)        j l   turn about x      t     axes of the base or of the tool
q e   up, down (z)           u o   turn about z      1-9   turn a joint; 0: the other way
space stop                   x     quit
"""


@dataclass
class Pilot:
    """Commands of the keys."""

    speed: float = 0.1
    """[m/s]; turns are five times as fast in rad/s."""
    in_tool: bool = False
    backwards: bool = False
    """Joints turn the other way; toggled by 0."""
    twist: tuple[float, ...] | None = None
    joint: tuple[int, float] | None = None
    until: float = 0.0
    """When the command ends, if no key repeats it [s]."""
    last_key: str = ""
    done: bool = False

    def press(self, key: str, now: float) -> None:
        """Takes one key.

        Args:
            now: [s]
        """
        repeated = key == self.last_key and now - self.until < FIRST_HELD
        self.last_key = key
        if key in ("x", "\x03", "\x04"):
            self.done = True
        elif key in ("+", "="):
            self.speed = min(1.25 * self.speed, 0.5)
        elif key == "-":
            self.speed = max(0.8 * self.speed, 0.005)
        elif key == "t":
            self.in_tool = not self.in_tool
        elif key == "0":
            self.backwards = not self.backwards
        elif key in TWISTS:
            component, sign = TWISTS[key]
            numbers = [0.0] * 6
            numbers[component] = sign * self.speed * (5.0 if component < 3 else 1.0)
            self.twist, self.joint, self.until = tuple(numbers), None, now + (HELD if repeated else FIRST_HELD)
        elif key.isdigit():
            velocity = -3.0 * self.speed if self.backwards else 3.0 * self.speed
            self.twist, self.joint = None, (int(key) - 1, velocity)
            self.until = now + (HELD if repeated else FIRST_HELD)
        else:
            self.twist = self.joint = None

    def rest(self, now: float) -> None:
        """Ends the command when its key is not held any more."""
        if now > self.until:
            self.twist = self.joint = None


class Teleop:
    """Publishes the commands of the keys, and shows the status of the servo.

    Args:
        node: Owner of the topics, in the namespace of the robot; something else spins it.
        base: Frame of twists.
        tip: Frame of twists in tool axes.
        joint_names: Of the arm.
    """

    def __init__(self, node: Node, base: str, tip: str, joint_names: Sequence[str]):
        self._frames, self._joints = (base, tip), tuple(joint_names)
        self._twists = node.create_publisher(TwistStamped, "servo/twist", 1)
        self._jogs = node.create_publisher(JointJog, "servo/joint_jog", 1)
        self.status = "no status of a servo: start it with `manipapy up --servo`"
        node.create_subscription(ServoStatus, "servo/status", self._on_status, 1)

    def send(self, pilot: Pilot) -> None:
        """Publishes the command of the pilot; nothing if there is none, which ends the motion."""
        if pilot.twist is not None:
            message = TwistStamped()
            message.header.frame_id = self._frames[pilot.in_tool]
            t = message.twist
            t.angular.x, t.angular.y, t.angular.z, t.linear.x, t.linear.y, t.linear.z = pilot.twist
            self._twists.publish(message)
        elif pilot.joint is not None and pilot.joint[0] < len(self._joints):
            index, velocity = pilot.joint
            self._jogs.publish(JointJog(joint_names=[self._joints[index]], velocities=[velocity]))

    def _on_status(self, message: ServoStatus) -> None:
        self.status = message.message


@contextmanager
def _keys() -> Iterator[int]:
    """The terminal, with keys read one by one."""
    if not sys.stdin.isatty():
        raise InputError("teleop reads keys from a terminal; run it in one")
    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)
    try:
        tty.setcbreak(number)
        yield number
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)


def drive(teleop: Teleop, speed: float) -> None:
    """Reads keys until x or Ctrl-C."""
    pilot = Pilot(speed=speed)
    print(HELP)
    with _keys() as terminal:
        due = time.monotonic()
        while not pilot.done:
            due += 1.0 / RATE
            while (left := due - time.monotonic()) > 0.0:
                if select.select([terminal], [], [], left)[0]:
                    for key in os.read(terminal, 64).decode(errors="ignore"):
                        pilot.press(key, time.monotonic())
            due = max(due, time.monotonic() - 0.1)
            pilot.rest(time.monotonic())
            teleop.send(pilot)
            axes = "tool" if pilot.in_tool else "base"
            turn = ", joints backwards" if pilot.backwards else ""
            print(f"\r\x1b[K{pilot.speed:.3f} m/s, {axes} axes{turn}: {teleop.status}"[:150], end="", flush=True)
    print()
