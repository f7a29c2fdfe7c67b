"""Ids that stay, velocities, and obstacles that go only when they are seen to be gone."""

from __future__ import annotations

import math

import numpy as np
import pytest

from manipapy_core import lie
from manipapy_core.errors import InputError
from manipapy_core.model import BoxGeometry, CylinderGeometry
from manipapy_core.perception import (
    Cluster,
    LineOfSight,
    PerceptionPipeline,
    PerceptionSettings,
    Tracker,
    TrackSettings,
)
from perception.scenes import (
    COLOURS,
    FRAME_NS,
    STEREO,
    Stage,
    as_depth_image,
    as_pair,
    looking_at,
    table,
    thing,
)

ON_THE_TABLE = PerceptionSettings(lower=(-0.75, -0.65, -0.3), upper=(0.75, 0.65, 1.0))
BOX, CAN = BoxGeometry([0.08, 0.08, 0.10]), CylinderGeometry(0.035, 0.12)


def cube(centre, edge: float = 0.1, sigma: float = 0.002) -> Cluster:
    """A cluster as the camera would see it, its points spread over the box."""
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    points = (np.asarray(centre) + 0.9 * edge * corners).astype(np.float32)
    T = lie.pose(None, centre)
    return Cluster(points, T, np.full(3, edge), 0.87 * edge, sigma, 0.005, False, False)


def sight_of(depth: float) -> LineOfSight:
    """A camera at the origin that looks along z at a wall."""
    K = np.array([[100.0, 0, 100.0], [0, 100.0, 100.0], [0, 0, 1]])
    return LineOfSight(np.full((201, 201), depth, np.float32), K, np.eye(4))


def test_ids_stay_while_things_move():
    tracker = Tracker()
    for step in range(20):
        moving, still = cube([0.02 * step - 0.3, 0.0, 1.0]), cube([0.3, 0.4, 1.0])
        clusters = [moving, still] if step % 2 else [still, moving]
        first, second = tracker.update(step * FRAME_NS, clusters, None)
        assert (first.id, second.id) == (1, 2)
        assert first.confirmed == (step > 0)
    # In the first frame the still one came first.
    assert first.centre == pytest.approx([0.3, 0.4, 1.0])
    assert first.velocity == pytest.approx([0, 0, 0])
    assert second.velocity == pytest.approx([0.2, 0, 0], abs=0.02)
    assert second.age == pytest.approx(1.9) and second.hits == 20


def test_a_thing_that_jitters_stands_still():
    rng, tracker = np.random.default_rng(0), Tracker()
    for step in range(30):
        (found,) = tracker.update(step * FRAME_NS, [cube([0, 0, 1.0] + 0.003 * rng.normal(size=3))], None)
        if step > 5:
            assert found.velocity == pytest.approx([0, 0, 0])


def test_two_that_pass_each_other_keep_their_ids():
    tracker = Tracker()
    for step in range(21):
        x = 0.02 * step - 0.2
        small, large = cube([x, 0.0, 1.0], 0.06), cube([-x, 0.09, 1.0], 0.10)
        found = tracker.update(step * FRAME_NS, [small, large], None)
        assert [obstacle.id for obstacle in found] == [1, 2]
        assert [obstacle.size[0] for obstacle in found] == [0.06, 0.10]


def test_what_is_seen_to_be_gone_goes_and_its_id_is_not_used_again():
    tracker = Tracker(TrackSettings(forget_empty=3))
    for step in range(3):
        tracker.update(step * FRAME_NS, [cube([0, 0, 1.0])], sight_of(1.0))
    for step in range(3, 5):
        (found,) = tracker.update(step * FRAME_NS, [], sight_of(2.0))
        assert not found.fresh and found.unseen == pytest.approx(0.1 * (step - 2))
    assert tracker.update(5 * FRAME_NS, [], sight_of(2.0)) == ()
    (again,) = tracker.update(6 * FRAME_NS, [cube([0, 0, 1.0])], sight_of(1.0))
    assert again.id == 2


@pytest.mark.parametrize(
    ("why", "sight"),
    [
        ("hidden behind something", sight_of(0.5)),
        ("nothing was measured", sight_of(math.nan)),
        ("still there, only not clustered", sight_of(1.0)),
        ("no lines of sight at all", None),
        ("out of the picture", LineOfSight(sight_of(2.0).depth, sight_of(2.0).K, lie.pose(None, [5.0, 0.0, 0.0]))),
        ("behind the camera", LineOfSight(sight_of(2.0).depth, sight_of(2.0).K, lie.pose(None, [0.0, 0.0, 3.0]))),
    ],
)
def test_what_is_merely_unseen_stays(why, sight):
    tracker = Tracker()
    for step in range(3):
        tracker.update(step * FRAME_NS, [cube([0, 0, 1.0])], sight_of(1.0))
    for step in range(3, 60):
        (found,) = tracker.update(step * FRAME_NS, [], sight)
        assert found.id == 1 and not found.fresh, why
    assert found.unseen == pytest.approx(5.7)
    assert found.last_seen_ns == 2 * FRAME_NS
    assert found.padding > found.cluster.padding  # it may have moved meanwhile


def test_patience_with_the_unseen_can_end():
    tracker = Tracker(TrackSettings(forget_unseen=0.5))
    for step in range(3):
        tracker.update(step * FRAME_NS, [cube([0, 0, 1.0])], None)
    assert len(tracker.update(7 * FRAME_NS, [], None)) == 1
    assert tracker.update(8 * FRAME_NS, [], None) == ()


