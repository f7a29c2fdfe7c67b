"""Persistent ids, velocities, and removal of obstacles in observed free space."""

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
    PaddingSettings,
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
    scene_object,
    table,
)

ON_THE_TABLE = PerceptionSettings(lower=(-0.75, -0.65, -0.3), upper=(0.75, 0.65, 1.0))
BOX, CAN = BoxGeometry([0.08, 0.08, 0.10]), CylinderGeometry(0.035, 0.12)


def cube(centre, edge: float = 0.1, sigma: float = 0.002) -> Cluster:
    """A cluster with points near the corners of its box."""
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    points = (np.asarray(centre) + 0.9 * edge * corners).astype(np.float32)
    T = lie.pose(None, centre)
    return Cluster(points, T, np.full(3, edge), 0.87 * edge, sigma, 0.005, False, False)


def line_of_sight_to_wall(depth: float) -> LineOfSight:
    """Evidence of a camera at the origin that points along z to a wall."""
    K = np.array([[100.0, 0, 100.0], [0, 100.0, 100.0], [0, 0, 1]])
    return LineOfSight(np.full((201, 201), depth, np.float32), K, np.eye(4))


def test_ids_persist_while_objects_move():
    tracker = Tracker()
    for step in range(20):
        moving, still = cube([0.02 * step - 0.3, 0.0, 1.0]), cube([0.3, 0.4, 1.0])
        clusters = [moving, still] if step % 2 else [still, moving]
        first, second = tracker.update(step * FRAME_NS, clusters, None)
        assert (first.id, second.id) == (1, 2)
        assert first.confirmed == (step > 0)
    # In the first frame the static object comes first.
    assert first.centre == pytest.approx([0.3, 0.4, 1.0])
    assert first.velocity == pytest.approx([0, 0, 0])
    assert second.velocity == pytest.approx([0.2, 0, 0], abs=0.02)
    assert second.age == pytest.approx(1.9) and second.hits == 20


def test_jittering_object_is_static():
    rng, tracker = np.random.default_rng(0), Tracker()
    for step in range(30):
        (found,) = tracker.update(step * FRAME_NS, [cube([0, 0, 1.0] + 0.003 * rng.normal(size=3))], None)
        if step > 5:
            assert found.velocity == pytest.approx([0, 0, 0])


def test_passing_objects_keep_their_ids():
    tracker = Tracker()
    for step in range(21):
        x = 0.02 * step - 0.2
        small, large = cube([x, 0.0, 1.0], 0.06), cube([-x, 0.09, 1.0], 0.10)
        found = tracker.update(step * FRAME_NS, [small, large], None)
        assert [obstacle.id for obstacle in found] == [1, 2]
        assert [obstacle.size[0] for obstacle in found] == [0.06, 0.10]


def test_assignment_minimises_the_total_cost():
    """Both objects move by 6 cm: pairing the nearest first would give the second track the first object."""
    tracker = Tracker()
    for step in range(5):
        tracker.update(step * FRAME_NS, [cube([0.0, 0.0, 1.0]), cube([0.1, 0.0, 1.0])], None)
    found = tracker.update(5 * FRAME_NS, [cube([0.16, 0.0, 1.0]), cube([0.06, 0.0, 1.0])], None)
    assert [obstacle.id for obstacle in found] == [1, 2]
    assert [obstacle.centre[0] for obstacle in found] == pytest.approx([0.06, 0.16])


def test_padding_grows_while_undetected():
    padding = PaddingSettings(base=0.01, deviations=2.0, drift_speed=0.2, drift_time=0.5)
    assert padding.at_detection(0.003) == pytest.approx(0.016)
    tracker = Tracker(padding=padding)
    for step in range(3):
        (found,) = tracker.update(step * FRAME_NS, [cube([0.0, 0.0, 1.0])], None)
        assert found.padding == found.cluster.padding
    for step in range(3, 12):
        (found,) = tracker.update(step * FRAME_NS, [], None)
        drift = min(found.velocity_sigma, 0.2) * min(found.unseen, 0.5)
        assert found.padding == pytest.approx(found.cluster.padding + drift)
        assert found.box.size == pytest.approx(found.size + 2.0 * found.padding)
        assert found.sphere.radius == pytest.approx(found.cluster.radius + found.padding)
    assert found.padding == pytest.approx(found.cluster.padding + 0.1)


