"""Web viewer of a live arm with goals and commands."""

from __future__ import annotations

import collections
import contextlib
import io
import logging
from types import TracebackType
from typing import Any

import numpy as np

from ..errors import InputError, MissingPackage
from ..model.chain import Chain
from ..model.robot import Robot
from ..typing import Array
from .goal_panel import Commands, GoalPanel
from .servo_panel import ServoPanel
from .web_access import WebAccess, guarded_server
from .web_robot import DrawnArm

LOOPBACK = "127.0.0.1"
CAMERA, LOOK_AT = (1.25, 1.0, 0.9), (0.0, 0.0, 0.3)
"""Initial position and target of the camera [m]."""
PLOTTED = 200
"""Number of points in the plot."""


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
    ):
        if not 1 <= port <= 65535:
            raise InputError(f"port is {port}; give 1 to 65535")
        try:
            import viser
            from viser import uplot
        except ImportError:
            raise MissingPackage("viser", "the web viewer", "viewer") from None
        # No traceback for a browser that drops its connection.
        logging.getLogger("websockets.server").setLevel(logging.CRITICAL)
        self._access = access or WebAccess(host)
        with guarded_server(self._access), _silence():
            self.server = viser.ViserServer(host=host, port=port, label=f"manipapy: {robot.name}", verbose=False)
        server = self.server
        server.gui.configure_theme(show_share_button=False, show_logo=False, control_width="medium")
        server.scene.set_up_direction("+z")
        server.scene.add_grid("/floor", width=4.0, height=4.0, cell_size=0.1, section_size=0.5)
        server.initial_camera.position, server.initial_camera.look_at = CAMERA, LOOK_AT
        self.arm = DrawnArm(server.scene, robot, chain)
        with server.gui.add_folder("Arm"):
            self._status: Any = server.gui.add_markdown("no joint state yet")
        self.goal = GoalPanel(server, robot, chain, commands)
        self.servo: ServoPanel | None = None
        """None without commands of a servo."""
        if commands is not None and commands.servo is not None:
            self.servo = ServoPanel(server, self.goal, commands.servo)
        self._history: collections.deque[tuple[float, float]] = collections.deque(maxlen=PLOTTED)
        with server.gui.add_folder("Tracking"):
            self._plot: Any = server.gui.add_uplot(
                (np.zeros(2), np.zeros(2)),
                series=(uplot.Series(label="s"), uplot.Series(label="largest error [mrad or mm]", stroke="#1f77b4")),
                scales={"x": uplot.Scale(time=False)},
                aspect=2.0,
            )

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
        self.goal.set_measured(q)
        if self.servo is not None:
            self.servo.set_measured(q)

    def show_status(self, text: str) -> None:
        """Show the status of the arm, in Markdown."""
        if self._status.content != text:
            self._status.content = text

    def plot_error(self, seconds: float, error: float) -> None:
        """Add a point to the plot: time [s], largest tracking error of all joints [rad or m]."""
        if self._history and seconds < self._history[-1][0]:
            self._history.clear()  # the simulation was reset
        self._history.append((seconds, 1e3 * error))
        if len(self._history) > 1:
            times, errors = np.array(self._history).T
            self._plot.data = (times - times[-1], errors)

    def close(self) -> None:
        """Close the page."""
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


def _silence() -> contextlib.redirect_stdout[io.StringIO]:
    """Suppresses the banner and the closing message of viser."""
    return contextlib.redirect_stdout(io.StringIO())
