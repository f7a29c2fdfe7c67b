"""What real depth cameras show: measured noise, holes and quantisation, from above and obliquely.

Every object must be covered in every frame, down to its support; see `depth_scenes.py` for the camera.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from manipapy_core import lie
from manipapy_core.perception import (
    DepthImage,
    DepthNoise,
    DetectedPlane,
    NoiseEstimator,
    PerceptionPipeline,
    PerceptionSettings,
    PointSet,
    Reason,
)
from perception.depth_scenes import (
    CAMERA,
    FRAME_NS,
    NOISE_FLOOR,
    NOISE_GROWTH,
    DepthScene,
    ball,
    box,
    camera_at,
    can,
    inside,
    inside_share,
    points_of,
)

ABOVE, OBLIQUE = math.pi / 2, 0.8
NEAR = PerceptionSettings(lower=(-0.7, -0.6, -0.3), upper=(0.7, 0.6, 1.0))
BLOCK = box((0.1, 0.1, 0.2), (0.05, 0.02), 0.3)


def shares(scene: DepthScene, frame: DepthImage, labels: np.ndarray, result) -> list[float]:
    """Share of each object's measured points inside the hulls."""
    hulls = [obstacle.hull for obstacle in result.covered]
    return [inside_share(points_of(frame, labels == number), hulls) for number in range(len(scene.objects))]


def watch(scene: DepthScene, T: np.ndarray, frames: int = 3, seed: int = 0, settings: PerceptionSettings = NEAR):
    """Feed noisy frames; yields each frame, its labels and result."""
    pipeline = PerceptionPipeline(settings=settings)
    for number in range(frames):
        frame, labels = scene.frame(T, seed, number)
        yield frame, labels, pipeline.feed(frame)


@pytest.mark.parametrize("elevation", [ABOVE, OBLIQUE])
def test_block_reaches_down_to_the_table(elevation):
    """From above only its top face is seen; the space below is unknown, not free."""
    scene = DepthScene([BLOCK])
    for frame, labels, result in watch(scene, camera_at(0.8, elevation)):
        (found,) = result.covered
        assert found.size[2] == pytest.approx(0.2, abs=0.01)
        assert np.abs(np.sort(found.size) - [0.1, 0.1, 0.2]).max() < 0.02
        assert found.hull.vertices[:, 2].min() < 0.0 and found.hull.vertices[:, 2].max() < 0.23
        assert shares(scene, frame, labels, result)[0] > 0.998
        # The block itself, also where it was not seen.
        whole = (np.mgrid[-1:1:5j, -1:1:5j, -1:1:5j].reshape(3, -1).T * 0.49 * BLOCK.size) @ BLOCK.T[:3, :3].T
        assert inside(whole + BLOCK.T[:3, 3], [found.hull]).mean() > 0.98


def test_point_cloud_from_above_reaches_down_to_the_table():
    scene, T = DepthScene([BLOCK]), camera_at(0.8, ABOVE)
    frame, _ = scene.frame(T, 0)
    cloud = (points_of(frame, np.isfinite(frame.depth)) - T[:3, 3]) @ T[:3, :3]
    (found,) = PerceptionPipeline(settings=NEAR).feed(PointSet(0, T, cloud.astype(np.float32))).covered
    assert found.size[2] == pytest.approx(0.2, abs=0.01)


def test_hanging_object_extends_along_the_line_of_sight_only():
    """The camera sees the table below it: that space is free, the space behind it is not."""
    hanging, T = ball(0.08, (0.0, 0.0), bottom=0.25), camera_at(1.0, 0.6)
    *_, (_, _, result) = watch(DepthScene([hanging]), T)
    (found,) = result.obstacles
    middle = hanging.T[:3, 3]
    ray = (middle - T[:3, 3]) / np.linalg.norm(middle - T[:3, 3])
    behind = middle + np.linspace(0.0, 0.95, 8)[:, None] * (middle[2] / -ray[2]) * ray
    below = middle * [1, 1, 0] + np.array([0.0, 0.0, 1.0]) * np.linspace(0.02, 0.12, 5)[:, None]
    assert inside(behind, [found.hull]).all()
    assert not inside(below, [found.hull]).any()