def test_track_in_free_space_is_removed_and_its_id_not_reused():
    tracker = Tracker(TrackSettings(forget_empty=3))
    for step in range(3):
        tracker.update(step * FRAME_NS, [cube([0, 0, 1.0])], line_of_sight_to_wall(1.0))
    for step in range(3, 5):
        (found,) = tracker.update(step * FRAME_NS, [], line_of_sight_to_wall(2.0))
        assert not found.fresh and found.unseen == pytest.approx(0.1 * (step - 2))
    assert tracker.update(5 * FRAME_NS, [], line_of_sight_to_wall(2.0)) == ()
    (again,) = tracker.update(6 * FRAME_NS, [cube([0, 0, 1.0])], line_of_sight_to_wall(1.0))
    assert again.id == 2


@pytest.mark.parametrize(
    ("why", "line_of_sight"),
    [
        ("occluded", line_of_sight_to_wall(0.5)),
        ("not measured", line_of_sight_to_wall(math.nan)),
        ("occupied, but not clustered", line_of_sight_to_wall(1.0)),
        ("no evidence", None),
        (
            "outside the image",
            LineOfSight(
                line_of_sight_to_wall(2.0).depth, line_of_sight_to_wall(2.0).K, lie.pose(None, [5.0, 0.0, 0.0])
            ),
        ),
        (
            "behind the camera",
            LineOfSight(
                line_of_sight_to_wall(2.0).depth, line_of_sight_to_wall(2.0).K, lie.pose(None, [0.0, 0.0, 3.0])
            ),
        ),
    ],
)
def test_undetected_track_in_unknown_space_is_kept(why, line_of_sight):
    tracker = Tracker()
    for step in range(3):
        tracker.update(step * FRAME_NS, [cube([0, 0, 1.0])], line_of_sight_to_wall(1.0))
    for step in range(3, 60):
        (found,) = tracker.update(step * FRAME_NS, [], line_of_sight)
        assert found.id == 1 and not found.fresh, why
    assert found.unseen == pytest.approx(5.7)
    assert found.last_seen_ns == 2 * FRAME_NS
    assert found.padding > found.cluster.padding  # it may have moved


def test_forget_unseen_removes_undetected_tracks():
    tracker = Tracker(TrackSettings(forget_unseen=0.5))
    for step in range(3):
        tracker.update(step * FRAME_NS, [cube([0, 0, 1.0])], None)
    assert len(tracker.update(7 * FRAME_NS, [], None)) == 1
    assert tracker.update(8 * FRAME_NS, [], None) == ()


def test_single_detection_is_never_confirmed():
    tracker = Tracker()
    (flash,) = tracker.update(0, [cube([0, 0, 1.0])], line_of_sight_to_wall(1.0))
    assert not flash.confirmed
    assert tracker.update(FRAME_NS, [], line_of_sight_to_wall(2.0)) == ()


def test_time_jump_back_is_rejected():
    tracker = Tracker()
    tracker.update(FRAME_NS, [cube([0, 0, 1.0])], None)
    with pytest.raises(InputError, match="older"):
        tracker.update(0, [], None)
    tracker.reset()
    (new,) = tracker.update(0, [cube([0, 0, 1.0])], None)
    assert new.id == 2


@pytest.mark.parametrize("kind", [as_pair, as_depth_image])
def test_ids_persist_while_the_camera_moves(kind):
    pipeline = PerceptionPipeline(STEREO, settings=ON_THE_TABLE)
    with Stage() as stage:
        for item in (
            table(),
            scene_object("box", BOX, [0.1, 0.12, 0.05]),
            scene_object("can", CAN, [-0.05, -0.1, 0.06]),
        ):
            stage.world.spawn(item)
        for step in range(6):
            frame = stage.render(looking_at([0.0, 0.0, 0.03], 1.0, azimuth=-0.8 + 0.12 * step))
            result = pipeline.feed(kind(frame, step * FRAME_NS))
            assert sorted(o.id for o in (*result.obstacles, *result.candidates)) == [1, 2]
    assert all(np.linalg.norm(obstacle.velocity) < 0.08 for obstacle in result.obstacles)


