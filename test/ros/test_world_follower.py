"""Followers of a world over DDS: late, interrupted, orphaned, and after a restart of its owner."""

from __future__ import annotations

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from manipapy_msgs.msg import WorldDiff
from rclpy.node import Node

from manipapy_core import lie
from manipapy_core.geometry import Box, PointCloud, World
from manipapy_ros.common import qos
from manipapy_ros.common.world_follower import WorldFollower
from manipapy_ros.planner import world_publisher
from manipapy_ros.planner.world_publisher import WorldPublisher

NUMBERS = itertools.count(1)
BOX = Box([0.1, 0.1, 0.1])


def at(x: float) -> np.ndarray:
    return lie.pose(translation=[x, 0.0, 0.0])


class Owner:
    """A node that publishes a world as the planner does."""

    def __init__(self, peer, executor, name: str):
        self._executor, self.world = executor, World()
        self.node = Node(name, context=peer.node.context)
        executor.add_node(self.node)
        self.publisher = WorldPublisher(self.node, self.world, "base")
        self._timer = self.node.create_timer(world_publisher.PERIOD, self.publisher.update)

    def stop(self) -> None:
        self._executor.remove_node(self.node)
        self.node.destroy_node()


@pytest.fixture
def stage(peer):
    """Starts owners and followers of a topic of its own."""
    name = f"owner_{next(NUMBERS)}"
    owners, followers = [], []

    def own() -> Owner:
        owners.append(Owner(peer, peer._executor, name))
        return owners[-1]

    def follow(frame: str = "base", stale_after: float = 3.0) -> WorldFollower:
        followers.append(WorldFollower(peer.node, f"{name}/world", frame, stale_after))
        return followers[-1]

    yield SimpleNamespace(own=own, follow=follow, name=name, stop=lambda: owners.pop().stop())
    for follower in followers:
        follower.destroy()
    for owner in owners:
        owner.stop()


def caught_up(peer, follower: WorldFollower, owner: Owner) -> None:
    def same() -> bool:
        return follower.snapshot().version == owner.world.snapshot().version and follower.received

    peer.wait_for(same, "the follower to catch up")
    mine, other = follower.snapshot(), owner.world.snapshot()
    assert set(mine.objects) == set(other.objects) and set(mine.attached) == set(other.attached)
    for name, item in other.objects.items():
        np.testing.assert_allclose(mine.objects[name].T_base_object, item.T_base_object, atol=1e-12)


def test_a_late_follower_gets_the_whole_and_the_changes_since(stage, peer):
    owner = stage.own()
    owner.world.add("early", BOX, at(0.5))
    owner.publisher.update()  # a change that is not in the whole world that is latched
    owner.world.add("carried", BOX)
    owner.world.attach("carried", "tool", at(0.1))
    follower = stage.follow()
    caught_up(peer, follower, owner)
    assert follower.resynchronised == 0 and not follower.problem
    assert follower.snapshot().attached["carried"].link == "tool"


def test_without_an_owner_the_world_is_empty_and_the_follower_says_so(stage, peer):
    follower = stage.follow()
    assert not follower.received and not follower.snapshot().objects
    assert f"{stage.name}/world" in follower.problem and "planner" in follower.problem


def test_unchanged_objects_are_not_built_again(stage, peer):
    owner, follower = stage.own(), stage.follow()
    owner.world.add("cloud", PointCloud(np.random.default_rng(0).uniform(-1, 1, (500, 3)), 0.05))
    caught_up(peer, follower, owner)
    cloud = follower.snapshot().objects["cloud"]
    owner.world.add("box", BOX)
    caught_up(peer, follower, owner)
    assert follower.snapshot().objects["cloud"] is cloud


def test_a_follower_that_missed_changes_asks_for_the_whole(stage, peer, monkeypatch):
    monkeypatch.setattr(world_publisher, "WHOLE_EVERY", 1e9)
    monkeypatch.setattr(world_publisher, "MOST_CHANGES", 10**9)
    owner, follower = stage.own(), stage.follow()
    caught_up(peer, follower, owner)
    follower._diffs.destroy()  # hears nothing of what follows
    owner.world.add("box", BOX)
    for number in range(2 * qos.CHANGES.depth):  # more than are latched
        owner.world.move("box", at(1e-3 * number))
        owner.publisher.update()
    follower._diffs = stage.follow()._diffs
    caught_up(peer, follower, owner)
    assert follower.resynchronised == 1


def test_many_changes_are_all_there_for_a_late_follower_without_asking(stage, peer):
    owner = stage.own()
    for number in range(180):
        owner.world.add(f"box {number}", BOX, at(1e-3 * number))
        owner.publisher.update()
    follower = stage.follow()
    caught_up(peer, follower, owner)
    assert len(follower.snapshot().objects) == 180


def test_the_last_world_of_a_dead_owner_is_kept_and_its_successor_replaces_it(stage, peer):
    owner, follower = stage.own(), stage.follow(stale_after=1.0)
    for number in range(5):
        owner.world.add(f"box {number}", BOX, at(0.1 * number))
    caught_up(peer, follower, owner)
    stage.stop()
    peer.wait_for(lambda: not follower.fresh, "the owner to count as dead")
    assert len(follower.snapshot().objects) == 5
    assert "the last world is kept" in follower.problem
    successor = stage.own()
    successor.world.add("new", BOX)
    caught_up(peer, follower, successor)  # of a smaller version than before
    assert set(follower.snapshot().objects) == {"new"} and not follower.problem


def test_messages_of_an_older_session_are_ignored(stage, peer):
    owner, follower = stage.own(), stage.follow()
    owner.world.add("box", BOX)
    caught_up(peer, follower, owner)
    old = peer.node.create_publisher(WorldDiff, f"{stage.name}/world_diffs", qos.CHANGES)
    version = follower.snapshot().version
    old.publish(WorldDiff(session=1, base_version=version, version=version + 1, removed=["box"]))
    owner.world.add("next", BOX)
    caught_up(peer, follower, owner)
    assert set(follower.snapshot().objects) == {"box", "next"} and follower.resynchronised == 0


def test_a_world_in_another_frame_is_refused(stage, peer):
    stage.own()
    follower = stage.follow(frame="another")
    peer.wait_for(lambda: "another" in follower.problem, "a problem")
    assert not follower.received


def test_a_change_with_a_bad_object_is_refused_and_the_whole_asked_for(stage, peer):
    owner, follower = stage.own(), stage.follow()
    owner.world.add("box", BOX)
    caught_up(peer, follower, owner)
    bad = peer.node.create_publisher(WorldDiff, f"{stage.name}/world_diffs", qos.CHANGES)
    peer.wait_for(lambda: bad.get_subscription_count() > 0, "the follower to be discovered")
    now = follower.snapshot()
    message = WorldDiff(session=owner.publisher.session, base_version=now.version, version=now.version + 1)
    message.objects.append(type(owner.publisher._message().objects[0])(id="bad", type="sphere", dimensions=[-1.0]))
    bad.publish(message)
    peer.wait_for(lambda: follower.snapshot() is now and follower.resynchronised == 1, "the follower to ask")
    owner.world.add("next", BOX)
    caught_up(peer, follower, owner)
    assert set(follower.snapshot().objects) == {"box", "next"}
