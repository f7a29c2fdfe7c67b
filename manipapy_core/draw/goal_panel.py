"""Goal panel of the web viewer: a slider per joint, a gizmo at the tip, and command buttons.

The goal is shown as a transparent arm: blue, yellow at a joint limit, red in collision, with the reason at the gizmo.
Dragging the gizmo solves inverse kinematics from the current goal; only the latest pose is solved, so that fast
dragging builds no queue.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ik, kinematics, lie
from ..errors import ManipapyError
from ..model.chain import Chain
from ..model.elements import RGBA
from ..model.robot import Robot
from ..typing import Array
from .box_panel import BoxCommands
from .goal_check import GoalCheck, GoalKind, GoalState
from .servo_panel import ServoCommands
from .tuning_panel import TuningCommands
from .web_layers import Layer
from .web_robot import DrawnArm

if TYPE_CHECKING:
    import viser

GOAL_COLOUR: RGBA = (0.15, 0.65, 1.0, 0.35)
COLOURS = {
    GoalKind.FREE: GOAL_COLOUR[:3],
    GoalKind.AT_LIMIT: (1.0, 0.75, 0.1),
    GoalKind.COLLIDING: (1.0, 0.15, 0.1),
    GoalKind.UNREACHABLE: (0.5, 0.5, 0.5),
}
"""Of the goal robot."""
UNLIMITED = np.pi
"""Range of the sliders of joints without limits [rad or m]."""


@dataclass(frozen=True)
class Commands:
    """Callbacks of the buttons; each returns a message and may block."""

    plan: Callable[[Array], str]
    """Plan a motion to these joint positions [rad or m]."""
    move: Callable[[Array], str]
    """Plan and execute it."""
    hold: Callable[[], str]
    reset: Callable[[], str]
    servo: ServoCommands | None = None
    """Commands of a servo, for the page's servo panel; without them there is none."""
    tuning: TuningCommands | None = None
    """Law, gains and speed of a controller; without them there is no such panel."""
    boxes: BoxCommands | None = None
    """Adds and removes boxes; without them there is no such panel."""