def test_a_flash_is_never_confirmed():
    tracker = Tracker()
    (flash,) = tracker.update(0, [cube([0, 0, 1.0])], sight_of(1.0))
    assert not flash.confirmed
    assert tracker.update(FRAME_NS, [], sight_of(2.0)) == ()


def test_time_does_not_go_back_unnoticed():
    tracker = Tracker()
    tracker.update(FRAME_NS, [cube([0, 0, 1.0])], None)
    with pytest.raises(InputError, match="older"):
        tracker.update(0, [], None)
    tracker.reset()
    (new,) = tracker.update(0, [cube([0, 0, 1.0])], None)
    assert new.id == 2


@pytest.mark.parametrize("kind", [as_pair, as_depth_image])
def test_ids_stay_while_the_camera_moves(kind):
    pipeline = PerceptionPipeline(STEREO, settings=ON_THE_TABLE)
    with Stage() as stage:
        for item in (table(), thing("box", BOX, [0.1, 0.12, 0.05]), thing("can", CAN, [-0.05, -0.1, 0.06])):
            stage.world.spawn(item)
        for step in range(6):
            frame = stage.see(looking_at([0.0, 0.0, 0.03], 1.0, azimuth=-0.8 + 0.12 * step))
            result = pipeline.feed(kind(frame, step * FRAME_NS))
            assert sorted(o.id for o in (*result.obstacles, *result.candidates)) == [1, 2]
    assert all(np.linalg.norm(obstacle.velocity) < 0.08 for obstacle in result.obstacles)


def test_a_moving_thing_keeps_its_id_and_is_forgotten_when_taken_away():
    pipeline = PerceptionPipeline(STEREO, settings=ON_THE_TABLE)
    eye = looking_at([0.0, 0.0, 0.03], 1.0)
    with Stage() as stage:
        stage.world.spawn(table())
        for step in range(8):
            if step:
                stage.world.remove("box")
            stage.world.spawn(thing("box", BOX, [0.1, 0.03 * step - 0.1, 0.05], 0.0, COLOURS[0]))
            result = pipeline.feed(as_pair(stage.see(eye), step * FRAME_NS))
            assert [obstacle.id for obstacle in (*result.obstacles, *result.candidates)] == [1]
        assert result.obstacles[0].velocity == pytest.approx([0.0, 0.3, 0.0], abs=0.1)

        # Something large comes between: the box is not seen, and stays.
        stage.world.spawn(
            thing("screen", BoxGeometry([0.3, 0.3, 0.01]), eye[:3, 3] + 0.5 * eye[:3, 2], 0.0, COLOURS[2])
        )
        for step in range(8, 14):
            result = pipeline.feed(as_depth_image(stage.see(eye), step * FRAME_NS))
        (kept,) = [obstacle for obstacle in result.obstacles if obstacle.id == 1]
        assert not kept.fresh and kept.unseen == pytest.approx(0.6)
        assert any(obstacle.fresh for obstacle in result.obstacles)

        # Both are taken away: the place is seen to be empty.
        stage.world.remove("screen")
        stage.world.remove("box")
        for step in range(14, 18):
            result = pipeline.feed(as_depth_image(stage.see(eye), step * FRAME_NS))
        assert result.obstacles == ()


def test_a_thing_must_be_seen_in_frames_that_follow_each_other():
    """Wrong matches come and go; two of them, seconds apart, are not one thing."""
    tracker = Tracker(TrackSettings(confirm=3))
    for step, shown in enumerate([True, True, False, True, True, True]):
        found = tracker.update(step * FRAME_NS, [cube([0.0, 0.0, 1.0])] if shown else [], sight_of(math.nan))
        assert len(found) == shown
        assert all(obstacle.confirmed == (step == 5) for obstacle in found)


def test_what_hugs_the_robot_begins_no_obstacle_but_keeps_a_known_one():
    tracker = Tracker()
    for step in range(4):
        assert tracker.update(step * FRAME_NS, [cube([0.0, 0.0, 1.0])], None, None, [True]) == ()
    for step in range(4, 6):
        (found,) = tracker.update(step * FRAME_NS, [cube([0.0, 0.0, 1.0])], None, None, [False])
    assert found.confirmed
    (near,) = tracker.update(6 * FRAME_NS, [cube([0.01, 0.0, 1.0])], None, None, [True])
    assert near.id == found.id and near.fresh


def test_the_box_of_a_thing_that_stands_still_does_not_tremble():
    """Nor does it hide that the thing has become larger, or much smaller."""
    rng, tracker = np.random.default_rng(1), Tracker()
    shown = set()
    for step in range(20):
        seen = cube([0.0, 0.0, 1.0] + 0.004 * rng.normal(size=3), 0.1 - 0.004 * rng.random())
        (found,) = tracker.update(step * FRAME_NS, [seen], None)
        shown.add((*found.centre, *found.size))
    assert len(shown) <= 2
    (larger,) = tracker.update(20 * FRAME_NS, [cube([0.0, 0.0, 1.0], 0.16)], None)
    assert larger.size == pytest.approx([0.16] * 3)
    (smaller,) = tracker.update(21 * FRAME_NS, [cube([0.0, 0.0, 1.0], 0.07)], None)
    assert smaller.size == pytest.approx([0.07] * 3)
