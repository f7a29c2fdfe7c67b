"""Dynamics of chains that climb, cross branches or start in the middle: the base is held, the rest hangs on it.

References: Pinocchio and MuJoCo on a rerooted description, and the Lagrangian of the robot as it was written.
"""

from __future__ import annotations

import numpy as np
import pytest

from manipapy_core import Robot, dynamics
from reference.cases import BUNDLED, HUMANOID, PARITY, RPRPRR, disagreement, one_by_one, states
from reference.lagrange_route import LagrangeRoute
from reference.mujoco_route import MujocoRoute
from reference.pinocchio_route import PinocchioRoute
from reference.small_robots import BRANCH, MIMIC

GRAVITY = (2.0, -1.0, -9.0)
"""In the frame of the chain's base."""

ROUTES = (
    pytest.param(BUNDLED["ur5"].text, "tool0", "base_link", {}, id="ur5 tip to base"),
    pytest.param(BUNDLED["ur5"].text, "forearm_link", "base_link", {}, id="ur5 middle to base"),
    pytest.param(BUNDLED["ur5"].text, "upper_arm_link", "wrist_2_link", {}, id="ur5 middle to middle"),
    pytest.param(BUNDLED["panda"].text, "panda_hand", "panda_link0", {}, id="panda hand to base"),
    pytest.param(RPRPRR.text, "link6", "link0", {}, id="random chain backwards"),
    pytest.param(HUMANOID.text, "left_foot", "right_hand", {}, id="left foot to right hand"),
    pytest.param(
        HUMANOID.text, "left_foot", "right_hand", {"torso_to_head": 0.7, "pelvis_to_right_thigh": -1.1}, id="posed"
    ),
    pytest.param(HUMANOID.text, "right_hand", "left_hand", {}, id="hand to hand"),
    pytest.param(BRANCH.text, "hand", "head", {"turn": 0.4}, id="hand to head of the branch"),
)


@pytest.mark.parametrize(("text", "base", "tip", "fixed"), ROUTES)
class TestRoutes:
    def test_forces_and_matrices_are_those_of_the_rerooted_robot(
        self, text: str, base: str, tip: str, fixed: dict[str, float]
    ) -> None:
        chain = Robot.from_urdf(text).chain(base, tip, fixed=fixed)
        reference = PinocchioRoute(text, base, tip, joint_names=chain.joint_names, fixed=fixed, gravity=GRAVITY)
        q, qd, qdd = states(chain, 5)
        assert disagreement(dynamics.mass_matrix(chain, q), one_by_one(reference.mass_matrix, q)) <= PARITY
        coriolis = dynamics.coriolis_matrix(chain, q, qd)
        assert disagreement(coriolis, one_by_one(reference.coriolis_matrix, q, qd)) <= PARITY
        forces = dynamics.inverse_dynamics(chain, q, qd, qdd, gravity=GRAVITY)
        assert disagreement(forces, one_by_one(reference.inverse_dynamics, q, qd, qdd)) <= PARITY
        moved = dynamics.forward_dynamics(chain, q, qd, qdd, gravity=GRAVITY)
        assert disagreement(moved, one_by_one(reference.forward_dynamics, q, qd, qdd)) <= PARITY

    def test_mujoco_says_the_same(self, text: str, base: str, tip: str, fixed: dict[str, float]) -> None:
        chain = Robot.from_urdf(text).chain(base, tip, fixed=fixed)
        reference = MujocoRoute(text, base, tip, joint_names=chain.joint_names, fixed=fixed, gravity=GRAVITY)
        q, qd, qdd = states(chain, 3)
        assert disagreement(dynamics.mass_matrix(chain, q), one_by_one(reference.mass_matrix, q)) <= PARITY
        forces = dynamics.inverse_dynamics(chain, q, qd, qdd, gravity=GRAVITY)
        assert disagreement(forces, one_by_one(reference.inverse_dynamics, q, qd, qdd)) <= PARITY

    def test_the_lagrangian_of_the_original_robot_says_the_same(
        self, text: str, base: str, tip: str, fixed: dict[str, float]
    ) -> None:
        chain = Robot.from_urdf(text).chain(base, tip, fixed=fixed)
        reference = LagrangeRoute(text, base, tip, joint_names=chain.joint_names, fixed=fixed, gravity=GRAVITY)
        q, qd, qdd = (values[0] for values in states(chain, 1))
        assert disagreement(dynamics.mass_matrix(chain, q), reference.mass_matrix(q)) <= PARITY
        forces = dynamics.inverse_dynamics(chain, q, qd, qdd, gravity=GRAVITY)
        assert disagreement(forces, reference.inverse_dynamics(q, qd, qdd)) <= 1e-7


