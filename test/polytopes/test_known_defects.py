"""Where a published system for constrained polytopes is known to go wrong; each is a test here."""

from __future__ import annotations

import numpy as np
import pytest

from geometry.arms import arm, at
from manipapy_core import polytopes
from manipapy_core.geometry import Box, PointCloud, World
from manipapy_core.polytopes import Avoidance, ObstacleLaw

Q = np.array([0.3, -0.6, 0.2, -1.9, 0.4, 1.8, 0.5])


@pytest.fixture(scope="module")
def panda():
    return arm("panda")[1:]


def test_damping_at_the_lower_limit_slows_downward_motion(panda):
    """A sign error there allows [−0.10, +0.02]; the volume is the same, so only the range shows it."""
    chain, _ = panda
    q = Q.copy()
    q[3] = chain.limits.lower[3] + 0.02
    joints = polytopes.motion_set(chain, q, linearisation=0.1)
    assert joints.lower[3] == pytest.approx(-0.02) and joints.upper[3] == pytest.approx(0.1)
    found = polytopes.motion_polytope(chain, q)
    assert found.preimages[:, 3].min() == pytest.approx(-0.02) and found.preimages[:, 3].max() == pytest.approx(0.1)


def test_small_motions_respect_position_limits_without_obstacles(panda):
    chain, _ = panda
    q = Q.copy()
    q[0] = chain.limits.upper[0]
    assert polytopes.motion_set(chain, q).upper[0] == 0.0
    assert polytopes.motion_set(chain, q, position_limits=False).upper[0] == 0.1


def test_slices_are_taken_at_the_tip_and_not_in_joint_space(panda):
    found = polytopes.velocity_polytope(panda[0], Q)
    cut = polytopes.slice_by_plane(found, [0, 0, 1], 0.2)
    assert np.allclose(cut.vertices[:, 2], 0.2) and cut.d == 3
    assert np.abs(cut.normals @ [0, 0, 1.0]).max() == pytest.approx(1.0)  # its half-spaces are of the tip as well


def test_surface_is_one_closed_hull(panda):
    found = polytopes.velocity_polytope(panda[0], Q)
    assert found.triangles.max() == len(found.vertices) - 1
    assert len(found.triangles) == 2 * len(found.vertices) - 4


def test_linearisation_per_joint_bounds_both_directions(panda):
    reach = np.linspace(0.01, 0.07, 7)
    joints = polytopes.motion_set(panda[0], Q, linearisation=reach)
    assert joints.lower == pytest.approx(-reach) and joints.upper == pytest.approx(reach)


def test_free_and_constrained_polytopes_refer_to_the_same_point(panda):
    chain, body = panda
    far = World()
    far.add("box", Box([0.1, 0.1, 0.1]), at(5.0, 5.0, 5.0))
    near = polytopes.near_points(body, far, Q, self_collision=False)
    free, constrained = (polytopes.velocity_polytope(chain, Q, near=points) for points in (None, near))
    assert constrained.volume == pytest.approx(free.volume) and len(near) == 0


def test_point_cloud_gives_several_rows_per_link(panda):
    world = World()
    cloud = np.random.default_rng(0).uniform([0.3, -0.6, 0.0], [0.9, 0.6, 0.9], (400, 3))
    world.add("cloud", PointCloud(cloud), np.eye(4))
    near = polytopes.near_points(panda[1], world, Q, per_pair=3, self_collision=False)
    names = [link for link, _ in near.names]
    assert max(names.count(link) for link in names) == 3


def test_links_of_the_arm_bound_each_other(panda):
    chain, body = panda
    folded = np.array([2.26, 1.14, -0.12, -2.37, 1.75, 3.46, -1.36])
    near = polytopes.near_points(body, None, folded)
    assert len(near) > 0 and all("panda" in name for pair in near.names for name in pair)
    free, constrained = (polytopes.velocity_polytope(chain, folded, near=points) for points in (None, near))
    assert constrained.volume < 0.95 * free.volume


def test_a_planar_arm_has_a_flat_polytope_and_no_error():
    found = polytopes.project([[-0.5, -0.3], [0.8, 0.4], [0.0, 0.0]], polytopes.JointSet.box([-1, -1], [1, 1]))
    assert found.is_flat and found.measure == pytest.approx(4 * abs(-0.5 * 0.4 + 0.3 * 0.8))


def test_damper_requires_retreat_only_on_request(panda):
    close = np.array([0.005, 0.05, 0.2])
    assert (Avoidance().approach(close) >= 0.0).all()
    assert Avoidance(retreat=True).approach(0.005) < 0.0
    paper = Avoidance(law=ObstacleLaw.PAPER, danger=10.0)
    assert paper.approach(close) == pytest.approx(10.0 * close**2 - close)
    assert paper.approach(0.05) < 0.0 < paper.approach(0.2)


def test_damping_near_a_limit_slows_only_motion_towards_it(panda):
    chain, _ = panda
    q = Q.copy()
    q[0] = chain.limits.upper[0]
    joints = polytopes.velocity_set(chain, q, damping=True)
    assert joints.upper[0] == pytest.approx(0.0) and joints.lower[0] == pytest.approx(-chain.limits.velocity[0])