def test_moving_object_keeps_its_id_and_is_removed_when_taken_away():
    pipeline = PerceptionPipeline(STEREO, settings=ON_THE_TABLE)
    T_world_camera = looking_at([0.0, 0.0, 0.03], 1.0)
    with Stage() as stage:
        stage.world.spawn(table())
        for step in range(8):
            if step:
                stage.world.remove("box")
            stage.world.spawn(scene_object("box", BOX, [0.1, 0.03 * step - 0.1, 0.05], 0.0, COLOURS[0]))
            result = pipeline.feed(as_pair(stage.render(T_world_camera), step * FRAME_NS))
            assert [obstacle.id for obstacle in (*result.obstacles, *result.candidates)] == [1]
        assert result.obstacles[0].velocity == pytest.approx([0.0, 0.3, 0.0], abs=0.1)

        # A large object occludes the box: its track is kept.
        stage.world.spawn(
            scene_object(
                "screen",
                BoxGeometry([0.3, 0.3, 0.01]),
                T_world_camera[:3, 3] + 0.5 * T_world_camera[:3, 2],
                0.0,
                COLOURS[2],
            )
        )
        for step in range(8, 14):
            result = pipeline.feed(as_depth_image(stage.render(T_world_camera), step * FRAME_NS))
        (kept,) = [obstacle for obstacle in result.obstacles if obstacle.id == 1]
        assert not kept.fresh and kept.unseen == pytest.approx(0.6)
        assert any(obstacle.fresh for obstacle in result.obstacles)

        # Both are removed: the place is observed to be free.
        stage.world.remove("screen")
        stage.world.remove("box")
        for step in range(14, 18):
            result = pipeline.feed(as_depth_image(stage.render(T_world_camera), step * FRAME_NS))
        assert result.obstacles == ()


def test_confirmation_needs_consecutive_detections():
    """Wrong matches are sporadic; two of them, seconds apart, are not one object."""
    tracker = Tracker(TrackSettings(confirm=3))
    for step, shown in enumerate([True, True, False, True, True, True]):
        found = tracker.update(
            step * FRAME_NS, [cube([0.0, 0.0, 1.0])] if shown else [], line_of_sight_to_wall(math.nan)
        )
        assert len(found) == shown
        assert all(obstacle.confirmed == (step == 5) for obstacle in found)


def test_doubtful_cluster_updates_but_starts_no_track():
    tracker = Tracker()
    for step in range(4):
        assert tracker.update(step * FRAME_NS, [cube([0.0, 0.0, 1.0])], None, None, [True]) == ()
    for step in range(4, 6):
        (found,) = tracker.update(step * FRAME_NS, [cube([0.0, 0.0, 1.0])], None, None, [False])
    assert found.confirmed
    (near,) = tracker.update(6 * FRAME_NS, [cube([0.01, 0.0, 1.0])], None, None, [True])
    assert near.id == found.id and near.fresh


def test_box_of_static_object_does_not_jitter():
    """A larger or much smaller box is applied."""
    rng, tracker = np.random.default_rng(1), Tracker()
    shown = set()
    for step in range(20):
        detected = cube([0.0, 0.0, 1.0] + 0.004 * rng.normal(size=3), 0.1 - 0.004 * rng.random())
        (found,) = tracker.update(step * FRAME_NS, [detected], None)
        shown.add((*found.centre, *found.size))
    assert len(shown) <= 2
    (larger,) = tracker.update(20 * FRAME_NS, [cube([0.0, 0.0, 1.0], 0.16)], None)
    assert larger.size == pytest.approx([0.16] * 3)
    (smaller,) = tracker.update(21 * FRAME_NS, [cube([0.0, 0.0, 1.0], 0.07)], None)
    assert smaller.size == pytest.approx([0.07] * 3)
