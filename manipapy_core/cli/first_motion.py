"""First motion of a new robot: planned around an obstacle, executed by the controller in simulation, and checked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .. import kinematics, lie
from ..control import ArmController, ControllerSettings, Outcome
from ..dynamics import GRAVITY
from ..errors import ManipapyError
from ..geometry import Checker, Sphere, World
from ..model import Chain, Robot, SphereGeometry
from ..model.arms import gravity_in_base
from ..motion import PlanResult, plan
from ..motion.verify import TooManySamples, chain_efforts
from ..sim import DriveMode, SceneObject, SimWorld
from ..trajectory.joint_trajectory import JointTrajectory
from ..typing import Array

OBSTACLE = "obstacle"
OBSTACLE_SHARE = 0.08
"""Radius of the obstacle as a share of the distance from the base to the tip at home."""
GOALS = 64
"""Random goals to try."""
PERIOD = 1e-3
"""Of the simulation and the controller [s]."""
SETTLE = 4.0
"""Time after the trajectory for the goal to be settled [s]."""
SPEED = 0.5
"""Share of the velocity and acceleration limits."""
EFFORT = 0.9
"""Share of the effort limits that the motion needs at most; friction and feedback take the rest."""
CLEARANCE = 0.01
"""Distance that the motion keeps, where home and goal allow it [m]; PyBullet adds 1 mm to shapes."""
CHECK_EVERY = 10
"""Executed states between two collision checks."""


class NoMotion(ManipapyError):
    """No first motion was found."""

    def __init__(self, robot: str, reason: str):
        super().__init__(f"no motion of {robot!r} was found: {reason}")
        self.robot, self.reason = robot, reason


@dataclass(frozen=True, eq=False)
class PlannedFirstMotion:
    """A motion from home to a goal, around an obstacle where one fits between them."""

    result: PlanResult
    trajectory: JointTrajectory
    goal: Array
    """[rad or m], shape (n,)."""
    obstacle: tuple[Array, float] | None
    """Centre in the base frame [m], shape (3,), and radius [m] of a ball in the way."""


@dataclass(frozen=True, eq=False)
class ExecutedMotion:
    """What the simulated arm did."""

    outcome: Outcome
    error: float
    """Largest difference between reference and arm [rad or m]."""
    contacts: tuple[str, ...]
    """Links that touched something in the simulation."""
    colliding: int
    """Executed states that the checker finds in collision."""
    states: int
    """Executed states that were checked."""


def plan_first_motion(checker: Checker, world: World, home: Array, *, gravity: Array = GRAVITY) -> PlannedFirstMotion:
    """Plan from home to a random free goal; a ball is put on the straight path of the tip where it leaves both free.

    Args:
        gravity: In the base frame [m/s²], shape (3,).

    Raises:
        NoMotion: No goal was reached.
    """
    chain = checker.body.chain
    lower, upper = (np.clip(bound, -np.pi, np.pi) for bound in (chain.limits.lower, chain.limits.upper))
    goals = np.random.default_rng(1).uniform(lower, upper, (GOALS, chain.n))
    # Half way to a random configuration: far enough to see, near enough for every arm.
    goals = home + 0.5 * (goals - home)
    # Links of some robots are nearer to each other than that wherever they are.
    reason, padding = "every sampled goal collides", 0.0
    for padding in (CLEARANCE, 0.0):
        free = goals[~checker.padded(padding).check(goals)]
        if len(free) and not checker.padded(padding).check(home[None])[0]:
            break
    needed = chain_efforts(chain, gravity)
    for goal in free:
        obstacle = _add_obstacle(checker.padded(padding), world, chain, home, goal)
        try:
            result = plan(
                checker,
                home,
                goal,
                timeout=10.0,
                padding=padding,
                velocity_scaling=SPEED,
                acceleration_scaling=SPEED,
                effort_limits=True,
                efforts=lambda q, qd, qdd: needed(q, qd, qdd) / EFFORT,
            )
        except TooManySamples as error:
            reason = str(error)
        else:
            if result.trajectory is not None and result.trajectory.duration > 0.0:
                return PlannedFirstMotion(result, result.trajectory, goal, obstacle)
            reason = result.message
        if obstacle is not None:
            world.remove(OBSTACLE)
    raise NoMotion(chain.robot_name, reason)


def _add_obstacle(checker: Checker, world: World, chain: Chain, home: Array, goal: Array) -> tuple[Array, float] | None:
    """Put a ball halfway between the two tips, where the straight joint motion passes; None if it does not fit."""
    tips = kinematics.forward(chain, np.vstack([home, 0.5 * (home + goal), goal]))[:, :3, 3]
    radius = OBSTACLE_SHARE * float(np.linalg.norm(tips[0]))
    # The planner keeps the clearance to the ball also where the arm's own links come nearer to each other.
    world.add(OBSTACLE, Sphere(radius + CLEARANCE), lie.pose(translation=tips[1]))
    if checker.check(np.vstack([home, goal])).any():
        world.remove(OBSTACLE)
        return None
    return tips[1], radius


def simulate(
    robot: Robot,
    checker: Checker,
    planned: PlannedFirstMotion,
    *,
    on_state: Callable[[float, Array, float], None] = lambda time, q, error: None,
) -> ExecutedMotion:
    """Execute a planned motion by computed torque in the simulation.

    Args:
        checker: Checks the executed states.
        on_state: Called with time [s], positions [rad or m] and tracking error periodically.

    Raises:
        ManipapyError: No physics engine is installed, or it cannot load the robot.
    """
    chain = checker.body.chain
    controller = ArmController(
        chain, ControllerSettings(period=PERIOD, gravity=gravity_in_base(robot, chain), law="computed_torque")
    )
    start = dict(zip(chain.joint_names, planned.result.path[0].tolist()))
    start |= {name: value for name, value in chain.locked if name in robot.free_joints}
    executed, error, touched = [], 0.0, set[str]()
    with SimWorld(time_step=PERIOD) as world:
        arm = world.add_robot(robot, q=start)
        if planned.obstacle is not None:
            centre, radius = planned.obstacle
            T_base_root = chain.link_placements[chain.link_names.index(robot.root)][1]
            T_root_obstacle = lie.inverse(T_base_root) @ lie.pose(translation=centre)
            world.spawn(SceneObject(OBSTACLE, SphereGeometry(radius), T_root_obstacle))
        order = [arm.joint_names.index(name) for name in chain.joint_names]
        goal = None
        for tick in range(round((planned.trajectory.duration + SETTLE) / PERIOD)):
            state = arm.state()
            q, qd = np.ascontiguousarray(state.q[order]), np.ascontiguousarray(state.qd[order])
            efforts = controller.tick(state.time, q, qd, state.time)
            if goal is None:
                goal = controller.submit(planned.trajectory)
            if efforts is not None:
                arm.command(DriveMode.EFFORT, efforts, chain.joint_names)
            world.step()
            if tick % CHECK_EVERY == 0:
                executed.append(q)
                now = float(np.abs(controller.q_ref - q).max())
                error = max(error, now)
                touched |= {contact.link for contact in arm.contacts() if contact.force > 0.0}
                on_state(state.time, q, now)
            if goal.outcome is not None:
                break
    assert goal is not None
    outcome = goal.outcome
    if outcome is None:
        raise NoMotion(robot.name, f"the controller has not ended the motion {SETTLE:g} s after its end")
    colliding = int(checker.check(np.array(executed)).sum())
    return ExecutedMotion(outcome, error, tuple(sorted(touched)), colliding, len(executed))