def test_parts_of_a_split_obstacle_are_covered_at_once():
    """Two boxes that touch are one obstacle; when one moves away, both are confirmed obstacles in that frame."""
    left = box((0.1, 0.1, 0.1), (0.0, -0.05))
    pipeline, T = PerceptionPipeline(settings=NEAR), camera_at(0.9, OBLIQUE)
    for number, gap in enumerate((0.0, 0.0, 0.0, 0.06, 0.06, 0.07)):
        scene = DepthScene([left, box((0.1, 0.1, 0.1), (0.0, 0.055 + gap))])
        frame, labels = scene.frame(T, 3, number)
        result = pipeline.feed(frame)
        if number:
            hulls = [obstacle.hull for obstacle in result.obstacles]
            assert min(inside_share(points_of(frame, labels == k), hulls) for k in range(2)) > 0.99, number
    assert sum(obstacle.fresh for obstacle in result.obstacles) == 2


@pytest.mark.parametrize("elevation", [ABOVE, OBLIQUE])
def test_top_faces_of_low_objects_are_no_plane(elevation):
    """Books of one height cover a third of the table."""
    books = [box((0.2, 0.15, 0.03), (x, y)) for x in (-0.26, 0.0, 0.26) for y in (-0.2, 0.0, 0.2)]
    scene = DepthScene(books)
    for frame, labels, result in watch(scene, camera_at(1.0, elevation), frames=4):
        (plane,) = (plane for plane in result.planes if plane.offset > -0.1)
        assert abs(plane.offset) < 0.003
        assert min(shares(scene, frame, labels, result)) > 0.99


def test_two_desks_of_one_height():
    """They lie at opposite corners of their common rectangle."""
    desks = [box((0.5, 0.5, 0.03), (0.5, 0.45), bottom=-0.03), box((0.5, 0.5, 0.03), (-0.5, -0.45), bottom=-0.03)]
    scene = DepthScene([can(0.08, 0.12, (0.5, 0.45)), box((0.1, 0.1, 0.1), (-0.5, -0.45))], desks)
    wide = PerceptionSettings(lower=(-1.0, -1.0, -0.2), upper=(1.0, 1.0, 0.6))
    for frame, labels, result in watch(scene, camera_at(1.7, ABOVE), settings=wide):
        assert result.planes and abs(result.planes[0].offset) < 0.005
        assert min(shares(scene, frame, labels, result)) > 0.99
        assert max(obstacle.size.max() for obstacle in result.covered) < 0.2
        assert len(result.planes[0].area.polygons()) == 2


def test_chair_beside_a_round_table_is_an_obstacle():
    """It is in the bounding rectangle of the table, but not below the table."""
    table, chair = can(0.8, 0.03, (0.0, 0.0), bottom=-0.03), box((0.16, 0.16, 0.4), (0.36, 0.36), bottom=-0.75)
    scene = DepthScene([chair, can(0.07, 0.12, (0.1, 0.0))], [table])
    room = PerceptionSettings(lower=(-1.0, -1.0, -0.7), upper=(1.0, 1.0, 0.6))
    for frame, labels, result in watch(scene, camera_at(1.5, ABOVE), settings=room):
        assert min(shares(scene, frame, labels, result)) > 0.98


@pytest.mark.parametrize("degrees", [0, 8, 15])
def test_tilted_table_gives_a_reason(degrees):
    scene, T = DepthScene([BLOCK]), camera_at(0.8, ABOVE)
    frame, _ = scene.frame(T, 0)
    wrong = lie.pose(lie.exp_so3([math.radians(degrees), 0.0, 0.0]), [0.0, 0.0, 0.0]) @ T
    result = PerceptionPipeline().feed(DepthImage(0, wrong, frame.depth, CAMERA))
    assert (Reason.TILTED in result.reasons) == (degrees > 0)
    assert bool(result.planes) == (degrees == 0)


