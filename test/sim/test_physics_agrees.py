"""The motion of both engines is the motion that our dynamics predicts.

Both integrate by qd += h qdd, q += h qd, so the reference does the same with our accelerations: what is compared is the
physics and not the integrator. Damping acts on the velocity at the start of the step in PyBullet and at its end in
MuJoCo.
"""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import Robot, dynamics, lie
from manipapy_core.model import BoxGeometry, SphereGeometry
from manipapy_core.sim import DriveMode, SceneObject, Simulator, SimWorld
from reference import urdf_writing as urdf
from sim.arms import ALL, HOME, WITHOUT_MIMIC, arm, inside

pytestmark = pytest.mark.usefixtures("simulator")

H = 1e-3


def follow(world, robot, efforts, steps, friction=False):
    """Largest distance between the engine and our integration, per joint, under efforts(time, q, qd)."""
    state = robot.state()
    q, qd, worst = state.q, state.qd, np.zeros(robot.chain.n)
    implicit = H * np.diag(robot.chain.damping) if friction and world.simulator is Simulator.MUJOCO else 0.0
    for step in range(steps):
        tau = efforts(step * H, q, qd)
        robot.command(DriveMode.EFFORT, tau)
        world.step()
        qdd = dynamics.forward_dynamics(robot.chain, q, qd, tau, joint_friction=friction)
        M = dynamics.mass_matrix(robot.chain, q)
        qd = qd + H * np.linalg.solve(M + implicit, M @ qdd)
        q = q + H * qd
        worst = np.maximum(worst, np.abs(robot.state().q - q))
    return worst


def engine_inverse_dynamics(world, robot, q, qd, qdd):
    """Efforts of all moving joints by the engine's own algorithm, in the order of `moving_names`."""
    engine, body = world._engine, robot._body
    if world.simulator is Simulator.PYBULLET:
        return np.array(engine.client.calculateInverseDynamics(body.id, q.tolist(), qd.tolist(), qdd.tolist()))
    mujoco = pytest.importorskip("mujoco")
    engine.data.qpos[body._moving_q], engine.data.qvel[body._moving_v] = q, qd
    engine.data.qacc[body._moving_v] = qdd
    mujoco.mj_inverse(engine.model, engine.data)
    # What the joints need without the constraints that couple them, and without damping and friction.
    inner = engine.data.qfrc_inverse + engine.data.qfrc_constraint + engine.data.qfrc_passive
    return inner[body._moving_v]


@pytest.mark.parametrize("name", ALL)
def test_inverse_dynamics_agrees_with_the_engine(name):
    with SimWorld() as world:
        robot = world.add_robot(arm(name))
        body, chain = robot._body, robot.chain
        random = np.random.default_rng(7)
        for seed in range(5):
            q, (qd, qdd) = inside(name, seed), random.uniform(-1.0, 1.0, (2, chain.n))
            ratio, driver = body._ratio, body._driver
            theirs = engine_inverse_dynamics(
                world, robot, ratio * q[driver] + body._offset, ratio * qd[driver], ratio * qdd[driver]
            )
            reduced = np.bincount(driver, weights=ratio * theirs, minlength=chain.n)
            np.testing.assert_allclose(reduced, dynamics.inverse_dynamics(chain, q, qd, qdd), atol=1e-9)


@pytest.mark.parametrize(("name", "steps"), [("ur5", 1000), *((name, 300) for name in WITHOUT_MIMIC)])
def test_torque_driven_motion_agrees_to_nanoradians(name, steps):
    """Longer runs of some arms are chaotic: an upright arm amplifies the last bit."""
    with SimWorld() as world:
        robot = world.add_robot(arm(name), q=HOME.get(name, inside(name, 3)))
        phase = np.arange(robot.chain.n)

        def efforts(time, q, qd):
            return dynamics.inverse_dynamics(robot.chain, q, qd, 2.0 * np.cos(2 * np.pi * time + phase))

        assert follow(world, robot, efforts, steps).max() < 1e-9


