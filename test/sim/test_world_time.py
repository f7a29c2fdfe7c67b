"""Simulated time, bitwise repeatability, saved states and thread safety."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from manipapy_core.errors import InputError, ManipapyError
from manipapy_core.model import BoxGeometry
from manipapy_core.sim import DriveMode, SceneObject, SimWorld, SnapshotError, read_scene
from sim.arms import HOME, arm

pytestmark = pytest.mark.usefixtures("simulator")

LOW = [0.5, 0.9, 0.1, -1.9, 0.1, 2.2, 0.7, 0.02]
"""A configuration of the panda that it reaches by pushing objects on the table."""


def busy_world() -> SimWorld:
    world = SimWorld()
    world.load_scene(read_scene("table"))
    world.add_robot(arm("panda"), q=[0.3, 0.4, 0.1, -1.9, 0.1, 2.2, 0.7, 0.02])
    return world


def run(world: SimWorld, steps: int) -> np.ndarray:
    """Joint positions and object poses after every tenth step towards LOW."""
    robot, rows = world.robots["panda"], []
    robot.command(DriveMode.POSITION, LOW)
    for _ in range(steps // 10):
        world.step(10)
        state, view = robot.state(), world.view()
        rows.append(np.concatenate([state.q, state.qd, *(T.ravel() for T in view.T_world_object.values())]))
    return np.array(rows)


def test_two_runs_are_bitwise_equal():
    with busy_world() as one, busy_world() as two:
        first = run(one, 1200)
        assert np.array_equal(first, run(two, 1200))
        # The arm did push objects.
        assert {contact.other for contact in one.robots["panda"].contacts()}


def test_run_after_reset_is_bitwise_equal():
    with busy_world() as world:
        first = run(world, 1200)
        world.reset()
        assert world.time == pytest.approx(1.2)
        assert np.array_equal(first, run(world, 1200))
        world.reset(time=True)
        assert world.time == 0.0


def test_run_after_restore_is_bitwise_equal():
    with busy_world() as world:
        run(world, 600)
        saved = world.save()
        status = world.robots["panda"].status()
        first = run(world, 600)
        world.restore(saved)
        assert world.time_ns == 600_000_000
        assert world.robots["panda"].status() == status
        assert np.array_equal(first, run(world, 600))
        world.discard(saved)


def test_invalid_snapshot_is_refused():
    with SimWorld() as world, SimWorld() as other:
        saved = world.save()
        with pytest.raises(SnapshotError, match="another world"):
            other.restore(saved)
        world.spawn(SceneObject("box", BoxGeometry([0.1, 0.1, 0.1])))
        with pytest.raises(SnapshotError, match="added or removed"):
            world.restore(saved)


def test_time_counts_steps_and_stops_when_paused():
    with SimWorld() as world:
        world.step(7)
        assert (world.time_ns, world.time) == (7_000_000, pytest.approx(0.007))
        world.pause()
        assert world.paused and not world.tick() and world.time_ns == 7_000_000
        world.step(3)
        assert world.time_ns == 10_000_000
        world.resume()
        assert world.tick() and world.time_ns == 11_000_000


def test_gravity_and_time_step_are_validated_and_applied():
    with pytest.raises(InputError, match="time_step"):
        SimWorld(time_step=0.5)
    with pytest.raises(InputError, match="gravity"):
        SimWorld(gravity=(0.0, 0.0, np.nan))
    with SimWorld(gravity=(0.0, 0.0, 0.0), time_step=0.002) as world:
        world.spawn(SceneObject("box", BoxGeometry([0.1, 0.1, 0.1]), mass=1.0))
        world.step(100)
        assert world.time_ns == 200_000_000
        np.testing.assert_array_equal(world.object_pose("box"), np.eye(4))


def test_closed_world_raises_and_others_continue():
    world = SimWorld()
    world.close()
    world.close()
    with SimWorld() as other:
        with pytest.raises(ManipapyError, match="closed"):
            world.step()
        assert other.time == 0.0


def test_concurrent_step_spawn_command_and_query():
    with SimWorld() as world:
        robot = world.add_robot(arm("ur5"), q=HOME["ur5"])
        stop = threading.Event()
        loop = threading.Thread(target=lambda: [world.tick() for _ in iter(stop.is_set, True)])
        loop.start()
        try:
            for number in range(30):
                T = np.eye(4)
                T[:3, 3] = [2.0, 0.2 * number, 0.5]
                world.spawn(SceneObject(f"box {number}", BoxGeometry([0.1, 0.1, 0.1]), T, mass=0.1))
                robot.command(DriveMode.POSITION, HOME["ur5"])
                world.view()
                if number % 2:
                    world.remove(f"box {number}")
        finally:
            stop.set()
            loop.join()
        assert len(world.objects()) == 15 and world.time > 0.0
        assert np.abs(robot.state().q - HOME["ur5"]).max() < 1e-6