class GoalPanel:
    """Sliders, gizmo, goal robot and buttons.

    Args:
        server: The viser server.
        robot: Robot to draw at the goal.
        chain: The arm.
        commands: Callbacks of the buttons; without them there are none.
        check: Says whether goals are free.
        layer: Shows and hides goal robot and gizmo.
        message: Element of the page for answers, in Markdown.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        robot: Robot,
        chain: Chain,
        commands: Commands | None,
        check: GoalCheck,
        layer: Layer,
        message: Any,
    ):
        self.chain, self._check, self.message = chain, check, message
        self.q = np.clip(np.zeros(chain.n), chain.limits.lower, chain.limits.upper)
        """The goal [rad or m], shape (n,)."""
        self.goal_robot = DrawnArm(server.scene, robot, chain, "/goal", tint=GOAL_COLOUR)
        self.gizmo: Any = server.scene.add_transform_controls("/goal_gizmo", scale=0.25, depth_test=False)
        self._label: Any = server.scene.add_label("/goal_gizmo/status", "", position=(0.0, 0.0, 0.0))
        self._layer = layer
        self._listener: Callable[[Array], None] | None = None
        layer.include(self.goal_robot.root)
        layer.include(self.gizmo)
        self.state = GoalState(GoalKind.FREE, "")
        """Of the goal, as shown at the gizmo."""
        self._server, self._lock = server, threading.RLock()
        self._goal_pose: Array | None = None
        self._pose_changed, self._closing = threading.Event(), False
        self._number, self._checked = 0, 0
        """Of goals so far, and of the last one whose state was asked for: that of an older goal is not shown."""
        self.measured = self.q
        """Measured configuration [rad or m], shape (n,)."""
        self.follow: Callable[[Array], None] | None = None
        """Takes the poses of the gizmo while a servo follows it; otherwise they set the goal."""
        self.buttons = [] if commands is None else self._buttons(commands)
        with server.gui.add_folder("Goal"):
            self.sliders = [self._slider(joint, name) for joint, name in enumerate(short_names(chain.joint_names))]
            here: Any = server.gui.add_button("Current position", hint="Set the goal to the measured position")
        here.on_click(lambda _: self.set_goal(self.measured))
        self.gizmo.on_update(self._on_drag)
        self.set_goal(self.q)
        self._solver = threading.Thread(target=self._solve, name="goal-ik", daemon=True)
        self._solver.start()

    def close(self) -> None:
        """Stop the IK thread."""
        self._closing = True
        self._pose_changed.set()
        self._solver.join()

    def on_goal(self, listener: Callable[[Array], None]) -> None:
        """Call this with every goal [rad or m], shape (n,), from now on; the transparent arm is hidden."""
        self._listener, self.goal_robot.root.visible = listener, False
        self._layer.exclude(self.goal_robot.root)
        listener(self.q)

    def set_measured(self, q: Array) -> None:
        """Set the measured configuration [rad or m], shape (n,)."""
        self.measured = q

    def set_goal(self, q: Array) -> None:
        """Set the goal [rad or m], shape (n,), and update goal robot, gizmo and sliders."""
        with self._lock, self._server.atomic():
            self._number += 1
            self.q = np.array(q, dtype=np.float64)
            T = kinematics.forward(self.chain, self.q)
            self.gizmo.position, self.gizmo.wxyz = T[:3, 3], np.roll(lie.rotation_to_quaternion(T[:3, :3]), 1)
            self._show()
        self._pose_changed.set()

    def aim(self, T_base_tip: Array) -> ik.IKResult:
        """Set the goal by a tip pose, solved from the current goal; unchanged if there is no solution."""
        with self._lock:
            self._number += 1
            number = self._checked = self._number
        found = ik.solve(self.chain, T_base_tip, q_seed=self.q)
        if found.status is ik.IKStatus.SOLVED:
            with self._lock, self._server.atomic():
                self.q = found.q
                self._show()
            self._show_state(self._check.state(found.q), number)
        else:
            away = f"{1e3 * found.position_error:.0f} mm, {np.degrees(found.orientation_error):.0f}° away at best"
            reason = "outside the joint limits" if found.status is ik.IKStatus.LIMIT_BLOCKED else found.status.value
            self._show_state(GoalState(GoalKind.UNREACHABLE, f"out of reach: {reason}, {away}"), number)
        return found

    def _show_state(self, state: GoalState, number: int) -> None:
        with self._lock:
            if number == self._number and state != self.state:
                self.goal_robot.set_colour(COLOURS[state.kind])
                self._label.text = state.text
                self.state = state

    def show_message(self, text: str) -> None:
        """Show a line below the status."""
        if self.message.content != text:
            self.message.content = text

    def _show(self) -> None:
        self.goal_robot.show(self.q)
        if self._listener is not None:
            self._listener(self.q)
        for slider, value in zip(self.sliders, self.q, strict=True):
            slider.value = round(float(np.clip(value, slider.min, slider.max)), 3)

    def _slider(self, joint: int, label: str) -> Any:
        limits = self.chain.limits
        lower, upper = (
            float(value) if np.isfinite(value) else sign * UNLIMITED
            for value, sign in ((limits.lower[joint], -1.0), (limits.upper[joint], 1.0))
        )
        slider = self._server.gui.add_slider(
            label, lower, upper, step=1e-3, initial_value=float(self.q[joint]), hint=self.chain.joint_names[joint]
        )

        @slider.on_update
        def _(event: Any) -> None:
            if event.client is not None:  # None: set by this program
                with self._lock:
                    q = self.q.copy()
                    q[joint] = slider.value
                    self.set_goal(q)

        return slider

    def _on_drag(self, event: Any) -> None:
        T = np.eye(4)
        T[:3, :3] = lie.rotation_from_quaternion(np.roll(event.target.wxyz, -1))
        T[:3, 3] = event.target.position
        if self.follow is not None:
            self.follow(T)
            return
        self._goal_pose = T
        self._pose_changed.set()

    def _solve(self) -> None:
        while True:
            self._pose_changed.wait()
            self._pose_changed.clear()
            if self._closing:
                return
            pose, self._goal_pose = self._goal_pose, None
            if pose is not None:
                self.aim(pose)
                continue
            with self._lock:
                q, number, known = self.q.copy(), self._number, self._checked == self._number
                self._checked = number
            if not known:
                self._show_state(self._check.state(q), number)

    def _buttons(self, commands: Commands) -> list[Any]:
        def with_goal(act: Callable[[Array], str]) -> Callable[[], str]:
            return lambda: act(self.q.copy())

        buttons = (
            ("Plan", "Plan a motion and show it", with_goal(commands.plan), "blue"),
            ("Move", "Plan and execute a collision-free motion", with_goal(commands.move), "green"),
            ("Hold", "Stop and hold now", commands.hold, "red"),
            ("Reset", "Release a stopped arm", commands.reset, None),
        )
        return [self._button(*button) for button in buttons]

    def _button(self, label: str, hint: str, act: Callable[[], str], colour: Any) -> Any:
        button = self._server.gui.add_button(label, hint=hint, color=colour)

        # viser calls this in its own thread, so it may block; a hold does not wait for a motion.
        @button.on_click
        def _(event: Any) -> None:
            button.disabled = True
            self.show_message(f"{label} …")
            try:
                self.show_message(act())
            except ManipapyError as error:
                self.show_message(f"**{label}**: {error}")
            finally:
                button.disabled = False

        return button


def short_names(names: Sequence[str]) -> list[str]:
    """Names of joints without what all share: `shoulder_pan` of `shoulder_pan_joint`, `joint1` of `panda_joint1`."""
    words = [name.split("_") for name in names]
    if len(names) < 2:
        return list(names)
    while all(len(row) > 1 for row in words) and len({row[0] for row in words}) == 1:
        words = [row[1:] for row in words]
    while all(len(row) > 1 for row in words) and len({row[-1] for row in words}) == 1:
        words = [row[:-1] for row in words]
    return ["_".join(row) for row in words]
