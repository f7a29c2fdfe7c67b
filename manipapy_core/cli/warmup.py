"""`manipapy warmup`: compiles ahead what the nodes of a robot need, so that they start quickly."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
from rich.console import Console
from rich.markup import escape

from .. import dynamics, kinematics
from ..compile_notice import compiling
from ..errors import MissingPackage
from ..geometry import Checker, RobotBody, World, decomposition
from ..geometry.warm_up import every_shape
from ..model import Chain, Robot

Step = tuple[str, Callable[[], object]]


def compile_all(model: Robot, chain: Chain) -> None:
    """Runs all steps with a progress bar; prints how long each took, and what is left out for lack of a package."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console, began = Console(highlight=False, soft_wrap=True), time.monotonic()
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console, transient=True) as bar:
        todo = list(steps(model, chain))
        task = bar.add_task("", total=len(todo))
        for name, run in todo:
            bar.update(task, description=name)
            since = time.monotonic()
            try:
                run()
                outcome = f"{time.monotonic() - since:6.1f} s"
            except MissingPackage as missing:
                outcome = f"left out: {missing}"
            console.print(f"{name:26} {escape(outcome)}")
            bar.advance(task)
    console.print(f"{escape(chain.robot_name)} is ready after {time.monotonic() - began:.0f} s")


def steps(model: Robot, chain: Chain) -> Iterator[Step]:
    """Names of the parts of a start, and what compiles them; a later step may use what an earlier one has made."""
    made: list[Checker] = []

    def build_body() -> None:
        made.append(Checker(RobotBody.build(model, chain), World()))

    yield "kinematics and dynamics", lambda: _kernels(chain)
    yield "collision body", build_body
    yield "motion planning", lambda: _planning(made[0])
    yield "path constraints", lambda: _constraints(made[0])
    yield "decomposition of meshes", decomposition.warm_up
    yield "collision forecast", lambda: _forecast(made[0])
    yield "controller", lambda: _controller(chain)
    yield "servo", lambda: _servo(made[0])
    yield "polytopes", lambda: _polytopes(made[0])
    yield "perception", lambda: _perception(made[0])
    yield "images of the simulation", _rendering


def _kernels(chain: Chain) -> None:
    home = np.zeros(chain.n)
    kinematics.forward(chain, home)
    kinematics.link_poses(chain, home)
    kinematics.space_jacobian(chain, home)
    dynamics.mass_matrix(chain, home)
    dynamics.inverse_dynamics(chain, home, home, home)


def _planning(checker: Checker) -> None:
    from ..motion import warm_up

    warm_up(checker)


def _constraints(checker: Checker) -> None:
    from ..motion.plan import warm_up_constraints

    warm_up_constraints(checker)


def _forecast(checker: Checker) -> None:
    from ..motion.collision_forecast import CollisionForecaster
    from ..trajectory import BrakingLimits

    CollisionForecaster(checker.body, BrakingLimits.of(checker.body.chain)).warm_up()


def _controller(chain: Chain) -> None:
    from ..control import ArmController

    q = np.clip(np.zeros(chain.n), chain.limits.lower, chain.limits.upper)
    ArmController(chain).tick(0.0, q, np.zeros(chain.n), 0.0)


def _servo(checker: Checker) -> None:
    from ..servoing import ArmServo

    ArmServo(checker).warm_up()


def _polytopes(checker: Checker) -> None:
    from .. import polytopes

    chain = checker.body.chain
    q = np.clip(np.zeros(chain.n), chain.limits.lower, chain.limits.upper)
    world = every_shape(checker.body, q)
    with compiling("polytopes", 10.0):
        near = polytopes.near_points(checker.body, world, q)
        polytopes.velocity_polytope(chain, q, damping=True, near=near)


def _perception(checker: Checker) -> None:
    from ..perception.pipeline import warm_up

    warm_up(checker.body)


def _rendering() -> None:
    from ..sim.render.replica import RenderReplica

    with compiling("the rasteriser", 5.0), RenderReplica() as replica:
        replica.warm_up()
