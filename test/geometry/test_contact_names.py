"""Names of what collides, against the exact checker and a world made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import Robot, kinematics, lie
from manipapy_core.geometry import Box, Checker, Plane, RobotBody, World, contact_names


@pytest.fixture(scope="module")
def body():
    robot = Robot.from_urdf("ur5")
    return RobotBody.build(robot, robot.chain("base_link", "tool0"))


def test_free_configuration_has_no_contacts(body):
    assert contact_names(Checker(body, World()), [0.0, -1.2, 1.4, -0.7, 0.5, 2.0]) == []


def test_link_and_object_are_named(body):
    q = np.array([0.0, -1.2, 1.4, -0.7, 0.5, 2.0])
    world = World()
    world.add("crate", Box(np.full(3, 0.06)), lie.pose(translation=kinematics.forward(body.chain, q)[:3, 3]))
    found = contact_names(Checker(body, world), q)
    assert found and all(names[1] == "crate" for names in found)
    assert {"wrist_3_link"} <= {names[0] for names in found}


def test_a_plane_is_named(body):
    world = World()
    world.add("floor", Plane(np.array([0.0, 0.0, 1.0]), 0.0))
    found = contact_names(Checker(body, world), [0.0, 0.6, 0.3, 0.0, 0.0, 0.0])
    assert "floor" in {names[1] for names in found}


def test_names_agree_with_the_exact_checker(body):
    pytest.importorskip("coal", reason="the extra collision is not installed")
    from manipapy_core.geometry.exact import ExactChecker

    checker, exact = Checker(body, World()), ExactChecker(body, World())
    rng, compared = np.random.default_rng(3), 0
    for q in rng.uniform(-np.pi, np.pi, (400, 6)):
        touching = {frozenset((c.first, c.second)) for c in exact.contacts(q) if c.distance < -1e-4}
        if touching:
            compared += 1
            assert touching <= {frozenset(names) for names in contact_names(checker, q)}
        if compared == 8:
            return
    pytest.fail("no configuration collides with itself")
