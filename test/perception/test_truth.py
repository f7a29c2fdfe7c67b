"""Pipeline results against the ground truth of simulated scenes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from manipapy_core import Robot
from manipapy_core.geometry import Checker, RobotBody, signed_distance
from manipapy_core.geometry import World as CollisionWorld
from manipapy_core.model import BoxGeometry, CylinderGeometry, SphereGeometry
from manipapy_core.perception import (
    MatcherSettings,
    PerceptionPipeline,
    PerceptionSettings,
    PlaneSettings,
    PointSet,
    StereoPair,
)
from manipapy_core.sim import StereoCamera, look_at
from manipapy_core.sim.scene import Texture
from perception.scenes import (
    BASELINE,
    COLOURS,
    FRAME_NS,
    PINHOLE,
    STEREO,
    Stage,
    as_depth_image,
    as_pair,
    feed_twice,
    looking_at,
    render,
    scene_object,
    table,
    true_size,
)

# From half a metre away the nearest object is only 0.33 m from the camera.
ON_THE_TABLE = PerceptionSettings(
    lower=(-0.75, -0.65, -0.3), upper=(0.75, 0.65, 1.0), matcher=MatcherSettings(min_depth=0.3)
)
OBJECTS = [
    scene_object("cube", BoxGeometry([0.04, 0.04, 0.04]), [0.0, 0.0, 0.02], 0.5, COLOURS[1]),
    scene_object("box", BoxGeometry([0.06, 0.08, 0.10]), [0.10, 0.10, 0.05], -0.3, COLOURS[0]),
    scene_object("ball", SphereGeometry(0.045), [-0.14, 0.05, 0.045], 0.0, COLOURS[3]),
    scene_object("can", CylinderGeometry(0.035, 0.10), [0.06, -0.13, 0.05], 0.0, COLOURS[2]),
]


@cache
def scene_from(distance: float):
    return render([table(), *OBJECTS], looking_at([0.0, 0.0, 0.03], distance))


def check_against_truth(result, objects):
    """Every object is found once, with its position and size, and nothing else."""
    assert len(result.obstacles) == len(objects), result.describe()
    taken = set()
    for item in objects:
        centre = item.T_world_object[:3, 3]
        nearest = min(result.obstacles, key=lambda obstacle: np.linalg.norm(obstacle.centre - centre))
        taken.add(nearest.id)
        assert nearest.fresh
        assert np.linalg.norm(nearest.centre - centre) <= 0.02 + 2.0 * nearest.cluster.sigma, item.name
        assert np.abs(np.sort(nearest.size) - np.sort(true_size(item.shape))).max() <= 0.03, item.name
    assert len(taken) == len(objects)


@pytest.mark.parametrize("distance", [0.5, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("kind", [as_pair, as_depth_image])
def test_objects_are_found(distance, kind):
    check_against_truth(
        feed_twice(PerceptionPipeline(STEREO, settings=ON_THE_TABLE), kind(scene_from(distance))), OBJECTS
    )


def test_objects_on_a_table_without_texture_are_found():
    """The table has no depth; the few valid pixels belong to the objects and are enough."""
    plain = replace(table(), texture=Texture.PLAIN)
    frame = as_pair(render([plain, *OBJECTS], looking_at([0.0, 0.0, 0.03], 1.0)))
    result = feed_twice(PerceptionPipeline(STEREO, settings=ON_THE_TABLE), frame)
    assert result.valid_share < 0.1
    check_against_truth(result, OBJECTS)


def test_point_clouds_give_the_same_objects():
    frame = scene_from(1.0)
    rays = PINHOLE.rays()
    points = (rays * frame.depth[..., None]).astype(np.float32)
    for shape in (points, points[np.isfinite(frame.depth)]):
        result = feed_twice(PerceptionPipeline(settings=ON_THE_TABLE), PointSet(0, frame.T_world_left, shape))
        check_against_truth(result, OBJECTS)


def test_depth_sigma_matches_the_errors():
    """Depth errors on the table agree with the reported standard deviations."""
    for distance in (1.0, 2.0):
        frame = scene_from(distance)
        result = PerceptionPipeline(STEREO, settings=ON_THE_TABLE).feed(as_pair(frame))
        depth = result.depth.depth
        truth = frame.depth.reshape(depth.shape[0], -1, depth.shape[1]).mean(axis=1)
        good = np.isfinite(depth) & np.isfinite(truth)
        error = np.abs(depth - truth)[good] / result.depth.sigma[good]
        assert 0.3 < np.quantile(error, 0.68) < 1.6


def test_table_is_an_obstacle_without_plane_removal():
    frame = as_depth_image(scene_from(1.0))
    no_planes = replace(ON_THE_TABLE, planes=PlaneSettings(max_planes=0))
    result = feed_twice(PerceptionPipeline(STEREO, settings=no_planes), frame)
    largest = max(result.obstacles, key=lambda obstacle: obstacle.size.max())
    assert largest.size.max() > 0.8
    kept = feed_twice(PerceptionPipeline(STEREO, settings=ON_THE_TABLE), frame)
    assert max(obstacle.size.max() for obstacle in kept.obstacles) < 0.15
    (plane,) = kept.planes
    assert plane.normal == pytest.approx([0, 0, 1], abs=0.01) and plane.offset == pytest.approx(0.0, abs=0.003)
    assert plane.remembered


@pytest.mark.parametrize("kind", [as_pair, as_depth_image])
def test_arm_is_no_obstacle(kind):
    robot = Robot.from_urdf("ur5")
    body = RobotBody.build(robot, robot.tree())
    start = np.array([-1.2, -1.9, 1.0, -1.0, -1.57, 0.0])
    goal = np.array([1.2, -0.9, 1.9, -2.5, -1.2, 1.0])
    can = scene_object("can", CylinderGeometry(0.04, 0.12), [0.45, 0.35, 0.06], 0.0, COLOURS[2])
    camera = StereoCamera(PINHOLE, BASELINE, look_at([1.35, -0.7, 0.8], [0.45, 0.0, 0.1]))
    settings = PerceptionSettings(lower=(-0.3, -0.65, -0.3), upper=(1.1, 0.65, 1.5))
    pipeline, ids = PerceptionPipeline(STEREO, body=body, settings=settings), set()
    with Stage() as stage:
        stage.world.spawn(table((1.5, 1.1, 0.75), (0.45, 0.0, 0.0)))
        stage.world.spawn(can)
        stage.world.add_robot(robot, q=start)
        content, view = stage.world.content_and_view()
        stage.replica.load(content)
        for number, share in enumerate(np.linspace(0.0, 1.0, 9)):
            q = start + share * (goal - start)
            frame = stage.replica.stereo(camera, replace(view, q=dict.fromkeys(view.q, q)))
            result = pipeline.feed(kind(frame, number * FRAME_NS, q))
            assert result.counts["self"] < result.counts["voxels"]  # the arm is in the image
            ids |= {obstacle.id for obstacle in (*result.obstacles, *result.candidates)}
            if number:
                assert [obstacle.centre for obstacle in result.obstacles] == [
                    pytest.approx([0.45, 0.35, 0.06], abs=0.02)
                ]
    assert len(ids) == 1

    # Without the self filter it is an obstacle.
    unfiltered = feed_twice(PerceptionPipeline(STEREO, settings=settings), kind(frame))
    assert len(unfiltered.obstacles) > 1


def test_padded_shapes_contain_the_object():
    result = feed_twice(PerceptionPipeline(STEREO, settings=ON_THE_TABLE), as_pair(scene_from(1.0)))
    for item in OBJECTS:
        centre = item.T_world_object[:3, 3]
        obstacle = min(result.obstacles, key=lambda o: np.linalg.norm(o.centre - centre))
        half = 0.45 * true_size(item.shape)
        inner = centre + np.array([[0, 0, 0], [half[0], 0, 0], [-half[0], 0, 0], [0, 0, half[2]], [0, 0, -half[2]]])
        T = obstacle.cluster.T_base_box
        assert signed_distance(obstacle.box, (inner - T[:3, 3]) @ T[:3, :3]).max() <= 2e-3
        assert np.linalg.norm(inner - obstacle.centre, axis=1).max() <= obstacle.sphere.radius + 2e-3
        assert max(obstacle.distance(point) for point in inner) <= 2e-3
        planes = obstacle.hull.planes
        assert np.max(planes[:, :3] @ centre - planes[:, 3]) < 0.0
    robot = Robot.from_urdf("ur5")
    world = CollisionWorld()
    checker = Checker(RobotBody.build(robot, robot.tree()), world)
    for obstacle in result.obstacles:
        world.add(obstacle.name, obstacle.box, obstacle.cluster.T_base_box)
        world.add(obstacle.name, obstacle.hull)
    assert set(world.names) == {obstacle.name for obstacle in result.obstacles}
    assert checker.world is world


def test_raw_images_are_rectified():
    """The simulated images are distorted as by a real lens; rectification removes it."""
    cv2 = pytest.importorskip("cv2", reason="stereo needs OpenCV (extra: perception)")
    from manipapy_core.perception import Camera, StereoModel

    frame = scene_from(1.0)
    D = np.array([-0.12, 0.05, 0.001, -0.001, 0.0])
    K, size = STEREO.left.K, (640, 480)
    u, v = np.meshgrid(np.arange(640, dtype=np.float32), np.arange(480, dtype=np.float32))
    pixels = np.stack([u, v], axis=-1).reshape(-1, 1, 2)
    # Undistorted position of each distorted pixel.
    undistorted = cv2.undistortPoints(pixels, K, D, P=K).reshape(480, 640, 2)
    distorted = [
        cv2.remap(image, undistorted[..., 0], undistorted[..., 1], cv2.INTER_LINEAR)
        for image in (frame.left, frame.right)
    ]
    left, right = STEREO.left, STEREO.right
    stereo = StereoModel(Camera(*size, K, D, left.R, left.P), Camera(*size, K, D, right.R, right.P))
    assert not stereo.rectified
    pair = StereoPair(0, frame.T_world_left, *distorted)
    check_against_truth(feed_twice(PerceptionPipeline(stereo, settings=ON_THE_TABLE), pair), OBJECTS)
