"""The `make sim` demo: a simulated arm on a table follows planned motions under torque control at 1 kHz.

Starts the same processes as `manipapy up`, runs until Ctrl-C or for `--seconds`, and writes a plot and a still image.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from dropped_box import DroppedBox
from figures import CHART, IMAGE, RECORD, start_drawing
from manipapy_msgs.msg import ObstacleArray
from progress_table import ProgressTable
from record import Recorder
from rich.console import Console
from rich.markup import escape
from tour import IMAGE_STOP, Leg, tour, weave

from manipapy_core import Robot
from manipapy_core.errors import ManipapyError
from manipapy_core.model import Chain
from manipapy_core.typing import Array
from manipapy_ros.bringup.description import Options, describe
from manipapy_ros.bringup.supervisor import CHECK_PERIOD, NodeDied, StopRequest, Supervisor
from manipapy_ros.client.arm import ArmClient, MotionFailed
from manipapy_ros.client.planner import PlannerClient
from manipapy_ros.client.session import GivenUp, NoAnswer, Refused

FIRST_STATE_TIMEOUT = 30.0
"""For the first joint state, status and obstacles [s]."""
DRAWING_TIMEOUT = 120.0
"""For plot and still image [s]."""
REAL_TIME_CORES = 4
"""Cores that two 1 kHz loops, planner, renderer and perception need to run in real time."""
SLOW_PACE = 0.5
"""Simulated seconds per second with perception on fewer cores."""
ATTEMPTS = 3
"""For each leg."""
PAUSE = 1.0
"""Before another attempt [s]."""
LOG_LEVEL = "warn"
"""Of the nodes, so that their logs do not hide the table."""


class Demo:
    """One run from start to end.

    Args:
        options: Robot, scene and nodes.
        law: Control law.
        folder: For plot and still image.
        seconds: Duration [s]; None: until Ctrl-C.
    """

    def __init__(self, options: Options, law: str, folder: Path, seconds: float | None):
        self.options, self.law, self.folder, self.seconds = options, law, folder, seconds
        self.console = Console(highlight=False, soft_wrap=True)
        self.stop_request = StopRequest()
        self.supervisor = Supervisor(
            describe(options),
            log=self.report,
            on_output=self.print_node_line,
            stop_requested=lambda: self.stop_request() or self.timed_out(),
        )
        self._end: float | None = None
        self._drawing: subprocess.Popen[str] | None = None
        self._planner: PlannerClient | None = None

    def report(self, line: str) -> None:
        """Print above the table."""
        self.console.print(f"[bold cyan]sim[/] {escape(line)}")

    def print_node_line(self, node: str, line: str) -> None:
        """Print a line of a node's output."""
        self.console.print(f"[dim]{escape(f'[{node}]')}[/] {escape(line)}")

    def timed_out(self) -> bool:
        """Whether `--seconds` have passed since all nodes were up."""
        return self._end is not None and time.monotonic() > self._end

    def running(self) -> bool:
        """Check the nodes and return False on Ctrl-C or after `--seconds`; call it while waiting."""
        self.supervisor.check()
        return not self.stop_request() and not self.timed_out()

    def run(self) -> int:
        """Exit code of the process."""
        self.report(f"starting {', '.join(node.executable for node in self.supervisor.bringup.nodes)} …")
        with self.supervisor:
            try:
                self._run()
            except GivenUp:
                self.report("stopped before all nodes were up")
            except NodeDied as death:
                self.report(f"shut down because {death.name} died")
                return 1
            except ManipapyError as error:
                self.report(str(error))
                return 1
            finally:
                if self._drawing is not None and self.stop_request():
                    self._drawing.kill()
        self.report("all nodes have ended")
        self._wait_for_figures()
        return 0

    def _run(self) -> None:
        self.supervisor.start()
        if self.seconds is not None:
            self._end = time.monotonic() + self.seconds
        recorder = Recorder(self.supervisor.client.node)
        arm = ArmClient(self.supervisor.client)
        robot = Robot.from_urdf(self.options.robot, check_meshes=False)
        chain = self._chain(robot, arm)
        home = arm.positions(chain.joint_names, FIRST_STATE_TIMEOUT)
        self._wait_for_controller(recorder)
        if self.options.perception:
            self._wait_for_cameras()
        engine = self.options.simulator or "mujoco"
        self.report(f"{robot.name} on a table in {engine}, {self.law} at 1 kHz; see `manipapy state`")
        table = ProgressTable(self.console, f"{self.options.robot}, {self.law}", recorder)
        posed = self._tour(chain, home, arm, recorder, table)
        self._draw(recorder, robot.name, chain, posed)
        if self.running():
            self.report("the arm holds and takes goals (`manipapy move --joints …`); Ctrl-C stops everything")
        with table:
            while self.running():
                time.sleep(CHECK_PERIOD)
                self._report_figures()
                table.show("holding")

    def _wait_for_controller(self, recorder: Recorder) -> None:
        """Wait until it has measured the arm."""

        def ready() -> bool:
            self.supervisor.check()
            return recorder.status is not None and recorder.status.seeded

        if not self.supervisor.client.wait_until(ready, FIRST_STATE_TIMEOUT, give_up=lambda: not self.running()):
            raise NoAnswer("controller/status", FIRST_STATE_TIMEOUT, exists=False)

    def _wait_for_cameras(self) -> None:
        """Wait for the first perceived obstacles, so that the box drops in view of running cameras."""
        received: list[ObstacleArray] = []
        node = self.supervisor.client.node
        subscription = node.create_subscription(ObstacleArray, "obstacles", received.append, 1)

        def ready() -> bool:
            self.supervisor.check()
            return bool(received)

        perceived = self.supervisor.client.wait_until(ready, FIRST_STATE_TIMEOUT, give_up=lambda: not self.running())
        node.destroy_subscription(subscription)
        if not perceived:
            raise NoAnswer("obstacles", FIRST_STATE_TIMEOUT, exists=False)

    def _chain(self, robot: Robot, arm: ArmClient) -> Chain:
        """The arm as configured in config/<robot>.yaml."""
        import yaml

        files = self.supervisor.bringup.nodes[0].params_files
        values: dict[str, str] = {}
        for path in files:
            values |= yaml.safe_load(Path(path).read_text(encoding="utf-8")).get("/**", {}).get("ros__parameters", {})
        return robot.chain(values.get("base_link") or robot.root, values["tip_link"])

    def _tour(self, chain: Chain, home: Array, arm: ArmClient, recorder: Recorder, table: ProgressTable) -> Array:
        """Runs every leg; returns the configuration for the still image [rad or m], shape (n,)."""
        posed = home
        with table:
            for leg in tour(chain, home, box_first=self.options.perception):
                if not self.running():
                    break
                begin = recorder.now

                def show_progress(name: str = leg.name) -> bool:
                    table.show(name)
                    return self.running()

                self._run_leg(leg, chain, home, arm, show_progress)
                table.add(leg.name, begin)
                table.show(leg.name)
                if leg.name == IMAGE_STOP:
                    posed = arm.positions(chain.joint_names)
        table.sum_up()
        return posed

    def _run_leg(self, leg: Leg, chain: Chain, home: Array, arm: ArmClient, progress: Callable[[], bool]) -> None:
        """Runs one leg. If the guard holds the arm on a busy machine, the stop is ended and the leg is tried again.

        Raises:
            Refused, MotionFailed: The last attempt failed too.
        """
        for left in reversed(range(ATTEMPTS)):
            try:
                return self._try_leg(leg, chain, home, arm, progress)
            except (Refused, MotionFailed) as failure:
                if not left or not self.running():
                    raise
                self.report(f"{leg.name}: {failure}; trying again")
            time.sleep(PAUSE)
            with contextlib.suppress(Refused):  # there is no stop to end
                arm.reset()

    def _try_leg(self, leg: Leg, chain: Chain, home: Array, arm: ArmClient, progress: Callable[[], bool]) -> None:
        """The weave goes to the controller, all others to the planner."""
        if leg.weaves:
            arm.move(weave(chain, arm.positions(chain.joint_names)), while_moving=progress)
            return
        if self._planner is None:
            self._planner = PlannerClient(self.supervisor.client)
        planner = self._planner
        if not leg.box_drops:
            planner.move(leg.request(chain), while_moving=progress)
            return
        informed = None if self.options.perception else planner
        box = DroppedBox(self.supervisor.client, chain, home, informed, self.report)
        try:
            result = planner.move(leg.request(chain), while_moving=lambda: box.update() or progress())
            self.report(f"{result.text}; {result.planned} motions were planned")
        except Refused as refusal:
            # If the cameras detect the box too late, the controller detects the contact and holds the arm.
            self.report(str(refusal))
        box.remove()

    def _draw(self, recorder: Recorder, name: str, chain: Chain, posed: Array) -> None:
        """Save the record and start drawing in a separate process."""
        recorder.save(self.folder / RECORD)
        total = recorder.summary(0.0, recorder.now)
        title = f"{name}, {self.law}: {1e3 * total.rms_error:.3f} mrad rms at {total.rate:.0f} Hz"
        self._drawing = start_drawing(
            self.folder, title, self.options.robot, self.options.scene, chain.joint_names, posed
        )

    def _wait_for_figures(self) -> None:
        """Wait for the drawing process; Ctrl-C has ended it already."""
        if self._drawing is not None:
            try:
                self._drawing.wait(DRAWING_TIMEOUT)
            except subprocess.TimeoutExpired:
                self._drawing.kill()
                self._drawing.wait()
            self._report_figures()

    def _report_figures(self) -> None:
        """Report once whether the figures were written."""
        drawing = self._drawing
        if drawing is None or drawing.poll() is None:
            return
        self._drawing = None
        assert drawing.stdout is not None
        if drawing.returncode == 0:
            self.report(f"plot {self.folder / CHART}, image {self.folder / IMAGE}")
        elif drawing.returncode < 0:
            self.report("no figures: the drawing was stopped")
        else:
            self.report(f"no figures: {drawing.stdout.read().strip()}")