def test_sparse_depth_is_seen():
    """Depth registered into a larger image: pixels without neighbours."""
    scene, T = DepthScene([BLOCK, can(0.07, 0.1, (-0.2, 0.1))]), camera_at(0.7, OBLIQUE)
    pipeline = PerceptionPipeline(settings=NEAR)
    for number in range(2):
        frame, labels = scene.frame(T, 1, number)
        sparse = np.full_like(frame.depth, np.nan)
        sparse[::3, ::3] = frame.depth[::3, ::3]
        result = pipeline.feed(replace(frame, depth=sparse))
        assert len(result.covered) == 2 and result.reasons == ()
        assert min(shares(scene, frame, labels, result)) > 0.98


def test_near_object_on_nothing_is_seen():
    """Fewer than one pixel in twenty has a depth, and those are true."""
    scene = DepthScene([box((0.12, 0.12, 0.12), (0.0, 0.0))], [], None)
    *_, (frame, labels, result) = watch(scene, camera_at(0.9, OBLIQUE))
    assert result.valid_share < 0.05
    assert shares(scene, frame, labels, result)[0] > 0.99
    assert Reason.FEW_PIXELS in result.reasons


@pytest.mark.parametrize("distance", [0.6, 0.9])
@pytest.mark.parametrize("elevation", [ABOVE, OBLIQUE])
def test_low_tools_are_covered(distance, elevation):
    scene = DepthScene([box((0.16, 0.025, 0.012), (0.1, 0.05), 0.5), box((0.12, 0.03, 0.010), (-0.1, -0.05), -0.4)])
    for frame, labels, result in watch(scene, camera_at(distance, elevation), frames=3):
        assert min(shares(scene, frame, labels, result)) > 0.97, result.describe()


@pytest.mark.parametrize("elevation", [ABOVE, OBLIQUE])
def test_noise_of_a_bare_table_is_no_object(elevation):
    for seed, distance in enumerate((0.6, 0.8, 1.0)):
        for _, _, result in watch(DepthScene([]), camera_at(distance, elevation), seed=seed, settings=NEAR):
            assert result.covered == ()


def test_noise_is_measured_on_the_table():
    """The measured standard deviations of the camera, from a model that states a third of them."""
    estimator, rng = NoiseEstimator(DepthNoise(0.0004, 0.0006)), np.random.default_rng(0)
    T, table = camera_at(0.9, OBLIQUE), DetectedPlane(np.array([0.0, 0.0, 1.0]), 0.0, 1, False, *np.zeros((2, 2)), 1.0)
    v, u = np.mgrid[0:480:4, 0:640:4].reshape(2, -1)
    rays = np.column_stack([(u - 319.5) / 570.0, (v - 239.5) / 570.0, np.ones(len(u))])
    true = -T[2, 3] / (rays @ T[:3, :3].T)[:, 2]
    for _ in range(20):
        z = true + (NOISE_FLOOR + NOISE_GROWTH * true**2) * rng.normal(size=len(true))
        z[:500] -= 0.05  # an object
        estimator.update(rays, z, T, [table])
    for depth, sigma in ((0.6, 1.6e-3), (0.8, 2.0e-3), (1.0, 2.5e-3)):
        assert estimator.noise.at(depth) == pytest.approx(sigma, rel=0.15)


def test_measured_noise_is_used():
    scene, T = DepthScene([BLOCK]), camera_at(0.8, OBLIQUE)
    optimist = replace(NEAR, depth_noise=0.0006, depth_noise_floor=0.0004)
    pipelines = [PerceptionPipeline(settings=replace(optimist, measure_noise=use)) for use in (True, False)]
    for number in range(3):
        frame, _ = scene.frame(T, 0, number)
        results = [pipeline.feed(frame) for pipeline in pipelines]
    at = np.abs(frame.depth - 0.8) < 0.005
    measured, stated = (float(np.median(result.depth.sigma[at])) for result in results)
    assert stated == pytest.approx(0.0008, abs=1e-4)
    assert measured == pytest.approx(0.0020, rel=0.25)
    assert results[0].time_ns == 2 * FRAME_NS
