"""Tables of the world that are copied from those before, compared with tables written from scratch."""

from __future__ import annotations

import numpy as np
import pytest

from geometry.arms import arm
from manipapy_core import lie
from manipapy_core.geometry import Box, Capsule, Checker, ConvexMesh, Cylinder, Plane, Sphere, World
from manipapy_core.geometry.codegen.layout import ObjectKind
from manipapy_core.geometry.object_tables import box_rows
from manipapy_core.geometry.parts import centred_part
from manipapy_core.geometry.piece_rows import PieceRows


def random_pose(rng: np.random.Generator, *, turned: bool) -> np.ndarray:
    T = np.eye(4)
    T[:3, 3] = rng.uniform(-0.8, 0.8, 3)
    if turned:
        T[:3, :3] = lie.exp_so3(rng.normal(size=3))
    return T


@pytest.fixture
def world() -> World:
    rng, world = np.random.default_rng(3), World()
    for index in range(8):
        world.add(f"box {index}", Box(rng.uniform(0.05, 0.2, 3)), random_pose(rng, turned=index % 2 == 1))
    for index, shape in enumerate([Sphere(0.1), Capsule(0.05, 0.2), Cylinder(0.05, 0.2)]):
        world.add(f"round {index}", shape, random_pose(rng, turned=True))
    world.add("hull", ConvexMesh(rng.normal(scale=0.1, size=(40, 3))), random_pose(rng, turned=True))
    world.add("floor", Plane(), random_pose(rng, turned=False))
    return world


def assert_same(checker: Checker, padding: tuple[float, float], q: np.ndarray) -> None:
    """The tables of a checker in use against those of a new one, and what they say of configurations."""
    used = checker.padded(padding[0], self_padding=padding[1])
    rebuilt = Checker(checker.body, checker.world, padding=padding[0], self_padding=padding[1])
    first, second = used.scene(), rebuilt.scene()
    assert first.object_names == second.object_names
    np.testing.assert_array_equal(first.piece_numbers, second.piece_numbers)
    for kind in ObjectKind:
        np.testing.assert_array_equal(first.objects.numbers[kind], second.objects.numbers[kind])
        np.testing.assert_array_equal(first.objects.integers[kind][:, :2], second.objects.integers[kind][:, :2])
    np.testing.assert_array_equal(used.check(q), rebuilt.check(q))
    np.testing.assert_array_equal(used.distances(q).distance, rebuilt.distances(q).distance)


def test_moved_objects_are_where_new_ones_would_be(world):
    rng, checker = np.random.default_rng(0), Checker(arm("panda")[2], world)
    q = rng.uniform(-1.5, 1.5, (300, 7))
    names = list(world.snapshot().objects)
    paddings = [(0.0, 0.0), (0.01, 5e-4), (0.03, 2e-3)]
    for step in range(40):
        name = names[rng.integers(len(names))]
        # Boxes begin and end to be along the axes of the base, sometimes two objects have moved.
        world.move(name, random_pose(rng, turned=bool(rng.integers(2))))
        if step % 5:
            for padding in paddings[: 1 + step % 3]:
                assert_same(checker, padding, q)


def test_objects_that_change_their_shape_their_name_or_their_contacts(world):
    rng, checker = np.random.default_rng(1), Checker(arm("panda")[2], world)
    q = rng.uniform(-1.5, 1.5, (300, 7))
    edits = [
        lambda: world.add("box 3", Box([0.1, 0.2, 0.3]), random_pose(rng, turned=True)),
        lambda: world.add("box 3", Sphere(0.2), random_pose(rng, turned=True)),
        lambda: world.remove("box 2"),
        lambda: world.add("new", Box([0.1, 0.2, 0.3]), random_pose(rng, turned=True)),
        lambda: world.allow("new", "panda_hand"),
        lambda: world.allow("panda_link0", "panda_hand"),
        lambda: world.attach("new", "panda_hand", np.eye(4)),
        lambda: world.move("box 1", random_pose(rng, turned=True)),
        lambda: world.detach("new", random_pose(rng, turned=True)),
        lambda: world.clear(),
    ]
    for edit in edits:
        edit()
        assert_same(checker, (0.0, 0.0), q)
        assert_same(checker, (0.01, 5e-4), q)


def test_rows_of_boxes_are_those_of_their_parts():
    rng = np.random.default_rng(2)
    poses = np.array([random_pose(rng, turned=index > 2) for index in range(6)])
    poses[1, :3, :3] = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]
    sizes = rng.uniform(0.1, 0.5, (6, 3))
    aligned, pieces, numbers = box_rows(poses, sizes)
    rows = PieceRows()
    for T, size in zip(poses, sizes):
        rows.add(centred_part(Box(size), T), 0)
    np.testing.assert_allclose(pieces, rows.tables().numbers, atol=1e-15)
    np.testing.assert_array_equal(aligned, [True, True, True, False, False, False])
    np.testing.assert_allclose(numbers[1, 3:6], 0.5 * sizes[1, [1, 0, 2]], rtol=1e-6)


def test_a_snapshot_of_before_is_still_what_it_was(world):
    checker, rng = Checker(arm("panda")[2], world), np.random.default_rng(4)
    q, before = rng.uniform(-1.5, 1.5, (300, 7)), world.snapshot()
    expected = checker.check(q)
    for _ in range(5):
        world.move("box 0", random_pose(rng, turned=False))
        checker.check(q)
    np.testing.assert_array_equal(checker.check(q, snapshot=before), expected)