def _pace(perception: bool) -> float:
    """Simulated seconds per second that this machine can run."""
    cores = len(os.sched_getaffinity(0))
    return SLOW_PACE if perception and cores < REAL_TIME_CORES else 1.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demo."""
    parser = argparse.ArgumentParser(prog="python examples/sim_demo", description=__doc__)
    parser.add_argument("--robot", default="ur5", help="a name from config/")
    parser.add_argument("--scene", default="table", help="a bundled scene or a scene file")
    parser.add_argument("--law", default="computed_torque", help="control law")
    parser.add_argument("--seconds", type=float, default=None, help="duration [s]; until Ctrl-C if not given")
    parser.add_argument("--folder", type=Path, default=Path("build/sim"), help="for plot and still image")
    parser.add_argument(
        "--perception", action="store_true", help="let the cameras detect the box; the planner gets no message"
    )
    parser.add_argument(
        "--pace", type=float, default=None, help="simulated seconds per second; 1 if there are enough cores"
    )
    parser.add_argument("--viewer", action="store_true", help="also serve a web page with the live robot")
    parser.add_argument("--simulator", default="", help="mujoco or pybullet; mujoco if not given")
    parser.add_argument("--gui", action="store_true", help="show the window of the physics engine")
    given = parser.parse_args(argv)
    options = Options(
        robot=given.robot,
        simulator=given.simulator,
        scene=given.scene,
        law=given.law,
        gui=given.gui,
        log_level=LOG_LEVEL,
        perception=given.perception,
        viewer=given.viewer,
        real_time_factor=given.pace or _pace(given.perception),
    )
    try:
        return Demo(options, given.law, given.folder, given.seconds).run()
    except ManipapyError as error:
        print(f"sim: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