@pytest.mark.parametrize(
    ("text", "base", "tip"),
    [(HUMANOID.text, "left_foot", "right_hand"), (BRANCH.text, "hand", "head")],
    ids=["foot", "hand"],
)
def test_regressor_times_parameters_is_the_force(text: str, base: str, tip: str) -> None:
    chain = Robot.from_urdf(text).chain(base, tip)
    q, qd, qdd = states(chain, 5)
    product = dynamics.regressor(chain, q, qd, qdd, gravity=GRAVITY) @ chain.inertial_parameters
    assert disagreement(product, dynamics.inverse_dynamics(chain, q, qd, qdd, gravity=GRAVITY)) <= 1e-10


def test_wrench_and_payload_at_the_end_of_a_climb() -> None:
    """The hand pushes while the left foot stands: the leg's joints carry it, against their own direction."""
    chain = Robot.from_urdf(HUMANOID.text).chain("left_foot", "right_hand")
    reference = PinocchioRoute(HUMANOID.text, "left_foot", "right_hand", gravity=GRAVITY)
    inertia = np.diag([0.02, 0.03, 0.04])
    reference.add_payload(1.5, (0.1, 0.0, 0.2), inertia)
    q, qd, qdd = states(chain, 5)
    wrench = np.random.default_rng(2).uniform(-5, 5, (5, 6))
    options = {"gravity": GRAVITY, "wrench_tip": wrench, "payload": dynamics.Payload(1.5, (0.1, 0.0, 0.2), inertia)}
    forces = dynamics.inverse_dynamics(chain, q, qd, qdd, **options)
    assert disagreement(forces, one_by_one(reference.inverse_dynamics, q, qd, qdd, wrench)) <= PARITY
    moved = dynamics.forward_dynamics(chain, q, qd, qdd, **options)
    assert disagreement(moved, one_by_one(reference.forward_dynamics, q, qd, qdd, wrench)) <= PARITY


def test_mimic_chain_backwards() -> None:
    chain = Robot.from_urdf(MIMIC.text).chain("four", "base")
    reference = LagrangeRoute(MIMIC.text, "four", "base", joint_names=chain.joint_names, gravity=GRAVITY)
    q, qd, qdd = (values[0] for values in states(chain, 1))
    forces = dynamics.inverse_dynamics(chain, q, qd, qdd, gravity=GRAVITY)
    assert disagreement(forces, reference.inverse_dynamics(q, qd, qdd)) <= 1e-7
    assert disagreement(dynamics.forward_dynamics(chain, q, qd, forces, gravity=GRAVITY), qdd) <= PARITY


@pytest.mark.parametrize("base", ["left_foot", "torso"])
def test_a_tree_held_at_any_link(base: str) -> None:
    tree = Robot.from_urdf(HUMANOID.text).tree(base, "right_hand")
    options = {"joint_names": tree.joint_names, "gravity": GRAVITY}
    reference = PinocchioRoute(HUMANOID.text, base, "right_hand", **options)
    second = MujocoRoute(HUMANOID.text, base, "right_hand", **options)
    q, qd, qdd = states(tree, 3)
    forces = dynamics.inverse_dynamics(tree, q, qd, qdd, gravity=GRAVITY)
    assert disagreement(forces, one_by_one(reference.inverse_dynamics, q, qd, qdd)) <= PARITY
    assert disagreement(forces, one_by_one(second.inverse_dynamics, q, qd, qdd)) <= PARITY
    assert disagreement(dynamics.forward_dynamics(tree, q, qd, forces, gravity=GRAVITY), qdd) <= PARITY
