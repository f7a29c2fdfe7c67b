"""Both physics engines: cost of a step, of a spawn and of a stereo image, and agreement with our dynamics.

CPU time of one thread, medians. What is not like for like: contacts are stiff springs in MuJoCo, rigid with a
correction of penetrations in PyBullet. Images are drawn by our own rasteriser for both.
"""

from __future__ import annotations

import importlib.metadata
import statistics
import time

import numpy as np

from manipapy_core import Robot, dynamics
from manipapy_core.model import BoxGeometry
from manipapy_core.sim import (
    DriveMode,
    Pinhole,
    RenderReplica,
    SceneObject,
    SimRobot,
    Simulator,
    SimWorld,
    StereoCamera,
    look_at,
    read_scene,
)

HOME = {"ur5": [0.4, -1.3, 1.6, -1.9, -1.57, 0.3], "panda": [0.2, -0.5, 0.1, -2.2, 0.1, 1.8, 0.7, 0.02]}
ROUNDS, STEPS = 7, 500
PACKAGES = ("mujoco", "pybullet", "pybullet-arm64", "numpy")


def cpu(call) -> float:
    """CPU time of a call [s]."""
    start = time.thread_time()
    call()
    return time.thread_time() - start


def opened(simulator: Simulator, name: str, scene: str | None) -> tuple[SimWorld, SimRobot]:
    world = SimWorld(simulator=simulator)
    if scene is not None:
        world.load_scene(read_scene(scene))
    return world, world.add_robot(Robot.from_urdf(name), q=HOME[name])


def step_cost(simulator: Simulator, name: str, scene: str | None) -> tuple[float, float]:
    """Time of a whole step and of the engine's part of it [µs], under gravity compensation."""
    world, robot = opened(simulator, name, scene)
    with world:

        def controlled() -> None:
            for _ in range(STEPS):
                robot.command(DriveMode.EFFORT, dynamics.gravity_forces(robot.chain, robot.state().q))
                world.step()

        def alone() -> None:
            for _ in range(STEPS):
                world._engine.step()

        controlled()
        whole = statistics.median(cpu(controlled) for _ in range(ROUNDS))
        engine = statistics.median(cpu(alone) for _ in range(ROUNDS))
        return whole / STEPS * 1e6, engine / STEPS * 1e6


def spawn_cost(simulator: Simulator) -> float:
    """Time to spawn and remove a box on a table with a UR5 [ms]."""
    world, _ = opened(simulator, "ur5", "table")
    T = np.eye(4)
    T[:3, 3] = 0.5, 0.5, 0.6

    def change() -> None:
        world.spawn(SceneObject("new", BoxGeometry([0.05, 0.05, 0.05]), T, mass=0.1))
        world.remove("new")

    with world:
        return statistics.median(cpu(change) for _ in range(ROUNDS)) * 1e3


def image_cost(simulator: Simulator) -> float:
    """Time of a stereo pair of 640 × 480 pixels [ms]."""
    world, _ = opened(simulator, "ur5", "table")
    left = look_at([1.4, 0.0, 0.9], [0.4, 0.0, 0.1])
    camera = StereoCamera(Pinhole.from_field_of_view(640, 480, 1.2), 0.1, left)
    with world, RenderReplica() as replica:
        content, view = world.content_and_view()
        replica.load(content)
        replica.stereo(camera, view)
        return statistics.median(cpu(lambda: replica.stereo(camera, world.view())) for _ in range(ROUNDS)) * 1e3


def disagreement(simulator: Simulator) -> float:
    """Largest difference to our integration of a torque-driven UR5 over a second [rad]."""
    world, robot = opened(simulator, "ur5", None)
    with world:
        q, qd, worst, h = robot.state().q, robot.state().qd, 0.0, world.time_step
        for step in range(1000):
            qdd = 2.0 * np.cos(2.0 * np.pi * h * step + np.arange(6))
            tau = dynamics.inverse_dynamics(robot.chain, q, qd, qdd)
            robot.command(DriveMode.EFFORT, tau)
            world.step()
            qd = qd + h * dynamics.forward_dynamics(robot.chain, q, qd, tau)
            q = q + h * qd
            worst = max(worst, float(np.abs(robot.state().q - q).max()))
        return worst


def main() -> None:
    for package in PACKAGES:
        try:
            print(f"{package} {importlib.metadata.version(package)}", end="  ")
        except importlib.metadata.PackageNotFoundError:
            continue
    print()
    for name, scene in (("ur5", None), ("ur5", "table"), ("panda", "table")):
        whole, engine = zip(*(step_cost(simulator, name, scene) for simulator in Simulator))
        for part, figures in (("whole step", whole), ("engine", engine)):
            row(f"{name}, {scene or 'no scene'}: {part} [µs]", figures)
    row("spawn and remove a box [ms]", [spawn_cost(simulator) for simulator in Simulator])
    row("stereo pair 640 × 480 [ms]", [image_cost(simulator) for simulator in Simulator])
    row("difference to our dynamics [rad]", [disagreement(simulator) for simulator in Simulator])


def row(text: str, figures) -> None:
    values = "  ".join(f"{item.value} {value:9.3g}" for item, value in zip(Simulator, figures))
    print(f"{text:40s} {values}  ratio {figures[1] / figures[0]:.3g}")


if __name__ == "__main__":
    main()
