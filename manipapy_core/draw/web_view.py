"""Web viewer of a live arm with goals and commands."""

from __future__ import annotations

import contextlib
import io
import logging
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kinematics, lie
from ..errors import InputError, MissingPackage
from ..geometry import WorldSnapshot
from ..model.chain import Chain
from ..model.robot import Robot
from ..typing import Array
from .box_panel import BoxPanel
from .goal_check import GoalCheck
from .goal_panel import Commands, GoalPanel
from .servo_panel import ServoPanel
from .status_panel import StatusPanel
from .tuning_panel import TuningPanel
from .web_access import WebAccess, guarded_server
from .web_layers import Layers
from .web_markers import MarkerScene
from .web_overlays import MapSlice, TipPath, draw_spheres
from .web_robot import DrawnArm

LOOPBACK = "127.0.0.1"
CAMERA, LOOK_AT, FIELD_OF_VIEW = (1.3, 1.04, 0.95), (0.0, 0.0, 0.32), 0.95
"""Initial position and target of the camera [m], and its vertical angle [rad], for an arm that reaches 0.9 m."""
USUAL_REACH, SMALLEST, LARGEST = 0.9, 0.4, 4.0
"""Reach of that arm, and bounds for others [m]."""
STATUS_WIDTH = 310.0
"""Of the status panel [pixels]."""


