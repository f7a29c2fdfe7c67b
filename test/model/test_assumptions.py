"""What a description leaves open is filled in by stated rules, checked by Pinocchio, and marked as assumed."""

from __future__ import annotations

import math
import pickle
from pathlib import Path

import numpy as np
import pinocchio
import pytest

from manipapy_core import dynamics
from manipapy_core.model import Robot
from manipapy_core.model.assumptions import EFFORT_RESERVE, TIME_TO_SPEED, VELOCITY, completed_limits
from manipapy_core.model.joint_loads import SAMPLES, joint_loads
from model.small_arm import arm


def without_limits(name: str = "ur5") -> Robot:
    """A bundled robot without the limits file that comes with it."""
    return Robot.from_urdf(Robot.from_urdf(name).urdf)


def lever(limit: str = 'effort="40" velocity="2"', inertial: str | None = None) -> Robot:
    """A bar of 2 kg that turns about a horizontal axis at its end, 0.8 m long."""
    bar = """<inertial><origin xyz="0.4 0 0"/><mass value="2"/>
        <inertia ixx="0.001" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>"""
    box = '<collision><origin xyz="0.4 0 0"/><geometry><box size="0.8 0.1 0.05"/></geometry></collision>'
    return Robot.from_urdf(f"""<robot name="lever"><link name="post"/><link name="bar">{
        bar if inertial is None else inertial
    }{box}</link><joint name="hinge" type="revolute"><parent link="post"/><child link="bar"/>
        <axis xyz="0 1 0"/><limit lower="-1" upper="1" {limit}/></joint></robot>""")


@pytest.mark.parametrize("name", ["ur5", "panda", "xarm6"])
def test_loads_are_those_of_pinocchio(name: str) -> None:
    robot = Robot.from_urdf(name)
    chain = robot.tree() if name != "panda" else robot.chain(robot.root, "panda_link8")
    loads = joint_loads(chain)
    model = pinocchio.buildModelFromXML(robot.urdf)
    lock = [model.getJointId(joint) for joint in model.names[1:] if joint not in chain.joint_names]
    model = pinocchio.buildReducedModel(model, lock, pinocchio.neutral(model))
    data = model.createData()
    lower, upper = (np.clip(bound, -math.pi, math.pi) for bound in (chain.limits.lower, chain.limits.upper))
    inertia, gravity = np.zeros(chain.n), np.zeros(chain.n)
    for q in np.random.default_rng(0).uniform(lower, upper, (SAMPLES, chain.n)):
        inertia = np.maximum(inertia, np.diag(pinocchio.crba(model, data, q)))
        gravity = np.maximum(gravity, np.abs(pinocchio.computeGeneralizedGravity(model, data, q)))
    np.testing.assert_allclose(loads.inertia, inertia, rtol=1e-9)
    np.testing.assert_allclose(loads.gravity, gravity, rtol=1e-6, atol=1e-9)


def test_mimic_joints_count_in_the_loads() -> None:
    chain = Robot.from_urdf("panda").tree()
    lower, upper = (np.clip(bound, -math.pi, math.pi) for bound in (chain.limits.lower, chain.limits.upper))
    q = np.random.default_rng(0).uniform(lower, upper, (SAMPLES, chain.n))
    inertia = np.einsum("bii->bi", dynamics.mass_matrix(chain, q)).max(axis=0)
    np.testing.assert_allclose(joint_loads(chain).inertia, inertia, rtol=1e-9)


def test_acceleration_is_what_the_effort_gives_to_the_inertia() -> None:
    limits = completed_limits(lever('effort="10" velocity="2"').tree())
    # 2 kg at 0.4 m: 7.85 N m of the 10 carry the weight, half of the rest accelerates 0.1 + 2 · 0.4² kg m².
    assert limits.acceleration == pytest.approx([0.5 * (10.0 - 2.0 * 9.81 * 0.4) / (0.1 + 2.0 * 0.4**2)], rel=1e-2)
    assert limits.jerk == pytest.approx(10.0 * limits.acceleration)
    assert limits.assumed == {("hinge", "acceleration"), ("hinge", "jerk")}


def test_acceleration_is_capped_by_the_time_to_full_velocity() -> None:
    assert completed_limits(lever('effort="4000" velocity="2"').tree()).acceleration == pytest.approx([4.0])


