"""Truth by coal: no collision is missed, and few free configurations are taken for collisions."""

from __future__ import annotations

import coal
import numpy as np
import pytest

from geometry.arms import ENDS, CoalScene, arm, at, coal_table, configurations, table_world
from manipapy_core import lie
from manipapy_core.geometry import Box, Capsule, Checker, ConvexMesh, Cylinder, Plane, Sphere, World
from manipapy_core.geometry.exact import ExactChecker, exact_distance

COUNT = 5000


@pytest.mark.parametrize("name", ENDS)
def test_no_collision_is_missed_and_false_alarms_are_few(name):
    robot, chain, body = arm(name)
    q = configurations(chain, COUNT)
    reported, true = Checker(body, table_world()).check(q), CoalScene(robot, chain, body, coal_table()).check(q)
    assert 0.05 < true.mean() < 0.95
    assert np.sum(true & ~reported) == 0
    assert np.sum(reported & ~true) <= 0.1 * np.sum(~true)


def random_pose(rng):
    T = lie.pose(lie.exp_so3(rng.normal(size=3)))
    direction = rng.normal(size=3)
    T[:3, 3] = rng.uniform(0.3, 0.9) * direction / np.linalg.norm(direction)
    return T


def random_shape(kind, rng):
    """The same shape here and in coal."""
    a, b = rng.uniform(0.04, 0.15), rng.uniform(0.1, 0.5)
    if kind == "sphere":
        return Sphere(a), coal.Sphere(a)
    if kind == "capsule":
        return Capsule(a, b), coal.Capsule(a, b)
    if kind == "cylinder":
        return Cylinder(a, b), coal.Cylinder(a, b)
    if kind == "box":
        size = rng.uniform(0.05, 0.4, 3)
        return Box(size), coal.Box(*size)
    points = 0.15 * rng.normal(size=(40, 3)) + [0.1, 0.0, 0.0]
    mesh = ConvexMesh(points)
    vertices, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
    vertices.extend(list(np.array(mesh.vertices)))
    for corners in mesh.triangles:
        triangles.append(coal.Triangle(*map(int, corners)))
    return mesh, coal.Convex(vertices, triangles)


@pytest.mark.parametrize("kind", ["sphere", "capsule", "cylinder", "box", "mesh"])
def test_rotated_objects_of_every_kind(kind):
    robot, chain, body = arm("ur5")
    rng = np.random.default_rng(4)
    world, theirs = World(), []
    for index in range(10):
        ours, other = random_shape(kind, rng)
        T = random_pose(rng)
        world.add(f"{kind} {index}", ours, T)
        theirs.append((other, T))
    q = configurations(chain, 1500)
    alone = Checker(body).check(q)
    reported, true = Checker(body, world).check(q), CoalScene(robot, chain, body, theirs).check(q)
    assert np.sum(true & ~alone) > 30
    assert np.sum(true & ~reported) == 0
    assert np.sum(reported & ~true) <= 0.1 * np.sum(~true)


def test_floor_as_a_plane():
    robot, chain, body = arm("panda")
    world = World()
    world.add("floor", Plane([0.0, 0.0, 2.0]), at(z=0.1))
    q = configurations(chain, 1500)
    reported = Checker(body, world).check(q)
    true = CoalScene(robot, chain, body, [(coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0), at(z=0.1))]).check(q)
    assert true.any() and not true.all()
    assert np.sum(true & ~reported) == 0
    assert np.sum(reported & ~true) <= 0.1 * np.sum(~true)


def test_larger_overshoot_misses_no_collision():
    from manipapy_core.geometry import RobotBody

    robot, chain, _ = arm("ur5")
    body = RobotBody.build(robot, chain, overshoot=0.03)
    q = configurations(chain, 1500)
    reported, true = Checker(body, table_world(1)).check(q), CoalScene(robot, chain, body, coal_table(1)).check(q)
    assert np.sum(true & ~reported) == 0
    assert np.sum(reported & ~true) <= 0.1 * np.sum(~true)


def test_exact_checker_agrees():
    _, chain, body = arm("ur5")
    world = table_world()
    q = configurations(chain, 60)
    exact, quick = ExactChecker(body, world), Checker(body, world).check(q)
    true = np.array([exact.collides(row) for row in q])
    assert true.any() and not true.all()
    assert not np.any(true & ~quick)


def test_exact_contacts_have_points_and_normals():
    contact = exact_distance(Sphere(0.1), at(), Box([0.2, 0.2, 0.2]), at(x=0.5))
    assert contact.distance == pytest.approx(0.3)
    assert contact.point_first == pytest.approx([0.1, 0, 0])
    assert contact.point_second == pytest.approx([0.4, 0, 0])
    assert contact.normal == pytest.approx([1, 0, 0])


def test_exact_contacts_of_a_robot_are_sorted_and_signed():
    _, chain, body = arm("ur5")
    checker = ExactChecker(body, table_world())
    q = configurations(chain, 20)
    for row in q[:4]:
        contacts = checker.contacts(row)
        distances = [contact.distance for contact in contacts]
        assert distances == sorted(distances)
        assert (distances[0] < 0) == checker.collides(row)
