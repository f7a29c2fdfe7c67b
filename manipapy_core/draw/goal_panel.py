"""Where the arm should go, chosen in a browser: a slider per joint, a gizmo at the tip, and what to do about it.

The goal is shown as a ghost of the arm. Dragging the gizmo asks the inverse kinematics, starting from the present
goal; only the newest pose is solved, so that a fast hand does not leave a queue behind.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import ik, kinematics, lie
from ..errors import ManipapyError
from ..model.chain import Chain
from ..model.elements import RGBA
from ..model.robot import Robot
from ..typing import Array
from .web_robot import DrawnArm

if TYPE_CHECKING:
    import viser

GHOST: RGBA = (0.15, 0.65, 1.0, 0.35)
UNLIMITED = np.pi
"""Sliders of joints without limits end here [rad or m]."""


@dataclass(frozen=True)
class Commands:
    """What the buttons do; each returns what became of it, in words, and may take its time."""

    plan: Callable[[Array], str]
    """Find a way to these joint positions [rad or m]."""
    move: Callable[[Array], str]
    """Go there."""
    hold: Callable[[], str]
    reset: Callable[[], str]


class GoalPanel:
    """Sliders, gizmo, ghost and buttons.

    Args:
        server: Whose page it is on.
        robot: For the ghost.
        chain: The arm.
        commands: Of the buttons; without them there are none.
    """

    def __init__(self, server: viser.ViserServer, robot: Robot, chain: Chain, commands: Commands | None = None):
        self.chain = chain
        self.q = np.clip(np.zeros(chain.n), chain.limits.lower, chain.limits.upper)
        """The goal [rad or m], shape (n,)."""
        self.ghost = DrawnArm(server.scene, robot, chain, "/goal", tint=GHOST)
        self.gizmo: Any = server.scene.add_transform_controls("/goal_gizmo", scale=0.25, depth_test=False)
        self._server, self._changing = server, threading.RLock()
        self._wanted: Array | None = None
        self._news, self._closing = threading.Event(), False
        self._measured = self.q
        with server.gui.add_folder("Goal"):
            self.sliders = [self._slider(joint) for joint in range(chain.n)]
            here: Any = server.gui.add_button("Where the arm is", hint="Take the goal back to the arm")
            self.said: Any = server.gui.add_markdown("")
        here.on_click(lambda _: self.set_goal(self._measured))
        self.buttons = [] if commands is None else self._buttons(commands)
        self.gizmo.on_update(self._on_drag)
        self.set_goal(self.q)
        self._solver = threading.Thread(target=self._solve, name="goal-ik", daemon=True)
        self._solver.start()

    def close(self) -> None:
        """End the thread that solves."""
        self._closing = True
        self._news.set()
        self._solver.join()

    def see(self, q: Array) -> None:
        """Where the arm is [rad or m], shape (n,)."""
        self._measured = q

    def set_goal(self, q: Array) -> None:
        """Another goal [rad or m], shape (n,): ghost, gizmo and sliders follow."""
        with self._changing, self._server.atomic():
            self.q = np.array(q, dtype=np.float64)
            T = kinematics.forward(self.chain, self.q)
            self.gizmo.position, self.gizmo.wxyz = T[:3, 3], np.roll(lie.rotation_to_quaternion(T[:3, :3]), 1)
            self._show()

    def aim(self, T_base_tip: Array) -> ik.IKResult:
        """Another goal for the tip, solved from the present one; the goal stays as it is if there is no way there."""
        found = ik.solve(self.chain, T_base_tip, q_seed=self.q)
        if found.status is ik.IKStatus.SOLVED:
            with self._changing, self._server.atomic():
                self.q = found.q
                self._show()
            self.say("")
        else:
            self.say(f"**out of reach**: {found.status.value}, {1e3 * found.position_error:.0f} mm away at best")
        return found

    def say(self, text: str) -> None:
        """A line below the sliders."""
        if self.said.content != text:
            self.said.content = text

    def _show(self) -> None:
        self.ghost.show(self.q)
        for slider, value in zip(self.sliders, self.q, strict=True):
            slider.value = round(float(np.clip(value, slider.min, slider.max)), 3)

    def _slider(self, joint: int) -> Any:
        limits = self.chain.limits
        lower, upper = (
            float(value) if np.isfinite(value) else sign * UNLIMITED
            for value, sign in ((limits.lower[joint], -1.0), (limits.upper[joint], 1.0))
        )
        slider = self._server.gui.add_slider(
            self.chain.joint_names[joint], lower, upper, step=1e-3, initial_value=float(self.q[joint])
        )

        @slider.on_update
        def _(event: Any) -> None:
            if event.client is not None:  # None: we moved it ourselves
                with self._changing:
                    q = self.q.copy()
                    q[joint] = slider.value
                    self.set_goal(q)

        return slider

    def _on_drag(self, event: Any) -> None:
        T = np.eye(4)
        T[:3, :3] = lie.rotation_from_quaternion(np.roll(event.target.wxyz, -1))
        T[:3, 3] = event.target.position
        self._wanted = T
        self._news.set()

    def _solve(self) -> None:
        while True:
            self._news.wait()
            self._news.clear()
            if self._closing:
                return
            wanted, self._wanted = self._wanted, None
            if wanted is not None:
                self.aim(wanted)

    def _buttons(self, commands: Commands) -> list[Any]:
        def with_goal(act: Callable[[Array], str]) -> Callable[[], str]:
            return lambda: act(self.q.copy())

        wanted = (
            ("Plan", "Find a way and show it", with_goal(commands.plan), "blue"),
            ("Move", "Go there, around everything", with_goal(commands.move), "green"),
            ("Hold", "Come to rest now", commands.hold, "red"),
            ("Reset", "Let a stopped arm move again", commands.reset, None),
        )
        return [self._button(*button) for button in wanted]

    def _button(self, label: str, hint: str, act: Callable[[], str], colour: Any) -> Any:
        button = self._server.gui.add_button(label, hint=hint, color=colour)

        # viser calls this in a thread of its own, so it may wait; a hold is never kept waiting by a motion.
        @button.on_click
        def _(event: Any) -> None:
            button.disabled = True
            self.say(f"{label} …")
            try:
                self.say(act())
            except ManipapyError as error:
                self.say(f"**{label}**: {error}")
            finally:
                button.disabled = False

        return button