@pytest.mark.parametrize("limit", ['effort="0" velocity="0"', 'velocity="0"', 'effort="0"'])
def test_zero_and_missing_limits_are_unknown(limit: str) -> None:
    robot = lever(limit).completed()
    hinge, quantities = robot.joints["hinge"], robot.assumed_of("hinge")
    assert quantities == ("velocity", "effort", "acceleration", "jerk")
    assert hinge.velocity == VELOCITY[True]
    inertia, weight = 0.1 + 2.0 * 0.4**2, 2.0 * 9.81 * 0.4
    assert hinge.effort == pytest.approx(EFFORT_RESERVE * (weight + inertia * VELOCITY[True] / TIME_TO_SPEED), rel=1e-2)


def test_known_limits_are_kept() -> None:
    robot = Robot.from_urdf("ur5")
    assert robot.completed() is robot
    filled = without_limits().completed()
    assert {assumption.quantity for assumption in filled.assumptions} == {"acceleration", "jerk"}
    for name, joint in robot.joints.items():
        assert (filled.joints[name].effort, filled.joints[name].velocity) == (joint.effort, joint.velocity)
    chain = filled.chain("base_link", "tool0")
    assert ("elbow_joint", "acceleration") in chain.limits.assumed
    assert np.isfinite(chain.limits.acceleration).all()
    assert completed_limits(chain) is chain.limits
    assert pickle.loads(pickle.dumps(filled)).assumptions == filled.assumptions


def test_assumed_accelerations_need_less_than_the_efforts() -> None:
    """Rest to full acceleration of any one joint, wherever the arm is, by Pinocchio's inverse dynamics."""
    for name in ("ur5", "gen3", "iiwa14"):
        robot = without_limits(name).completed()
        chain = robot.tree()
        model = pinocchio.buildModelFromXML(robot.urdf)
        data, zero = model.createData(), np.zeros(chain.n)
        lower, upper = (np.clip(bound, -math.pi, math.pi) for bound in (chain.limits.lower, chain.limits.upper))
        for q in np.random.default_rng(7).uniform(lower, upper, (100, chain.n)):
            q = q if model.nq == chain.n else _configuration(model, q)
            for joint in range(chain.n):
                acceleration = zero.copy()
                acceleration[joint] = chain.limits.acceleration[joint]
                tau = pinocchio.rnea(model, data, q, zero, acceleration)
                assert abs(tau[joint]) < chain.limits.effort[joint]


def _configuration(model: pinocchio.Model, q: np.ndarray) -> np.ndarray:
    """Angles as Pinocchio wants them: cosine and sine for endless joints."""
    numbers: list[float] = []
    for joint, angle in zip(list(model.joints)[1:], q):
        numbers += [angle] if joint.nq == 1 else [math.cos(angle), math.sin(angle)]
    return np.array(numbers)


def test_links_without_mass_get_that_of_their_box() -> None:
    robot = lever(inertial="").completed()
    inertial = robot.links["bar"].inertial
    assert inertial is not None and inertial.mass == pytest.approx(500.0 * 0.8 * 0.1 * 0.05)
    np.testing.assert_allclose(inertial.com, [0.4, 0.0, 0.0])
    assert inertial.inertia[1, 1] == pytest.approx(inertial.mass / 12.0 * (0.8**2 + 0.05**2))
    assert [a.subject for a in robot.assumptions if a.quantity == "mass"] == ["bar"]
    assert robot.links["post"].inertial is None


def test_links_without_mass_and_shape_get_a_small_box() -> None:
    robot = Robot.from_urdf(arm(more="")).completed()
    assert (joint_loads(robot.tree()).inertia > 0.0).all()


def test_limits_file_marks_what_is_assumed_and_raises_unknown_limits(tmp_path: Path) -> None:
    path = tmp_path / "joint_limits.yaml"
    path.write_text("joint_limits: {hinge: {max_velocity: 9, max_acceleration: 3, assumed: [acceleration]}}\n")
    text = lever('effort="0" velocity="0"').urdf
    robot = Robot.from_urdf(text, limits=path)
    assert robot.joints["hinge"].velocity == 9.0 and robot.assumed_of("hinge") == ("acceleration",)
    assert robot.completed().assumed_of("hinge") == ("acceleration", "effort")
    path.write_text("joint_limits: {hinge: {max_velocity: 9, assumed: [speed]}}\n")
    with pytest.raises(ValueError, match=r"hinge.*assumed is \['speed'\]; write a list of velocity"):
        Robot.from_urdf(text, limits=path)


def test_description_of_a_chain_marks_assumed_limits() -> None:
    text = lever('effort="0" velocity="2"').completed().tree().describe()
    assert "'*' where it is assumed" in text
    row = next(line.split() for line in text.splitlines() if "hinge" in line)
    assert row[5] == "2" and row[6].endswith("*") and row[7] == "4*"
    assert "*" not in Robot.from_urdf("ur5").chain("base_link", "tool0").describe()