class ArmView:
    """A web server with one page. Use it in a `with` statement, or close it.

    It listens on localhost unless another host is given. Visitors with the token of its address can move the arm, if
    there are commands.

    Args:
        robot: The robot to draw.
        chain: Its moving joints.
        commands: Callbacks of the buttons; without them the page has none, and only shows the arm.
        host: Address to listen on.
        port: Port to listen on; the next free one if it is in use.
        access: Who may open the page; by default the holders of a random token.
        world: Returns the world that goals are checked against.
        plots: Whether there are plots of a controller.
        arm_follows_goal: The sliders and the gizmo move the arm itself: there is no measured position.
        title: Of the tab in the browser; default: the name of the robot.
        warn: Called with what cannot be drawn.
    """

    def __init__(
        self,
        robot: Robot,
        chain: Chain,
        commands: Commands | None = None,
        *,
        host: str = LOOPBACK,
        port: int = 8080,
        access: WebAccess | None = None,
        world: Callable[[], WorldSnapshot] = WorldSnapshot,
        plots: bool = True,
        arm_follows_goal: bool = False,
        title: str = "",
        warn: Callable[[str], None] = lambda text: None,
    ):
        if not 1 <= port <= 65535:
            raise InputError(f"port is {port}; give 1 to 65535")
        try:
            import viser
        except ImportError:
            raise MissingPackage("viser", "the web viewer", "viewer") from None
        # No traceback for a browser that drops its connection.
        logging.getLogger("websockets.server").setLevel(logging.CRITICAL)
        self._access = access or WebAccess(host)
        self._frames: dict[str, Any] = {}
        self._closed = False
        title = title or robot.name
        with guarded_server(self._access, title), _silence():
            self.server = viser.ViserServer(host=host, port=port, label=title, verbose=False)
        server = self.server
        server.gui.configure_theme(show_share_button=False, show_logo=False, control_width="medium")
        server.scene.set_up_direction("+z")
        self.camera, self.look_at = camera_for(chain)
        """Where the camera is at first, and what it looks at [m], shape (3,)."""
        server.initial_camera.position, server.initial_camera.look_at = self.camera, self.look_at
        server.initial_camera.fov = FIELD_OF_VIEW
        self.arm = DrawnArm(server.scene, robot, chain)
        self.goal_check = GoalCheck(robot, chain, world)
        self._status_panel(plots)
        tabs = server.gui.add_tab_group()
        with (goal_tab := tabs.add_tab("Move" if commands else "Goal")):
            pass
        with tabs.add_tab("Show") as show_tab:
            self.layers = Layers(server, show_tab)
        self._own_layers()
        with goal_tab:
            self.goal = GoalPanel(
                server, robot, chain, commands, self.goal_check, self.layers["Goal"], self.status.message
            )
            self.servo: ServoPanel | None = None
            """None without commands of a servo."""
            if commands is not None and commands.servo is not None:
                self.servo = ServoPanel(server, self.goal, commands.servo)
        if arm_follows_goal:
            self.goal.on_goal(self.show)
        self.tuning: TuningPanel | None = None
        """None without commands of a controller."""
        self.boxes: BoxPanel | None = None
        """None without commands that add boxes."""
        if commands is not None:
            self._command_tabs(tabs, commands)
        self.markers = MarkerScene(server.scene, self.node_of, warn)
        threading.Thread(target=self._draw_spheres, name="spheres", daemon=True).start()

    def _status_panel(self, plots: bool) -> None:
        """A window of its own, beside the arm: visible without scrolling, whichever tab is open."""
        panel = self.server.gui.add_panel()
        with panel.add_tab("Arm"):
            self.status = StatusPanel(self.server, plots=plots)
            self.image: Any = self.server.gui.add_image(np.zeros((2, 2, 3), np.uint8), label="Camera", visible=False)
        panel.float(x=12.0, y=-12.0, width=STATUS_WIDTH)

    def _own_layers(self) -> None:
        scene, add = self.server.scene, self.layers.add
        arm = add("Arm", hint="Visual shapes at the measured position")
        for visual in self.arm.visuals:
            arm.include(visual)
        add("Goal", hint="Transparent arm and gizmo")
        add("Grid").include(scene.add_grid("/floor", width=4.0, height=4.0, cell_size=0.1, section_size=0.5))
        self.path = TipPath(scene, add("Executed path", hint="Of the tip"))
        add("Collision spheres", visible=False, hint="Cover the links; the planner checks them first")

    def _command_tabs(self, tabs: Any, commands: Commands) -> None:
        server = self.server
        if commands.tuning is not None:
            with tabs.add_tab("Tune"), server.gui.add_folder("Speed, law and gains"):
                self.tuning = TuningPanel(server, commands.tuning, self.goal.show_message)
        if commands.boxes is not None:
            with tabs.add_tab("World"), server.gui.add_folder("Box"):
                self.boxes = BoxPanel(server, commands.boxes, lambda: self.goal.gizmo.position, self.goal.show_message)

    def _draw_spheres(self) -> None:
        self.goal_check.ready.wait()
        body = self.goal_check.body
        if body is not None and not self._closed:
            draw_spheres(self.server.scene, body, self.layers["Collision spheres"])

    def add_map(self) -> MapSlice:
        """A layer for a reachability map, with its slider."""
        layer = self.layers.add("Reach slice", hint="Reachable positions of the tip, blue: best")
        with self.layers.container:
            return MapSlice(self.server, layer)

    def place_frame(self, frame: str, T_base_frame: Array) -> None:
        """Set the pose of a frame that is no link, in which markers may be given."""
        if frame not in self._frames:
            self._frames[frame] = self.server.scene.add_frame(f"/frames/{frame.strip('/')}", show_axes=False)
        handle = self._frames[frame]
        handle.position, handle.wxyz = T_base_frame[:3, 3], np.roll(lie.rotation_to_quaternion(T_base_frame[:3, :3]), 1)

    def pose_of_frame(self, frame: str) -> Array | None:
        """T_base_frame of a placed frame, shape (4, 4); None if it was not placed."""
        if frame not in self._frames:
            return None
        handle = self._frames[frame]
        return lie.pose(lie.rotation_from_quaternion(np.roll(handle.wxyz, -1)), handle.position)

    def node_of(self, frame: str) -> str | None:
        """Name of the scene's node of a link or a placed frame; None if there is none."""
        if frame in self.arm.frames:
            return f"/arm/{frame}"
        return f"/frames/{frame.strip('/')}" if frame in self._frames else None

    @property
    def url(self) -> str:
        """Address of the page, with its token."""
        token = f"/?token={self._access.token}" if self._access.token else ""
        return f"http://{self.server.get_host()}:{self.server.get_port()}{token}"

    @property
    def watched(self) -> bool:
        """Whether a browser is connected."""
        return bool(self.server.get_clients())

    def show(self, q: Array) -> None:
        """Show the measured configuration [rad or m], shape (n,)."""
        with self.server.atomic():
            self.arm.show(q)
            self.path.add(np.array(self.arm.frames[self.arm.chain.tip].position))
        self.goal.set_measured(q)
        if self.servo is not None:
            self.servo.set_measured(q)

    def show_image(self, image: NDArray[np.uint8]) -> None:
        """Show a camera image, shape (height, width, 3)."""
        self.image.image = image

    def close(self) -> None:
        """Close the page."""
        self._closed = True
        if self.servo is not None:
            self.servo.close()
        self.goal.close()
        with _silence():
            self.server.stop()

    def __enter__(self) -> ArmView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def camera_for(chain: Chain) -> tuple[Array, Array]:
    """Position and target of a camera that shows a whole arm [m], shape (3,) each."""
    lower, upper = (np.clip(bound, -np.pi, np.pi) for bound in (chain.limits.lower, chain.limits.upper))
    q = np.random.default_rng(0).uniform(lower, upper, (200, chain.n))
    reach = float(np.linalg.norm(kinematics.forward(chain, q)[:, :3, 3], axis=1).max())
    size = min(max(reach, SMALLEST), LARGEST) / USUAL_REACH
    return size * np.array(CAMERA), size * np.array(LOOK_AT)


def _silence() -> contextlib.redirect_stdout[io.StringIO]:
    """Suppresses the banner and the closing message of viser."""
    return contextlib.redirect_stdout(io.StringIO())