def test_torque_driven_panda_with_coupled_fingers_agrees_to_ten_micrometres():
    """The fingers are coupled by a constraint that the engines solve iteratively, hence the wider tolerance."""
    with SimWorld() as world:
        robot = world.add_robot(arm("panda"), q=HOME["panda"])
        phase, size = np.arange(8), np.array([2.0] * 7 + [0.1])

        def efforts(time, q, qd):
            return dynamics.inverse_dynamics(robot.chain, q, qd, size * np.cos(4 * np.pi * time + phase))

        worst = follow(world, robot, efforts, 1000)
        assert worst[:7].max() < 1e-5 and worst[7] < 1e-5
        fingers = dict(zip(*(lambda s: (s.names, s.q))(robot.state(mimic=True))))
        assert fingers["panda_finger_joint2"] == pytest.approx(fingers["panda_finger_joint1"], abs=1e-6)


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_gravity_compensation_holds_the_arm(name):
    with SimWorld() as world:
        robot = world.add_robot(arm(name), q=HOME[name])
        for _ in range(1000):
            robot.command(DriveMode.EFFORT, dynamics.gravity_forces(robot.chain, robot.state().q))
            world.step()
        assert np.abs(robot.state().q - HOME[name]).max() < 1e-6


def test_gravity_on_a_tilted_base():
    T = np.eye(4)
    T[:3, :3] = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]]
    with SimWorld() as world:
        robot = world.add_robot(arm("ur5"), T_world_base=T, q=HOME["ur5"])
        world.step(300)
        assert np.abs(robot.state().q - HOME["ur5"]).max() < 1e-6
        gravity_base = T[:3, :3].T @ world.gravity
        expected = dynamics.gravity_forces(robot.chain, robot.state().q, gravity=gravity_base)
        np.testing.assert_allclose(robot.state().effort, expected, atol=1e-3)


def pendulum(**joint) -> Robot:
    arm_link = urdf.link("arm", 2.0, com=(0.3, 0.0, 0.0), inertia=(0.01, 0.0, 0.0, 0.02, 0.0, 0.02))
    swing = urdf.joint("swing", "continuous", "base", "arm", axis=(0, 1, 0), **joint)
    return Robot.from_urdf(urdf.robot("pendulum", urdf.link("base"), arm_link, swing))


def test_joint_damping_follows_the_description():
    with SimWorld() as world:
        robot = world.add_robot(pendulum(damping=0.7), q=[0.3])
        assert follow(world, robot, lambda time, q, qd: np.array([1.0]), 1000, friction=True).max() < 1e-9


def test_coulomb_friction_brakes_and_sticks():
    with SimWorld() as world:
        robot = world.add_robot(pendulum(friction=0.5), q=[0.3])
        for _ in range(10):
            robot.command(DriveMode.EFFORT, [0.0])
            world.step()
        # While it falls, friction has one sign and both agree.
        assert follow(world, robot, lambda time, q, qd: np.array([0.0]), 200, friction=True).max() < 1e-4
        # Gravity pulls with 2 · 9.81 · 0.3 N m at most; 0.4 N m beyond balance do not overcome friction.
        robot.reset([0.0])
        balance = float(dynamics.gravity_forces(robot.chain, np.zeros(1))[0])
        for _ in range(500):
            robot.command(DriveMode.EFFORT, [balance + 0.4])
            world.step()
        assert abs(robot.state().q[0]) < 1e-6


@pytest.mark.parametrize(("multiplier", "offset"), [(1.0, 0.0), (-2.0, 0.1), (0.5, -0.3)])
def test_mimic_joint_follows_and_loads_its_driver(simulator, multiplier, offset):
    slider = {"limits": (-9.0, 9.0)}
    mimic = ("lead", multiplier, offset)
    robot = Robot.from_urdf(
        urdf.robot(
            "pair",
            urdf.link("base"),
            urdf.link("one", 0.5),
            urdf.link("two", 0.8),
            urdf.joint("lead", "prismatic", "base", "one", axis=(1, 0, 0), **slider),
            urdf.joint("follow", "prismatic", "base", "two", axis=(0, 1, 0), mimic=mimic, **slider),
        )
    )
    with SimWorld() as world:
        simulated = world.add_robot(robot, q=[0.2])
        assert follow(world, simulated, lambda time, q, qd: np.array([np.sin(10 * time)]), 400).max() < 1e-9
        lead, follower = simulated.state(mimic=True).q
        assert follower == pytest.approx(multiplier * lead + offset, abs=1e-9)


