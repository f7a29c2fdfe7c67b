"""The references agree with each other."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest

from reference.lagrange_route import LagrangeRoute
from reference.mujoco_route import MujocoRoute
from reference.pinocchio_route import PinocchioRoute
from reference.random_robots import humanoid, random_chain
from reference.rerooting import link_names
from reference.small_robots import BRANCH, MASSLESS_LINK, MIMIC, NON_UNIT_AXIS, SMALL_ROBOTS, UNIT_AXIS_TWIN, RobotCase

GRAVITY = (1.3, -4.0, -8.2)


def reversed_case(case: RobotCase) -> RobotCase:
    return RobotCase(case.name + "_reversed", case.text, case.tip, case.base, case.fixed)


ROBOTS = [*SMALL_ROBOTS, random_chain("RPRPRR"), random_chain("CPFRC", seed=5), humanoid()]
ROBOTS += [reversed_case(random_chain("RPRPRR")), reversed_case(BRANCH)]
# A moving link without mass is refused by MuJoCo.
FOR_MUJOCO = [case for case in ROBOTS if case is not MASSLESS_LINK]


def name(case: RobotCase) -> str:
    return case.name


def route(kind: type, case: RobotCase):
    return kind(case.text, case.base, case.tip, fixed=case.fixed, gravity=GRAVITY)


@pytest.mark.parametrize("case", FOR_MUJOCO, ids=name)
def test_pinocchio_and_mujoco_agree(case: RobotCase) -> None:
    one, other = route(PinocchioRoute, case), route(MujocoRoute, case)
    q, qd, qdd = np.random.default_rng(1).uniform(-1, 1, (3, len(one.joint_names)))
    np.testing.assert_allclose(one.forward(q), other.forward(q), atol=1e-12)
    np.testing.assert_allclose(one.mass_matrix(q), other.mass_matrix(q), atol=1e-11)
    expected = other.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(one.inverse_dynamics(q, qd, qdd), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("case", ROBOTS, ids=name)
def test_pinocchio_and_lagrange_agree(case: RobotCase) -> None:
    one, other = route(PinocchioRoute, case), route(LagrangeRoute, case)
    q, qd, qdd = np.random.default_rng(2).uniform(-1, 1, (3, len(one.joint_names)))
    np.testing.assert_allclose(one.mass_matrix(q), other.mass_matrix(q), atol=1e-11)
    expected = other.inverse_dynamics(q, qd, qdd)
    np.testing.assert_allclose(one.inverse_dynamics(q, qd, qdd), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("case", ROBOTS, ids=name)
def test_pinocchio_parts_add_up(case: RobotCase) -> None:
    one = route(PinocchioRoute, case)
    q, qd, qdd = np.random.default_rng(3).uniform(-1, 1, (3, len(one.joint_names)))
    total = one.mass_matrix(q) @ qdd + one.coriolis_matrix(q, qd) @ qd + one.gravity_forces(q)
    np.testing.assert_allclose(one.inverse_dynamics(q, qd, qdd), total, atol=1e-11)
    np.testing.assert_allclose(one.coriolis_forces(q, qd), one.coriolis_matrix(q, qd) @ qd, atol=1e-11)
    np.testing.assert_allclose(one.forward_dynamics(q, qd, total), qdd, atol=1e-10)


def test_rerooting_keeps_every_link_where_it_was() -> None:
    case = humanoid()
    from_foot = PinocchioRoute(case.text, "left_foot", "right_hand")
    from_root = PinocchioRoute(case.text, "pelvis", "right_hand", joint_names=from_foot.joint_names)
    q = np.random.default_rng(4).uniform(-1, 1, len(from_foot.joint_names))
    inverse_base = np.linalg.inv(from_root.forward(q, "left_foot"))
    for link in link_names(case.text):
        expected = inverse_base @ from_root.forward(q, link)
        np.testing.assert_allclose(from_foot.forward(q, link), expected, atol=1e-12)


def test_projected_mimic_is_pinocchios_own_mimic() -> None:
    folded = PinocchioRoute(MIMIC.text, MIMIC.base, MIMIC.tip)
    model = pin.buildModelFromXML(MIMIC.text, mimic=True)
    data = model.createData()
    q, qd, qdd = np.random.default_rng(5).uniform(-1, 1, (3, 2))
    np.testing.assert_allclose(folded.inverse_dynamics(q, qd, qdd), pin.rnea(model, data, q, qd, qdd), atol=1e-12)
    mass = np.triu(pin.crba(model, data, q))
    np.testing.assert_allclose(folded.mass_matrix(q), mass + np.triu(mass, 1).T, atol=1e-12)


def test_pinocchio_normalises_axes() -> None:
    one, other = route(PinocchioRoute, NON_UNIT_AXIS), route(PinocchioRoute, UNIT_AXIS_TWIN)
    q, qd, qdd = np.random.default_rng(6).uniform(-1, 1, (3, 2))
    np.testing.assert_allclose(one.forward(q), other.forward(q), atol=1e-14)
    np.testing.assert_allclose(one.inverse_dynamics(q, qd, qdd), other.inverse_dynamics(q, qd, qdd), atol=1e-13)
