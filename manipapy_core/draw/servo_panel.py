"""Servo panel of the web viewer: a switch that lets the arm follow the gizmo at once, and buttons that jog it.

A servo stops when its client is silent, so everything here is sent again and again: the pose of the gizmo until some
seconds after it was dragged, a jog as long as its button is held. A page that is closed sends nothing any more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ManipapyError
from ..model.chain import Chain
from ..typing import Array

if TYPE_CHECKING:
    import viser

    from .goal_panel import GoalPanel

RATE = 30.0
"""Commands per second [Hz]."""
FOLLOWED_FOR = 5.0
"""A pose is sent until this long after the gizmo was dragged [s]."""
LINEAR, ANGULAR = 0.2, 0.8
"""Jog speeds at full share [m/s, rad/s]."""
DIRECTIONS = ("turn about x", "turn about y", "turn about z", "move along x", "move along y", "move along z")
"""Jogs of the tip in base axes, in the order of a twist."""


@dataclass(frozen=True)
class ServoCommands:
    """Callbacks that send one command each; an error ends the stream and is shown."""

    pose: Callable[[Array], None]
    """T_base_tip to follow, shape (4, 4)."""
    twist: Callable[[Array], None]
    """Twist of the tip in base axes, angular first [rad/s, m/s], shape (6,)."""
    joints: Callable[[Array], None]
    """Joint velocities [rad/s or m/s], shape (n,)."""


class ServoPanel:
    """The switch and the jog buttons.

    Args:
        server: The viser server.
        goal: Panel with the gizmo.
        commands: Of a servo.
    """

    def __init__(self, server: viser.ViserServer, goal: GoalPanel, commands: ServoCommands):
        self._server, self._goal, self._commands = server, goal, commands
        self._lock, self._closing = threading.Lock(), threading.Event()
        self._pose: Array | None = None
        self._dragged_at = -np.inf
        self._at = goal.q
        with server.gui.add_folder("Servo"):
            self.switch: Any = server.gui.add_checkbox(
                "Servo", initial_value=False, hint="The arm follows the gizmo while it is dragged"
            )
            self.what: Any = server.gui.add_dropdown("Jog", options=(*DIRECTIONS, *goal.chain.joint_names))
            self.share: Any = server.gui.add_slider("Speed", 0.05, 1.0, step=0.05, initial_value=0.25)
            self.buttons = [self._jog_button("Jog −", -1.0), self._jog_button("Jog +", 1.0)]
            self.status: Any = server.gui.add_markdown("")
        self.switch.on_update(lambda _: self._switched())
        self._thread = threading.Thread(target=self._send_on, name="servo-stream", daemon=True)
        self._thread.start()

    @property
    def is_live(self) -> bool:
        """Whether the arm follows the gizmo."""
        return bool(self.switch.value)

    def close(self) -> None:
        """Stop sending."""
        self._closing.set()
        self._thread.join()

    def stop(self) -> None:
        """Send the pose no longer; the arm comes to rest."""
        with self._lock:
            self._pose = None

    def follow(self, T_base_tip: Array) -> None:
        """Send this pose from now on."""
        with self._lock:
            self._pose, self._dragged_at = T_base_tip, time.monotonic()

    def set_measured(self, q: Array) -> None:
        """Set the measured configuration [rad or m], shape (n,); the gizmo stays at the tip unless it is followed."""
        if self.is_live and self._pose is None and np.abs(q - self._at).max() > 1e-4:
            self._goal.set_goal(q)
            self._at = q

    def show_status(self, text: str) -> None:
        """Show the status of the servo."""
        if self.status.content != text:
            self.status.content = text

    def jog(self, what: str, share: float) -> None:
        """Send one jog.

        Args:
            what: One of `DIRECTIONS`, or a joint.
            share: Of the jog speeds, with the sign of the direction.
        """
        self.stop()
        chain = self._goal.chain
        try:
            if what in DIRECTIONS:
                twist = np.zeros(6)
                index = DIRECTIONS.index(what)
                twist[index] = share * (ANGULAR if index < 3 else LINEAR)
                self._commands.twist(twist)
            else:
                velocities = np.zeros(chain.n)
                joint = chain.joint_names.index(what)
                velocities[joint] = share * (ANGULAR if _turns(chain, joint) else LINEAR)
                self._commands.joints(velocities)
        except ManipapyError as error:
            self._goal.show_message(f"**Servo**: {error}")

    def _jog_button(self, label: str, sign: float) -> Any:
        button = self._server.gui.add_button(label, hint="Moves the arm while it is held")

        @button.on_hold(callback_hz=RATE)
        def _(_: Any) -> None:
            self.jog(str(self.what.value), sign * float(self.share.value))

        return button

    def _switched(self) -> None:
        self.stop()
        self._goal.follow = self.follow if self.is_live else None
        if self.is_live:
            self._goal.set_goal(self._goal.measured)

    def _send_on(self) -> None:
        while not self._closing.wait(1.0 / RATE):
            with self._lock:
                if time.monotonic() - self._dragged_at > FOLLOWED_FOR or not self._server.get_clients():
                    self._pose = None
                pose = self._pose
            if pose is None:
                continue
            try:
                self._commands.pose(pose)
            except ManipapyError as error:
                self.stop()
                self._goal.show_message(f"**Servo**: {error}")


def _turns(chain: Chain, joint: int) -> bool:
    return any(body.dof == joint and body.revolute for body in chain.bodies)
