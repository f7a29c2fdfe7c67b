"""Objects, worlds and changes of worlds survive the way through messages."""

from __future__ import annotations

import array

import numpy as np
import pytest
from geometry_msgs.msg import Point32
from hypothesis import given, settings
from hypothesis import strategies as st
from manipapy_msgs.msg import CollisionObject, WorldDiff
from manipapy_msgs.msg import World as WorldMessage
from rclpy.serialization import deserialize_message, serialize_message

from manipapy_core import lie
from manipapy_core.errors import InputError
from manipapy_core.geometry import (
    Box,
    Capsule,
    ConvexMesh,
    Cylinder,
    Octomap,
    Plane,
    PointCloud,
    Sphere,
    World,
    signed_distance,
)
from manipapy_ros.common.object_messages import message_of, pose_of, shape_of, shapes_of
from manipapy_ros.common.world_messages import apply_diff, diff_between, message_from_world, world_from_message
from manipapy_ros.planner.composite_objects import CompositeObjects

RNG = np.random.default_rng(3)
SHAPES = {
    "box": Box([0.1, 0.2, 0.3]),
    "sphere": Sphere(0.07),
    "cylinder": Cylinder(0.05, 0.3),
    "capsule": Capsule(0.05, 0.2),
    "plane": Plane([0.6, 0.0, 0.8], 0.1),
    "convex": ConvexMesh(RNG.uniform(-0.1, 0.1, (20, 3))),
    "points": PointCloud(RNG.uniform(-0.2, 0.2, (50, 3)), 0.03),
    "octomap": Octomap([[0.05, 0.05, 0.05], [0.25, 0.15, -0.05]], [0.1, 0.1]),
}
POSE = lie.pose(lie.exp_so3(np.array([0.3, -0.2, 0.5])), [0.2, 0.5, 0.4])


def over_the_wire(message):
    return deserialize_message(serialize_message(message), type(message))


def distances(shape, T) -> np.ndarray:
    points = np.random.default_rng(0).uniform(-1.0, 1.0, (300, 3))
    return signed_distance(shape, (points - T[:3, 3]) @ T[:3, :3])


@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("compact", [True, False])
def test_every_shape_is_the_same_solid_after_the_message(kind, compact):
    message = over_the_wire(message_of("crate", SHAPES[kind], POSE, "base", compact=compact))
    assert (message.id, message.type, message.header.frame_id) == ("crate", kind, "base")
    np.testing.assert_allclose(
        distances(shape_of(message), pose_of(message.pose)), distances(SHAPES[kind], POSE), atol=1e-6
    )


def l_shape() -> CollisionObject:
    """An L of two bars 1 m long and 0.2 m thick, as a mesh: its hull is far larger than itself."""
    outline = [(0.0, 0.0), (1.0, 0.0), (1.0, 0.2), (0.2, 0.2), (0.2, 1.0), (0.0, 1.0)]
    points = [(x, y, z) for z in (0.0, 0.2) for x, y in outline]
    faces = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    triangles = [*faces, *((a + 6, b + 6, c + 6) for a, b, c in faces)]
    for i in range(6):
        j = (i + 1) % 6
        triangles += [(i, j, j + 6), (i, j + 6, i + 6)]
    message = CollisionObject(id="angle", type="mesh", triangles=[i for face in triangles for i in face])
    message.points = [Point32(x=x, y=y, z=z) for x, y, z in points]
    return message


def test_a_mesh_is_covered_by_parts_and_its_notch_stays_free():
    parts = shapes_of(l_shape())
    assert len(parts) > 1
    inside, notch = [[0.1, 0.9, 0.1], [0.9, 0.1, 0.1], [0.1, 0.1, 0.1]], [[0.6, 0.6, 0.1], [0.3, 0.5, 0.1]]
    nearest = [np.min([signed_distance(part, points) for part in parts], axis=0) for points in (inside, notch)]
    assert (nearest[0] < 0.0).all() and (nearest[1] > 0.05).all()


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"type": "mesh", "xyz": [0.0] * 9, "triangles": [0, 1]}, "three per triangle"),
        ({"type": "mesh", "xyz": [0.0] * 9, "triangles": [0, 1, 3]}, "corner 3"),
        ({"type": "points", "xyz": [0.0] * 4}, "x, y and z"),
        ({"type": "points", "xyz": [float("nan")] * 3}, "nan"),
        ({"type": "octomap", "dimensions": [0.05], "data": [3]}, "octree"),
        ({"type": "octomap", "data": [2, 0]}, "dimensions"),
        ({"type": "octomap", "dimensions": [0.05], "data": [0, 0]}, "no occupied leaf"),
        ({"type": "octomap", "dimensions": [0.05], "data": [2, 0]}, "100 m"),
    ],
)
def test_objects_that_cannot_be_used_are_refused(fields, reason):
    with pytest.raises(InputError, match=reason):
        shapes_of(CollisionObject(id="crate", **fields))


