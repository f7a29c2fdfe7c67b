"""The world: edits, snapshots under threads, carried objects, allowed contacts."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from geometry.arms import arm, at, configurations, table_world
from manipapy_core import kinematics
from manipapy_core.errors import InputError, UnknownLink
from manipapy_core.geometry import Box, Checker, Cylinder, Plane, Sphere, UnknownObject, World
from manipapy_core.geometry.exact import ExactChecker

HOME = np.array([0.0, -np.pi / 4, 0.0, -3 * np.pi / 4, 0.0, np.pi / 2, np.pi / 4])


@pytest.fixture
def panda():
    _, _, body = arm("panda")
    world = World()
    return body, world, Checker(body, world)


def tip_pose(body, q=HOME):
    return kinematics.forward(body.chain, q)


def test_objects_are_added_moved_and_removed(panda):
    body, world, checker = panda
    tip = tip_pose(body)
    assert not checker.collides(HOME)
    world.add("ball", Sphere(0.05), tip)
    assert checker.collides(HOME)
    world.move("ball", at(2.0))
    assert not checker.collides(HOME)
    world.add("ball", Sphere(0.05), tip)
    assert checker.collides(HOME) and world.names == ("ball",)
    world.remove("ball")
    assert not checker.collides(HOME) and world.names == ()
    with pytest.raises(UnknownObject) as caught:
        world.remove("ball")
    assert caught.value.name == "ball"


def test_snapshot_is_unchanged_by_later_edits(panda):
    body, world, checker = panda
    before = world.snapshot()
    world.add("ball", Sphere(0.05), tip_pose(body))
    after = world.snapshot()
    assert not before.objects and list(after.objects) == ["ball"] and after.version > before.version
    assert not checker.check(HOME, snapshot=before) and checker.check(HOME, snapshot=after)
    with pytest.raises(TypeError):
        after.objects["other"] = None


def test_readers_get_consistent_snapshots(panda):
    """One thread swaps two balls between free and colliding places in single edits; no reader sees an old table."""
    body, world, checker = panda
    tip, far = tip_pose(body), at(3.0)
    world.add("ball", Sphere(0.05), far)
    stop, wrong = threading.Event(), []

    def read():
        while not stop.is_set():
            snapshot = world.snapshot()
            expected = np.array_equal(snapshot.objects["ball"].T_base_object, tip)
            if bool(checker.check(HOME, snapshot=snapshot)) != expected:
                wrong.append(snapshot.version)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for turn in range(150):
        world.move("ball", tip if turn % 2 else far)
    stop.set()
    for reader in readers:
        reader.join()
    assert not wrong


def test_carried_object_moves_with_the_hand_and_collides(panda):
    body, world, checker = panda
    grip = at(z=0.15)
    rod = Cylinder(0.01, 0.3)
    world.add("rod", rod, at(3.0))
    world.add("wall", Box([0.1, 1.0, 1.0]), at(0.9, 0.0, 0.5))
    assert not checker.collides(HOME)
    forward = configurations(body.chain, 4000)
    without = checker.check(forward)
    world.attach("rod", "panda_hand_tcp", grip, touch_links=("panda_leftfinger", "panda_rightfinger"))
    assert world.names == ("wall", "rod")
    assert not checker.collides(HOME), "it may touch the link that carries it and the fingers"
    carried = checker.check(forward)
    ends = kinematics.forward(body.chain, forward) @ grip
    along = np.linspace(-0.15, 0.15, 61)
    points = ends[:, None, :3, 3] + along[:, None] * ends[:, None, :3, 2]
    in_wall = np.any(np.all(np.abs(points - [0.9, 0, 0.5]) < [0.05, 0.5, 0.5], axis=2), axis=1)
    assert in_wall.sum() > 20 and np.all(carried[in_wall])
    assert np.sum(carried & ~without) > 20
    world.detach("rod", at(3.0))
    assert np.array_equal(checker.check(forward), without)


def test_carried_object_agrees_with_coal(panda):
    body, world, checker = panda
    world.add("wall", Box([0.1, 1.0, 1.0]), at(0.7, 0.0, 0.5))
    world.add("plate", Box([0.3, 0.2, 0.02]), at(3.0))
    world.attach("plate", "panda_hand", at(0.02, 0.0, 0.2))
    exact, q = ExactChecker(body, world), configurations(body.chain, 40)
    true, reported = np.array([exact.collides(row) for row in q]), checker.check(q)
    assert true.any() and not true.all()
    assert not np.any(true & ~reported)
    assert np.sum(reported & ~true) <= 2


def test_carried_object_collides_with_the_arm(panda):
    body, world, checker = panda
    world.add("pole", Cylinder(0.02, 1.2), at(3.0))
    q = configurations(body.chain, 3000)
    before = checker.check(q)
    world.attach("pole", "panda_hand", at(z=0.7))
    after = checker.check(q)
    assert np.all(after[before]) and after.sum() > before.sum()


def test_shape_that_cannot_be_carried_is_refused(panda):
    _, world, checker = panda
    world.add("floor", Plane())
    with pytest.raises(InputError, match="convex"):
        world.attach("floor", "panda_hand", np.eye(4))
    with pytest.raises(UnknownObject):
        world.attach("nothing", "panda_hand", np.eye(4))
    with pytest.raises(UnknownObject):
        world.detach("floor", np.eye(4))
    world.add("ball", Sphere(0.05))
    world.attach("ball", "panda_elbow", np.eye(4))
    with pytest.raises(UnknownLink):
        checker.check(HOME)
    with pytest.raises(InputError, match="attached"):
        world.add("ball", Sphere(0.05))


def test_allowed_contacts_are_not_collisions(panda):
    body, world, checker = panda
    world.add("table", Box([1.0, 1.0, 0.1]), tip_pose(body) @ at(z=-0.02))
    assert checker.collides(HOME)
    for link in body.moving_links:
        world.allow(link, "table")
    assert not checker.collides(HOME)
    assert np.all(np.isinf(checker.distances(HOME).distance))
    world.allow("table", "panda_hand", allowed=False)
    assert checker.collides(HOME)
    with pytest.raises(InputError, match="two names"):
        world.allow("table", "table")


def test_links_may_be_allowed_to_touch(panda):
    body, world, checker = panda
    q = configurations(body.chain, 5000)
    hits = q[checker.check(q)]
    for pair in body.pairs:
        world.allow(body.groups[pair.first].name, body.groups[pair.second].name)
    assert len(hits) > 100 and not checker.check(hits).any()


def test_empty_world_after_clear():
    world = table_world()
    assert len(world.names) == 20
    world.clear()
    assert world.names == ()


def test_all_allowed_contacts_are_replaced_in_one_edit():
    world = World()
    world.allow("arm", "table")
    before = world.snapshot().version
    world.set_allowed([("arm", "box"), ("box", "arm"), ("hand", "box")])
    assert world.snapshot().version == before + 1
    assert world.snapshot().allowed == {frozenset({"arm", "box"}), frozenset({"hand", "box"})}
    with pytest.raises(InputError, match="no pair"):
        world.set_allowed([("arm", "arm")])