def test_objects_fall_freely_without_hidden_damping():
    T = np.eye(4)
    T[2, 3] = 2.0
    with SimWorld() as world:
        world.spawn(SceneObject("ball", SphereGeometry(0.05), T, mass=0.2))
        world.step(400)
        # Sum of h² g over the steps: the same rule as above, exactly.
        assert world.object_pose("ball")[2, 3] == pytest.approx(2.0 - 9.81 * H**2 * 400 * 401 / 2, abs=1e-9)
        np.testing.assert_allclose(world.object_twist("ball"), [0, 0, 0, 0, 0, -9.81 * 0.4], atol=1e-9)


def test_pushing_apart_conserves_momentum(simulator):
    """Two balls that overlap at first: without other forces their momenta cancel at every moment."""
    left, right = np.eye(4), np.eye(4)
    right[:3, 3] = 0.06, 0.05, 0.02
    with SimWorld(gravity=(0.0, 0.0, 0.0)) as world:
        world.spawn(SceneObject("left", SphereGeometry(0.05), left, mass=0.2))
        world.spawn(SceneObject("right", SphereGeometry(0.05), right, mass=0.6))
        world.step(200)
        one, two = (world.object_twist(name)[3:] for name in ("left", "right"))
        assert np.linalg.norm(one) > 1e-3
        np.testing.assert_allclose(0.2 * one + 0.6 * two, 0.0, atol=1e-9)
        # The balls leave along the line of their centres.
        assert abs(one @ right[:3, 3]) == pytest.approx(np.linalg.norm(one) * np.linalg.norm(right[:3, 3]), rel=1e-3)


def test_contact_carries_the_weight_of_a_load():
    plate = urdf.link("plate", 1.5).replace(
        "</link>", '<collision><geometry><box size="0.4 0.4 0.02"/></geometry></collision></link>'
    )
    lift = urdf.joint("lift", "prismatic", "base", "plate", axis=(0, 0, 1), limits=(-1.0, 1.0))
    T = np.eye(4)
    T[2, 3] = 0.061
    with SimWorld() as world:
        robot = world.add_robot(Robot.from_urdf(urdf.robot("scale", urdf.link("base"), plate, lift)))
        world.spawn(SceneObject("load", BoxGeometry([0.1, 0.1, 0.1]), T, mass=2.0))
        world.step(1500)
        assert sum(contact.force for contact in robot.contacts()) == pytest.approx(2.0 * 9.81, rel=1e-3)
        assert robot.state().effort[0] == pytest.approx(3.5 * 9.81, rel=1e-3)
        # Contacts are on the upper side of the plate.
        assert {contact.other for contact in robot.contacts()} == {"load"}
        for contact in robot.contacts():
            assert contact.position[2] == pytest.approx(0.01 + robot.state().q[0], abs=1e-3)


def test_friction_is_the_product_of_both_surfaces():
    """On a slope of 20° a box of 0.5 on 0.5 slides with g (sin − 0.25 cos), one of 1 on 0.5 rests."""
    slope = lie.pose(lie.exp_so3([0.0, np.radians(20.0), 0.0]), [0.0, 0.0, 0.0])
    with SimWorld() as world:
        world.spawn(SceneObject("slope", BoxGeometry([4.0, 2.0, 0.1]), slope, friction=0.5))
        for name, y, friction in (("rough", -0.5, 1.0), ("smooth", 0.5, 0.5)):
            T = slope @ lie.pose(None, [-1.0, y, 0.1])
            world.spawn(SceneObject(name, BoxGeometry([0.1, 0.1, 0.1]), T, mass=0.3, friction=friction))
        world.step(500)
        down = slope[:3, 0]
        speed = float(world.object_twist("smooth")[3:] @ down)
        expected = 9.81 * 0.5 * (np.sin(np.radians(20.0)) - 0.25 * np.cos(np.radians(20.0)))
        assert speed == pytest.approx(expected, rel=0.02)
        assert np.linalg.norm(world.object_twist("rough")) < 2e-3
