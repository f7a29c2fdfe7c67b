"""`make sim`: a simulated arm on a table, moved through a tour by torques at 1 kHz, measured, plotted, pictured.

Starts the same processes as `manipapy up` and stays up until Ctrl-C, or for `--seconds`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from dropped_box import DroppedBox
from figures import CHART, PICTURE, RECORD, start_drawing
from manipapy_msgs.msg import ObstacleArray
from progress_table import ProgressTable
from record import Recorder
from rich.console import Console
from rich.markup import escape
from tour import PICTURE_STOP, Leg, tour, weave

from manipapy_core import Robot
from manipapy_core.errors import ManipapyError
from manipapy_core.model import Chain
from manipapy_core.typing import Array
from manipapy_ros.bringup.description import Options, describe
from manipapy_ros.bringup.supervisor import CHECK_EVERY, NodeDied, Supervisor
from manipapy_ros.bringup.up import StopRequest
from manipapy_ros.client.arm import ArmClient
from manipapy_ros.client.planner import PlannerClient
from manipapy_ros.client.session import GivenUp, NoAnswer, Refused

FIRST_STATE = 30.0
"""How long the first joint state may take [s]."""
DRAWING_PATIENCE = 120.0
"""How long plot and picture may take [s]: seconds on a machine that has time for them."""
ENOUGH_CORES = 4
"""Two loops at 1 kHz, planner, renderer and perception beside each other need as many."""
SLOW_PACE = 0.5
"""Simulated seconds per second where there are fewer and cameras must see: all that is simulated stays as it is."""
QUIET = "warn"
"""Log level of the nodes: the table is what one wants to see."""


class Demo:
    """One run from start to end.

    Args:
        options: What is started.
        law: Control law.
        folder: Where plot and picture go.
        seconds: How long to stay up [s]; None until Ctrl-C.
    """

    def __init__(self, options: Options, law: str, folder: Path, seconds: float | None):
        self.options, self.law, self.folder, self.seconds = options, law, folder, seconds
        self.console = Console(highlight=False, soft_wrap=True)
        self.wish = StopRequest()
        self.supervisor = Supervisor(
            describe(options), say=self.say, hear=self.hear, wants_to_stop=lambda: self.wish() or self.time_is_up()
        )
        self._end: float | None = None
        self._drawing: subprocess.Popen[str] | None = None
        self._planner: PlannerClient | None = None

    def say(self, line: str) -> None:
        """Print above the table."""
        self.console.print(f"[bold cyan]sim[/] {escape(line)}")

    def hear(self, node: str, line: str) -> None:
        """What a node prints."""
        self.console.print(f"[dim]{escape(f'[{node}]')}[/] {escape(line)}")

    def time_is_up(self) -> bool:
        """Whether `--seconds` have passed since everything was up."""
        return self._end is not None and time.monotonic() > self._end

    def wants_to_go_on(self) -> bool:
        """Called again and again while something is waited for: nodes are looked after, too."""
        self.supervisor.check()
        return not self.wish() and not self.time_is_up()

    def run(self) -> int:
        """Exit code of the process."""
        self.say(f"starting {', '.join(node.executable for node in self.supervisor.bringup.nodes)} …")
        with self.supervisor:
            try:
                self._run()
            except GivenUp:
                self.say("stopped before everything was up")
            except NodeDied as death:
                self.say(f"taken down because {death.name} died")
                return 1
            except ManipapyError as error:
                self.say(str(error))
                return 1
            finally:
                if self._drawing is not None and self.wish():
                    self._drawing.kill()
        self.say("down; nothing is left running")
        self._wait_for_pictures()
        return 0

    def _run(self) -> None:
        self.supervisor.start()
        if self.seconds is not None:
            self._end = time.monotonic() + self.seconds
        recorder = Recorder(self.supervisor.client.node)
        arm = ArmClient(self.supervisor.client)
        robot = Robot.from_urdf(self.options.robot, check_meshes=False)
        chain = self._chain(robot, arm)
        home = arm.positions(chain.joint_names, FIRST_STATE)
        self._wait_for_controller(recorder)
        if self.options.perception:
            self._wait_for_eyes()
        self.say(f"{robot.name} on a table in PyBullet, {self.law} at 1 kHz; `manipapy state` in another terminal")
        table = ProgressTable(self.console, f"{self.options.robot}, {self.law}", recorder)
        posed = self._tour(chain, home, arm, recorder, table)
        self._draw(recorder, robot.name, chain, posed)
        if self.wants_to_go_on():
            self.say("the arm holds and takes goals (`manipapy move --joints …`); Ctrl-C ends everything")
        with table:
            while self.wants_to_go_on():
                time.sleep(CHECK_EVERY)
                self._tell_about_pictures()
                table.show("holding")

    def _wait_for_controller(self, recorder: Recorder) -> None:
        """Until it has seen the arm."""

        def ready() -> bool:
            self.supervisor.check()
            return recorder.status is not None and recorder.status.seeded

        if not self.supervisor.client.wait_until(ready, FIRST_STATE, give_up=lambda: not self.wants_to_go_on()):
            raise NoAnswer("controller/status", FIRST_STATE, exists=False)

    def _wait_for_eyes(self) -> None:
        """Until the first picture was understood: a box that nobody can see yet would prove nothing."""
        seen: list[ObstacleArray] = []
        node = self.supervisor.client.node
        subscription = node.create_subscription(ObstacleArray, "obstacles", seen.append, 1)

        def open_now() -> bool:
            self.supervisor.check()
            return bool(seen)

        opened = self.supervisor.client.wait_until(open_now, FIRST_STATE, give_up=lambda: not self.wants_to_go_on())
        node.destroy_subscription(subscription)
        if not opened:
            raise NoAnswer("obstacles", FIRST_STATE, exists=False)

    def _chain(self, robot: Robot, arm: ArmClient) -> Chain:
        """The arm as it is configured in config/<robot>.yaml."""
        import yaml

        files = self.supervisor.bringup.nodes[0].params_files
        values: dict[str, str] = {}
        for path in files:
            values |= yaml.safe_load(Path(path).read_text(encoding="utf-8")).get("/**", {}).get("ros__parameters", {})
        return robot.chain(values.get("base_link") or robot.root, values["tip_link"])

    def _tour(self, chain: Chain, home: Array, arm: ArmClient, recorder: Recorder, table: ProgressTable) -> Array:
        """Every leg once; where the arm is to be pictured [rad or m], shape (n,)."""
        posed = home
        with table:
            for leg in tour(chain, home, box_first=self.options.perception):
                if not self.wants_to_go_on():
                    break
                begin = recorder.now

                def watch(name: str = leg.name) -> bool:
                    table.show(name)
                    return self.wants_to_go_on()

                self._carry_out(leg, chain, home, arm, watch)
                table.add(leg.name, begin)
                table.show(leg.name)
                if leg.name == PICTURE_STOP:
                    posed = arm.positions(chain.joint_names)
        table.sum_up()
        return posed

    def _carry_out(self, leg: Leg, chain: Chain, home: Array, arm: ArmClient, watch: Callable[[], bool]) -> None:
        """One motion: swings are sent to the controller, all others asked of the planner."""
        if leg.weaves:
            arm.move(weave(chain, arm.positions(chain.joint_names)), while_moving=watch)
            return
        if self._planner is None:
            self._planner = PlannerClient(self.supervisor.client)
        planner = self._planner
        if not leg.box_drops:
            planner.move(leg.request(chain), while_moving=watch)
            return
        told = None if self.options.perception else planner
        box = DroppedBox(self.supervisor.client, chain, home, told, self.say)
        try:
            result = planner.move(leg.request(chain), while_moving=lambda: box.look() or watch())
            self.say(f"{result.text}; {result.planned} motions were planned")
        except Refused as refusal:
            # Cameras that see the box too late leave it to the controller to feel it, and to hold the arm.
            self.say(str(refusal))
        box.take_away()

    def _draw(self, recorder: Recorder, name: str, chain: Chain, posed: Array) -> None:
        """Keep the record and begin to draw plot and picture, which takes a while beside loops at 1 kHz."""
        recorder.save(self.folder / RECORD)
        total = recorder.summary(0.0, recorder.now)
        title = f"{name}, {self.law}: {1e3 * total.rms_error:.3f} mrad rms at {total.rate:.0f} Hz"
        self._drawing = start_drawing(
            self.folder, title, self.options.robot, self.options.scene, chain.joint_names, posed
        )

    def _wait_for_pictures(self) -> None:
        """After the nodes are gone there is time for them; Ctrl-C before that has ended the drawing."""
        if self._drawing is not None:
            try:
                self._drawing.wait(DRAWING_PATIENCE)
            except subprocess.TimeoutExpired:
                self._drawing.kill()
                self._drawing.wait()
            self._tell_about_pictures()

    def _tell_about_pictures(self) -> None:
        """Say once what became of them."""
        drawing = self._drawing
        if drawing is None or drawing.poll() is None:
            return
        self._drawing = None
        assert drawing.stdout is not None
        if drawing.returncode == 0:
            self.say(f"plot {self.folder / CHART}, picture {self.folder / PICTURE}")
        elif drawing.returncode < 0:
            self.say("no pictures: the drawing was ended before it was done")
        else:
            self.say(f"no pictures: {drawing.stdout.read().strip()}")


def _pace(perception: bool) -> float:
    """Simulated seconds per second that this machine can carry."""
    cores = len(os.sched_getaffinity(0))
    return SLOW_PACE if perception and cores < ENOUGH_CORES else 1.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the demonstration."""
    parser = argparse.ArgumentParser(prog="python examples/sim_demo", description=__doc__)
    parser.add_argument("--robot", default="ur5", help="a name from config/")
    parser.add_argument("--scene", default="table", help="a bundled scene or a scene file")
    parser.add_argument("--law", default="computed_torque", help="control law")
    parser.add_argument("--seconds", type=float, default=None, help="end after so long [s]; until Ctrl-C if not given")
    parser.add_argument("--folder", type=Path, default=Path("build/sim"), help="for plot and picture")
    parser.add_argument("--perception", action="store_true", help="nobody tells of the box: cameras must see it")
    parser.add_argument("--pace", type=float, default=None, help="simulated seconds per second; by default as is right")
    parser.add_argument("--viewer", action="store_true", help="also show everything on a web page of this machine")
    parser.add_argument("--gui", action="store_true", help="show PyBullet's window")
    given = parser.parse_args(argv)
    options = Options(
        robot=given.robot,
        scene=given.scene,
        law=given.law,
        gui=given.gui,
        log_level=QUIET,
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
