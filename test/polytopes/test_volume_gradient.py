"""The exact volume gradient against central differences."""

from __future__ import annotations

import numpy as np
import pytest

from geometry.arms import arm
from manipapy_core import polytopes
from manipapy_core.compiler import kernels_of
from manipapy_core.errors import InputError
from manipapy_core.polytopes import Avoidance, JointSet, Motion, SetRates, project, volume_gradient
from manipapy_core.polytopes.near_points import NearPoints
from polytopes.scipy_route import random_scene

Q = np.array([0.3, -0.6, 0.2, -1.9, 0.4, 1.8, 0.5])


def test_gradient_by_every_part_of_the_set():
    rng = np.random.default_rng(4)
    for _ in range(6):
        matrix, joints = random_scene(rng, 6)
        shapes = [matrix.shape, (7,), (7,), joints.A.shape, joints.b.shape]
        rates = [rng.normal(size=shape) for shape in shapes]

        def volume(step, matrix=matrix, joints=joints, rates=rates):
            m, l, u, A, b = (step * rate for rate in rates)
            return project(matrix + m, JointSet(joints.lower + l, joints.upper + u, joints.A + A, joints.b + b)).volume

        exact = volume_gradient(project(matrix, joints), SetRates(*(rate[None] for rate in rates)))
        assert exact[0] == pytest.approx((volume(1e-6) - volume(-1e-6)) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("damping", [False, True])
@pytest.mark.parametrize("motion", Motion)
def test_gradient_by_the_configuration(damping, motion):
    chain = arm("panda")[1]
    polytope, gradient = polytopes.velocity_volume_gradient(chain, Q, motion=motion, damping=damping)

    def volume(q):
        return polytopes.velocity_polytope(chain, q, motion=motion, damping=damping).volume

    slope = [(volume(Q + d) - volume(Q - d)) / 2e-6 for d in 1e-6 * np.eye(7)]
    assert np.allclose(gradient, slope, rtol=1e-5, atol=1e-6 * polytope.volume)


def test_gradient_with_near_points():
    """Points fixed in space: their distances and rows change as the arm moves."""
    chain = arm("panda")[1]
    avoidance = Avoidance(speed=0.3)
    link = chain.link_names.index("panda_link6")
    bodies = np.full(3, chain.link_placements[link][0])
    local = np.array([[0.05, 0.0, 0.0], [0.0, 0.08, 0.02], [0.0, 0.0, -0.1]])
    other = kernels_of(chain).link_poses.run(Q)[link][:3, 3] + [[0.2, 0.05, 0.0], [0.0, 0.25, 0.1], [0.1, 0.1, 0.2]]
    radius = np.full(3, 0.03)

    def near(q):
        T = kernels_of(chain).link_poses.run(q)[link]
        centre = local @ T[:3, :3].T + T[:3, 3]
        length = np.linalg.norm(other - centre, axis=1)
        normal = (other - centre) / length[:, None]
        return NearPoints((), length - radius, normal, centre, radius, other, bodies, np.full(3, -1))

    def volume(q):
        return polytopes.velocity_polytope(chain, q, near=near(q), avoidance=avoidance).volume

    polytope, gradient = polytopes.velocity_volume_gradient(chain, Q, near=near(Q), avoidance=avoidance)
    assert polytope.volume < polytopes.velocity_polytope(chain, Q).volume
    slope = [(volume(Q + d) - volume(Q - d)) / 2e-6 for d in 1e-6 * np.eye(7)]
    assert np.allclose(gradient, slope, rtol=1e-5, atol=1e-6 * polytope.volume)


def test_a_flat_polytope_has_no_gradient():
    flat = project(np.eye(3, 2), JointSet.box([-1, -1], [1, 1]))
    with pytest.raises(InputError, match="flat or empty"):
        volume_gradient(flat, SetRates(matrix=np.zeros((1, 3, 2))))