def assert_same(first, second) -> None:
    assert first.version == second.version and first.allowed == second.allowed
    assert set(first.objects) == set(second.objects) and set(first.attached) == set(second.attached)
    for name, item in first.objects.items():
        other = second.objects[name]
        np.testing.assert_allclose(
            distances(item.shape, item.T_base_object), distances(other.shape, other.T_base_object), atol=1e-6
        )
    for name, item in first.attached.items():
        other = second.attached[name]
        assert (item.link, item.touch_links) == (other.link, other.touch_links)
        np.testing.assert_allclose(item.T_link_object, other.T_link_object, atol=1e-9)


EDITS = st.tuples(
    st.sampled_from(["add", "move", "remove", "attach", "detach", "allow", "forbid", "clear"]),
    st.sampled_from(["a", "b", "perceived_1"]),
    st.sampled_from([*SHAPES]),
)


def edit(world: World, what: str, name: str, kind: str) -> None:
    pose = lie.pose(translation=RNG.uniform(-0.5, 0.5, 3))
    carried = SHAPES[kind] if kind in ("box", "sphere", "cylinder", "convex") else SHAPES["box"]
    try:
        if what == "add":
            world.add(name, carried, pose)
        elif what == "move":
            world.move(name, pose)
        elif what == "remove":
            world.remove(name)
        elif what == "attach":
            world.attach(name, "tool0", pose, touch_links=("wrist",))
        elif what == "detach":
            world.detach(name, pose)
        elif what == "clear":
            world.clear()
        else:
            world.allow(name, "tool0", what == "allow")
    except InputError:
        world.add("other", SHAPES[kind], pose)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.lists(EDITS, max_size=4), min_size=1, max_size=6))
def test_changes_lead_to_the_same_world_as_the_whole(steps):
    world = World()
    follower = world_from_message(over_the_wire(message_from_world(world.snapshot(), "base", 7)))
    for edits in steps:
        before = world.snapshot()
        for args in edits:
            edit(world, *args)
        diff = over_the_wire(diff_between(before, world.snapshot(), "base", 7))
        follower = apply_diff(follower, diff)
        assert_same(follower, world.snapshot())
    whole = world_from_message(over_the_wire(message_from_world(world.snapshot(), "base", 7)))
    assert_same(whole, world.snapshot())


def test_a_moved_cloud_is_not_sent_again():
    world = World()
    world.add("cloud", PointCloud(RNG.uniform(-1.0, 1.0, (20_000, 3)), 0.02))
    before = world.snapshot()
    world.move("cloud", POSE)
    diff = diff_between(before, world.snapshot(), "base", 1)
    assert len(serialize_message(diff)) < 400
    follower = world_from_message(message_from_world(before, "base", 1))
    moved = apply_diff(follower, diff).objects["cloud"]
    assert moved.shape is follower.objects["cloud"].shape
    np.testing.assert_allclose(moved.T_base_object, POSE, atol=1e-9)


def test_a_change_of_another_version_is_refused():
    with pytest.raises(InputError, match="version 4"):
        apply_diff(World().snapshot(), WorldDiff(base_version=4, version=5))


def test_incomplete_pairs_are_refused():
    with pytest.raises(InputError, match="incomplete"):
        world_from_message(WorldMessage(allowed_first=["a"]))


def test_an_object_of_several_shapes_moves_is_carried_and_goes_as_one():
    world = World()
    objects = CompositeObjects(world)
    parts = [(Box([0.1, 0.1, 0.1]), np.eye(4)), (Sphere(0.1), lie.pose(translation=[0.0, 0.0, 0.3]))]
    objects.add("tool", POSE, parts)
    version = world.snapshot().version
    objects.move("tool", np.eye(4))
    assert world.snapshot().version == version + 1, "no snapshot has half of it moved"
    np.testing.assert_allclose(world.snapshot().objects["tool/1"].T_base_object, parts[1][1])
    objects.attach("tool", "tool0", POSE, ["wrist"])
    assert set(world.snapshot().attached) == {"tool", "tool/1"} and not world.snapshot().objects
    objects.detach("tool", lie.inverse(POSE))
    np.testing.assert_allclose(world.snapshot().objects["tool/1"].T_base_object, parts[1][1], atol=1e-12)
    objects.add("tool", POSE, parts[:1])
    assert set(world.snapshot().objects) == {"tool"}
    objects.remove("tool")
    assert not world.snapshot().objects
    with pytest.raises(InputError, match="no object 'tool'"):
        objects.move("tool", POSE)


def test_a_part_that_cannot_be_carried_leaves_the_object_where_it_was():
    world = World()
    objects = CompositeObjects(world)
    objects.add("crate", POSE, [(Box([0.1, 0.1, 0.1]), np.eye(4)), (Plane(), np.eye(4))])
    with pytest.raises(InputError, match="convex"):
        objects.attach("crate", "tool0", np.eye(4))
    assert set(world.snapshot().objects) == {"crate", "crate/1"} and not world.snapshot().attached


def test_octomap_data_may_be_any_sequence_of_bytes():
    stream = message_of("m", SHAPES["octomap"], np.eye(4), "base").data
    for data in (stream, list(stream), array.array("b", stream)):
        message = CollisionObject(id="m", type="octomap", dimensions=[0.1], data=data)
        np.testing.assert_allclose(
            np.sort(shape_of(message).centres, axis=0), np.sort(SHAPES["octomap"].centres, axis=0)
        )
