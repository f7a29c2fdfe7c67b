"""Distances: against NumPy on the same spheres, and never more than coal's."""

from __future__ import annotations

import numpy as np

from geometry.arms import arm, at, configurations, table_world
from manipapy_core import kinematics
from manipapy_core.geometry import Capsule, Checker, ConvexMesh, Plane, PointCloud, Sphere, World, signed_distance
from manipapy_core.geometry.exact import ExactChecker
from manipapy_core.geometry.tables import SAFETY

MIXED = {
    "ball": (Sphere(0.1), at(0.5, 0.2, 0.6)),
    "rod": (Capsule(0.05, 0.5), at(-0.5, 0.3, 0.4)),
    "rock": (ConvexMesh(0.15 * np.random.default_rng(1).normal(size=(30, 3))), at(0.2, -0.7, 0.5)),
    "floor": (Plane(), at(z=-0.3)),
    "cloud": (PointCloud(np.random.default_rng(2).uniform([-0.7, -0.7, 0.9], [-0.3, -0.3, 1.2], (50, 3))), at()),
}


def mixed_world():
    world = table_world()
    for name, (shape, T) in MIXED.items():
        world.add(name, shape, T)
    return world


def test_distances_agree_with_numpy():
    _, chain, body = arm("panda")
    world = mixed_world()
    q = configurations(chain, 300)
    found = Checker(body, world).distances(q)
    poses = kinematics.link_poses(chain, q)
    objects = world.snapshot().objects
    for column, link in enumerate(found.links):
        spheres = body.link_spheres[link]
        T = poses[:, chain.link_names.index(link)]
        centres = np.einsum("nij,kj->nki", T[:, :3, :3], spheres[:, :3]) + T[:, None, :3, 3]
        all_distances = {
            name: np.min(
                signed_distance(item.shape, (centres - item.T_base_object[:3, 3]) @ item.T_base_object[:3, :3])
                - spheres[:, 3],
                axis=1,
            )
            for name, item in objects.items()
        }
        nearest = np.min(list(all_distances.values()), axis=0) - SAFETY
        wrong = np.abs(found.distance[:, column] - nearest) > 1e-5
        # A point on the border of two cells of the cloud may fall to either side in float32.
        assert wrong.mean() < 0.02
        for row in range(0, len(q), 30):
            name = found.object_names[found.object_index[row, column]]
            assert wrong[row] or abs(all_distances[name][row] - SAFETY - found.distance[row, column]) < 1e-5


def test_nearest_points_span_the_distance_and_lie_on_the_objects():
    _, chain, body = arm("ur5")
    world = table_world()
    q = configurations(chain, 200)
    found = Checker(body, world).distances(q)
    apart = np.linalg.norm(found.point_link - found.point_object, axis=-1)
    assert np.allclose(apart, np.abs(found.distance), atol=1e-5)
    objects = world.snapshot().objects
    outside = found.distance > 0.001
    assert outside.any()
    for row, column in np.argwhere(outside)[::20]:
        item = objects[found.object_names[found.object_index[row, column]]]
        local = found.point_object[row, column] - item.T_base_object[:3, 3]
        assert abs(signed_distance(item.shape, local)) < 1e-4


def test_distances_are_below_the_exact_ones_by_at_most_the_overshoot():
    _, chain, body = arm("ur5")
    world = table_world()
    q = configurations(chain, 6)
    found, exact = Checker(body, world).distances(q), ExactChecker(body, world)
    for row, positions in enumerate(q):
        true = {}
        for contact in exact.contacts(positions):
            if contact.second in world.names:
                true[contact.first] = min(true.get(contact.first, np.inf), contact.distance)
        for column, link in enumerate(found.links):
            if true[link] > 0.0:
                short = true[link] - found.distance[row, column]
                assert -1e-4 < short < body.overshoot + 1e-3


def test_distance_in_an_empty_world_is_infinite():
    _, chain, body = arm("ur5")
    found = Checker(body, World()).distances(configurations(chain, 3))
    assert found.distance.shape == (3, len(found.links))
    assert np.all(np.isinf(found.distance)) and np.all(found.object_index == -1)


def test_shapes_of_results():
    _, chain, body = arm("ur5")
    found = Checker(body, table_world()).distances(configurations(chain, 6).reshape(2, 3, 6))
    links = len(body.moving_links)
    assert found.links == body.moving_links
    assert found.distance.shape == (2, 3, links) and found.point_link.shape == (2, 3, links, 3)
